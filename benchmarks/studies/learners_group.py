"""TPE with and without `group`, where several learners are searched in one space.

Run: python benchmarks/studies/learners_group.py [--data-root DIR] [--trials N] [--seeds N] [--rows N]

The 17 official features of WMT12, five folds; ridge, svr_rbf, lightgbm and elastic_net, each with its own
space. The best MAE so far after a quarter, half and all of the trials, mean over seeds.
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
from optuna.samplers import BaseSampler, TPESampler

from features.basics.array_types import FloatArray
from qe.config.experiment import StrategySection
from qe.data.dataset import LabelScale
from qe.data.splits import make_folds
from qe.training.objective import CandidateFailed, FoldData, Objective
from qe.training.plan import Space
from qe.training.study import Drawing

LEARNERS = ("ridge", "svr_rbf", "lightgbm", "elastic_net")
KINDS: dict[str, Callable[[int], BaseSampler]] = {
    "tpe (default)": lambda seed: TPESampler(seed=seed),
    "group": lambda seed: TPESampler(seed=seed, group=True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    root = Path(__file__).resolve().parents[3] / "shared" / "data"
    parser.add_argument("--data-root", type=Path, default=root)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--rows", type=int, default=600)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    objective = objective_of(arguments.data_root / "wmt12-qe", arguments.rows)
    places = [arguments.trials // 4 - 1, arguments.trials // 2 - 1, arguments.trials - 1]
    print("sampler", *(f"after {place + 1}" for place in places), "(standard deviation over seeds)", sep="\t")
    for name, make in KINDS.items():
        paths = np.array([best_so_far(objective, make, s, arguments.trials) for s in range(arguments.seeds)])
        means, deviations = paths.mean(axis=0), paths.std(axis=0, ddof=1)
        print(name, *(f"{means[p]:.4f} ({deviations[p]:.4f})" for p in places), sep="\t", flush=True)


def objective_of(root: Path, rows: int) -> Objective:
    table = pd.DataFrame(np.loadtxt(root / "baseline_features" / "training.tsv")[:rows])
    table.columns = [f"feature {i}" for i in table.columns]
    gold = np.loadtxt(root / "training_set_annotations" / "target_system.effort")[:rows]
    folds = [
        FoldData(table.iloc[train], gold[train], None, table.iloc[out], gold[out], out)
        for train, out in make_folds(rows, 5, seed=0)
    ]
    space = Space([StrategySection(kind=kind) for kind in LEARNERS], [StrategySection(kind="none")])
    return Objective(folds, space, ("mae",), LabelScale("effort", 1, 5, True), 0, threads=1)


def best_so_far(
    objective: Objective, make: Callable[[int], BaseSampler], seed: int, trials: int
) -> FloatArray:
    """(trials,) the best MAE after each trial."""
    sampler = Drawing(lambda place: make(1000 * seed + place), [], shared=False)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=trials, catch=(CandidateFailed,))
    values = [np.inf if trial.value is None else trial.value for trial in study.trials]
    return np.minimum.accumulate(np.array(values, np.float64))


if __name__ == "__main__":
    main()
