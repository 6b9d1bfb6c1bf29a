"""Resources of own texts: whether held-out segments gain from their post-edits.

A new segment would not have these.

    python benchmarks/studies/wmt18_own_texts.py EXPERIMENT --rows 5000 --cache DIR

The folds of a run with `resources: {texts: ...}` share their resources: columns of the segments that are
learned from know post-edits of held-out segments, though never a segment its own. Here the same folds are
also made apart: for each, resources and models are made of the other folds alone, and its segments are scored
as new ones. Pearson of both, and their difference with a 95 % interval by the paired bootstrap of segments
(10,000 samples, seed 0). `--families` stand in the place of the experiment's features; `--general SOURCE
TARGET`: resources of a parallel corpus, too.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from wmt18_variants import DATA, difference, out_of_fold, subset

from qe.config.experiment import Experiment, load
from qe.models.pipeline import Candidate
from qe.training.check import check
from qe.training.preparation import Prepared, prepare


def shared(prepared: Prepared) -> np.ndarray:
    """(n,) out-of-fold predictions, as a run makes them."""
    predicted, _ = out_of_fold(prepared)
    return predicted


def apart(experiment: Experiment, prepared: Prepared, cache: Path) -> np.ndarray:
    """(n,) predictions of models, and with resources, that know nothing of the fold."""
    result = np.full(len(prepared.scores), np.nan)
    for train, held_out in prepared.first_folds:
        splits = {**prepared.dataset.splits, "train": prepared.training.take(train)}
        alone = prepare(
            check(experiment, in_memory=True), cache, dataset=replace(prepared.dataset, splits=splits)
        )
        own, other = alone.extraction.fit_and_score(alone.training, prepared.training.take(held_out).segments)
        section = alone.experiment.learner[0]
        pipeline = Candidate(section.kind, section.params).pipeline(0).fit(own, alone.scores)
        result[held_out] = pipeline.predict(other)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("experiment", type=Path)
    parser.add_argument("--data-root", type=Path, default=DATA)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--families", help="in the place of the experiment's features")
    parser.add_argument("--general", nargs=2, metavar=("SOURCE", "TARGET"), help="files of a parallel corpus")
    arguments = parser.parse_args()
    overrides = [f"split.folds={arguments.folds}"]
    overrides += [] if arguments.families is None else [f"features={arguments.families}"]

    def loaded(*more: str) -> Experiment:
        return load(arguments.experiment, data_root=arguments.data_root, overrides=[*overrides, *more])

    experiment = loaded()
    dataset = subset(experiment, arguments.rows, 0)
    prepared = prepare(check(experiment, in_memory=True), arguments.cache, dataset=dataset)
    gold = prepared.scores
    predicted = {"as a run": shared(prepared), "folds apart": apart(experiment, prepared, arguments.cache)}
    if arguments.general:
        source, target = arguments.general
        general = loaded(f"resources={{source: {source}, target: {target}}}")
        predicted["parallel corpus"] = shared(
            prepare(check(general, in_memory=True), arguments.cache, dataset=dataset)
        )
    first = predicted["folds apart"]
    for name, values in predicted.items():
        line = f"{name:16} Pearson {np.corrcoef(values, gold)[0, 1]:.4f}"
        if values is not first:
            low, high = difference(values, first, gold)
            line += f"  less folds apart [{low:+.4f}, {high:+.4f}]"
        print(line, flush=True)


if __name__ == "__main__":
    main()
