"""Cost of a search trial, MLflow logging included, against scikit-learn's validation.

    python benchmarks/bench_search.py [--data ../shared/data]

The 96-configuration grid of the WMT12 baseline on the 17 official features: CPU seconds per configuration of
GridSearchCV (StandardScaler + SVR, n_jobs=1) and of `qe.training.search.run` with every trial logged to
SQLite.
"""

import argparse
import contextlib
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from qe.config import experiment as experiments
from qe.tracking import runs
from qe.training.check import check
from qe.training.preparation import Prepared, feature_tables, prepare
from qe.training.search import search_candidates
from qe.training.tracked import trial_logger

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    arguments = parser.parse_args()
    path = ROOT / "experiments" / "wmt12" / "baseline.yaml"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "mlflow.yaml").write_text("artifact_root: artifacts\n")
        loaded = experiments.load(path, data_root=arguments.data)
        data = prepare(check(loaded), Path(folder) / "cache")
        table = data.extraction.static(data.training.segments)
        theirs = scikit_learn(table.to_numpy(), np.asarray(data.training.scores))
        with contextlib.chdir(folder):
            ours, best = this_project(loaded, data, Path(folder) / "study.journal")
    print(f"scikit-learn GridSearchCV: {theirs / 96 * 1000:.0f} ms CPU per configuration ({theirs:.1f} s)")
    print(f"this project, MLflow included: {ours / 96 * 1000:.0f} ms CPU per trial ({ours:.1f} s)")
    print(f"best MAE {best:.5f}")
    print(f"ratio {ours / theirs:.3f} (wanted: at most 1.10)")


def scikit_learn(features: np.ndarray, scores: np.ndarray) -> float:
    """CPU seconds of the grid in plain scikit-learn."""
    grid = {
        "svr__C": [0.5, 1, 2, 4, 8, 16],
        "svr__gamma": [0.003, 0.01, 0.03, 0.1],
        "svr__epsilon": [0.05, 0.1, 0.2, 0.3],
    }
    folds = KFold(5, shuffle=True, random_state=0)
    model = make_pipeline(StandardScaler(), SVR())
    started = time.process_time()
    GridSearchCV(model, grid, cv=folds, scoring="neg_mean_absolute_error", refit=False).fit(features, scores)
    return time.process_time() - started


def this_project(loaded: experiments.Experiment, data: Prepared, journal: Path) -> tuple[float, float]:
    """CPU seconds of the same grid as a study with tracked trials, and its best MAE."""
    with runs.run("bench") as run:
        started = time.process_time()
        log = trial_logger(run, loaded.search.objective)
        result = search_candidates(data, feature_tables(data), journal=journal, on_trial=log)
        seconds = time.process_time() - started
    assert len(result.trials) == 96
    return seconds, float(result.best_trial.values[0])


if __name__ == "__main__":
    main()
