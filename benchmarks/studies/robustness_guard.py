"""Predictions for spoilt translations with and without a guard, and the guard's cost.

    python benchmarks/studies/robustness_guard.py NAME=MODEL:TABLE ...

TABLE is a labelled table (source, target, score) that the model has not learned from.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from features.basics.assignments import assigned
from qe.display.numbers import number, percent
from qe.display.table import Column, Table
from qe.models.model import Model
from qe.models.robustness import Robustness, judge_of, robustness_of

ROWS = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", metavar="NAME=MODEL:TABLE")
    columns = [
        Column("model"), Column("guard"), Column("below, mean"), Column("least"), Column("best, no mark"),
        Column("harmless, sd"), Column("marked"), Column("Pearson"), Column("MAE"),
    ]  # fmt: skip
    rows = [
        row
        for text in parser.parse_args().models
        for row in measured(*assigned(text, "NAME=MODEL:TABLE", "models"))
    ]
    print(Table("", columns, rows).markdown())


def measured(name: str, places: str) -> Iterator[list[str]]:
    folder, _, path = places.rpartition(":")
    table = pd.read_csv(path, sep="\t", quoting=3)
    model, gold = Model.load(Path(folder)), table["score"].to_numpy(float)
    segments = model.segments({side: list(table[side]) for side in ("source", "target")})
    for guard in (None, model.guard):
        judge = replace(model, guard=guard)
        scores, _ = judge.judge(segments, judge.features(segments))
        found = robustness_of(judge_of(judge), segments, judge.scale, rows=ROWS)
        yield [
            name, "no" if guard is None else "yes", *figures(found),
            number(float(np.corrcoef(scores, gold)[0, 1])), number(float(np.abs(scores - gold).mean())),
        ]  # fmt: skip


def figures(found: Robustness) -> list[str]:
    mean, least, kind = found.below
    unseen = float(np.mean([answer.unseen for answer in found.with_effect("destroying")]))
    moved = max((answer.moved for answer in found.with_effect("harmless")), default=0.0)
    return [
        percent(mean),
        f"{percent(least)} ({kind})",
        percent(unseen),
        number(moved),
        percent(found.marked),
    ]


if __name__ == "__main__":
    main()
