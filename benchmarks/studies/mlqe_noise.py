"""Which settings of an experiment help: repeated cross-validation, paired.

    python benchmarks/studies/mlqe_noise.py experiments/mlqe/en-de-da.yaml --cache DIR \\
        --set 'split.train=[train,dev]' --set split.test=test20 --seeds 0 1 2 \\
        --variant plain --variant power weight_power=2.5

A variant is a name and settings (KEY=VALUE, several after each other; none: the file as it is). Folds are
drawn anew for each seed, and all variants see the same ones. Each member of the learner is judged by itself
beside the mean of all. Pearson is the mean over seeds, of the rows that most annotators judged and of all;
differences from the first variant with 95 % intervals by the paired bootstrap of segments (1,000 samples,
the same rows in every seed) and, in brackets, in each seed by itself: what changes its sign between seeds
is noise.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from qe.config.experiment import load
from qe.models.pipeline import Candidate, fit
from qe.training.check import check
from qe.training.preparation import Prepared, prepare
from qe.training.reading import read_dataset

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SAMPLES = 1000


def predicted(prepared: Prepared) -> dict[str, FloatArray]:
    """Learner -> (n,) out-of-fold predictions: each member by itself, and the mean of all."""
    section = prepared.experiment.learner[0]
    candidates = {"all": Candidate(section.kind, section.params)}
    for member in section.params["members"]:
        candidates[member["kind"]] = Candidate(
            member["kind"], {k: v for k, v in member.items() if k != "kind"}
        )
    result = {name: np.full(len(prepared.scores), np.nan) for name in candidates}
    for train, held_out in prepared.first_folds:
        own, other = prepared.extraction.fold(prepared.training, train, held_out)
        scores, weights = prepared.learned(prepared.training, train)
        for name, candidate in candidates.items():
            result[name][held_out] = fit(candidate.pipeline(0), own, scores, weights).predict(other)
    return result


def pearson(predictions: FloatArray, gold: FloatArray) -> FloatArray:
    """(seeds,) correlations of (seeds, n) predictions."""
    return np.array([np.corrcoef(each, gold)[0, 1] for each in predictions])


def compared(one: FloatArray, first: FloatArray, gold: FloatArray) -> str:
    """Mean over seeds, and difference from the first: interval, and each seed's."""
    own, other = pearson(one, gold), pearson(first, gold)
    if one is first:
        return f"{own.mean():.4f}"
    rng, n = np.random.default_rng(0), len(gold)
    drawn = [rng.integers(0, n, n) for _ in range(SAMPLES)]
    gains = [
        (pearson(one[:, rows], gold[rows]) - pearson(first[:, rows], gold[rows])).mean() for rows in drawn
    ]
    low, high = np.quantile(gains, [0.025, 0.975])
    each = " ".join(f"{gain:+.4f}" for gain in own - other)
    return f"{own.mean():.4f} {(own - other).mean():+.4f} [{low:+.4f}, {high:+.4f}] ({each})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("experiment", type=Path)
    parser.add_argument("--data-root", type=Path, default=DATA)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[], help="for all variants")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--variant", nargs="+", action="append", required=True, metavar="NAME KEY=VALUE")
    parser.add_argument("--keep", type=Path, help="folder of predictions: what is there is not made again")
    options = parser.parse_args()
    told: dict[str, dict[str, FloatArray]] = {}
    gold = judged = np.empty(0)
    for name, *settings in options.variant:
        started, runs = time.process_time(), []
        for seed in options.seeds:
            changes = [*options.set, *settings, f"split.seed={seed}"]
            experiment = load(options.experiment, data_root=options.data_root, overrides=changes)
            dataset = read_dataset(experiment)
            prepared = prepare(check(experiment, in_memory=True), options.cache, dataset=dataset)
            gold, judged = prepared.scores, np.asarray(prepared.training.annotators)
            runs.append(kept(options.keep, f"{name}-{seed}", prepared))
        told[name] = {learner: np.array([run[learner] for run in runs]) for learner in runs[0]}
        print(f"{name}: {time.process_time() - started:.0f} CPU s", flush=True)
    first = next(iter(told.values()))["all"]
    most = judged == judged.max()
    for name, learners in told.items():
        for learner, values in learners.items():
            print(
                f"{name:12} {learner:15} judged by {judged.max():g}: "
                f"{compared(values[:, most], first[:, most], gold[most])}"
                f"  all: {compared(values, first, gold)}"
            )


def kept(folder: Path | None, name: str, prepared: Prepared) -> dict[str, FloatArray]:
    """Predictions, read if they are kept there."""
    if folder is None:
        return predicted(prepared)
    path = folder / f"{name}.npz"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        made: dict[str, Any] = {**predicted(prepared)}
        np.savez(path, **made)
    return dict(np.load(path))


if __name__ == "__main__":
    main()
