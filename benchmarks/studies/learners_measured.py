"""All learners and selectors on two data sets: defaults, and after a short search.

The search is of their own space.

Run: python benchmarks/studies/learners_measured.py [--data-root DIR] [--trials N] [--seconds S] [NAME ...]

The official 17 features of WMT12 (1,832 rows) and the 17 baseline features of the demo (1,200 rows); 5 folds,
MAE as the mean over folds. `searched` is the best of N trials, or of those that begin within S seconds,
chosen on the folds that it is measured on. Selectors stand before a ridge with its defaults.
"""

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import optuna
import pandas as pd

from features.basics.array_types import FloatArray
from qe.config import experiment as experiments
from qe.config.experiment import SearchSection, StrategySection
from qe.data.dataset import LabelScale
from qe.data.folds import make_folds
from qe.getting_started.demo.generation import generate
from qe.getting_started.demo.run import EXPERIMENT
from qe.learning.learner import LEARNERS
from qe.learning.selector import SELECTORS
from qe.models.pipeline import Candidate
from qe.training.check import check
from qe.training.objective import FoldData, Objective
from qe.training.plan import Space
from qe.training.preparation import prepare
from qe.training.search import Search

SCALE = LabelScale("effort", 1, 5, True)
# Other input than features: trees, a kernel, labels of two classes.
OTHERS = {"svr_tree_kernels", "precomputed_kernel", "logistic"}
NONE, RIDGE = StrategySection(kind="none"), StrategySection(kind="ridge", space={})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    root = Path(__file__).resolve().parents[3] / "shared" / "data"
    parser.add_argument("names", nargs="*", help="learners or selectors; default: all")
    parser.add_argument("--data-root", type=Path, default=root)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=4.0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sets = [folds_of(*wmt12(arguments.data_root / "wmt12-qe")), folds_of(*demo())]
    print("| name | WMT12: defaults | searched | fit, s | demo: defaults | searched | fit, s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for catalogue, other in ((LEARNERS, "learner"), (SELECTORS, "selector")):
        for name in catalogue.names:
            if name in OTHERS or (arguments.names and name not in arguments.names):
                continue
            space = spaces(name, other)
            cells = [
                cell for folds in sets for cell in measured(folds, space, arguments.trials, arguments.seconds)
            ]
            print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


def spaces(name: str, what: str) -> tuple[Space, Space]:
    """What is fitted with defaults, and what is searched."""
    plain, own = StrategySection(kind=name, space={}), StrategySection(kind=name)
    if what == "learner":
        return Space([plain], [NONE]), Space([own], [NONE])
    return Space([RIDGE], [plain]), Space([RIDGE], [own])


def measured(
    folds: list[FoldData], space: tuple[Space, Space], trials: int, seconds: float
) -> tuple[str, str, str]:
    """MAE with defaults, MAE after the search, CPU seconds of a fit with the defaults."""
    plain, searched = (Objective(folds, one, ("mae",), SCALE, 0, threads=1) for one in space)
    candidate = plain.space.draw(optuna.trial.FixedTrial({}))
    warm(folds[0], candidate)
    started = time.process_time()
    section = SearchSection.model_validate({"trials": trials, "time": seconds})
    value = Search(plain, section).result().best_trial.values[0]
    spent = (time.process_time() - started) / len(folds)
    if searched.space.single:
        return f"{value:.4f}", "", f"{spent:.3f}"
    return f"{value:.4f}", f"{Search(searched, section).result().best_trial.values[0]:.4f}", f"{spent:.3f}"


def warm(fold: FoldData, candidate: Candidate) -> None:
    """Compiles what is compiled."""
    rows = np.arange(80)
    small = FoldData(
        fold.train.iloc[rows], fold.scores[rows], None, fold.test.iloc[:5], fold.gold[:5], fold.rows[:5]
    )
    small.predict(candidate, SCALE, 0)


def folds_of(table: pd.DataFrame, gold: FloatArray) -> list[FoldData]:
    return [
        FoldData(table.iloc[train], gold[train], None, table.iloc[out], gold[out], out, train)
        for train, out in make_folds(len(gold), 5, seed=0)
    ]


def wmt12(root: Path) -> tuple[pd.DataFrame, FloatArray]:
    table = pd.DataFrame(np.loadtxt(root / "baseline_features" / "training.tsv"))
    table.columns = [f"feature {i}" for i in table.columns]
    return table, np.loadtxt(root / "training_set_annotations" / "target_system.effort")


def demo() -> tuple[pd.DataFrame, FloatArray]:
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder) / "data")
        loaded = experiments.load(EXPERIMENT, data_root=Path(folder))
        data = prepare(check(loaded), Path(folder) / "cache")
        return data.training_table(), np.asarray(data.scores)


if __name__ == "__main__":
    main()
