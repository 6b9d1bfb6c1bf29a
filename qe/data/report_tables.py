"""Tables and sentences on a dataset, and on the edits of post-edits."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from qe.data.check import DataReport, Judges, SplitReport, ValueSummary
from qe.data.dataset import Dataset, LabelScale, Split
from qe.display.numbers import UNDEFINED, count, general, number, percent, span
from qe.display.table import Column, Table


def edit_rates_table(corpus: Mapping[str, Any]) -> Table:
    columns = [Column("class"), Column("words"), Column("rate"), Column("blocks"), Column("block rate")]
    rows = [
        [
            name, count(corpus["counts"][name]), percent(corpus["rates"][name], 2),
            count(corpus["blocks"][name]), percent(corpus["block_rates"][name], 2),
        ]
        for name in corpus["counts"]
    ]  # fmt: skip
    sums = [[name, "", percent(value, 2), "", ""] for name, value in corpus["sums"].items()]
    title = f"{count(corpus['segments'])} segments, HTER {percent(corpus['hter'], 2)}"
    return Table(title, columns, [*rows, (), *sums])


_BAR = 30  # characters of the longest bar of a histogram


def data_tables(report: DataReport) -> Iterator[Table]:
    if report.splits:
        yield splits_table(report.splits)
    for name, split in report.splits.items():
        if split.histogram is not None:
            yield histogram_table(f"labels of {name}", *split.histogram)
        if split.judges is not None:
            yield judges_table(name, split.judges)


def scale_text(label: LabelScale) -> str:
    low, high = ("open" if bound is None else general(bound) for bound in (label.low, label.high))
    return f"{label.name} [{low}, {high}], {'higher' if label.higher_is_better else 'lower'} is better"


def dataset_table(dataset: Dataset) -> Table:
    columns = [Column(f"split of {dataset.name}", "split"), Column("segments"), Column("labels")]
    columns += [Column(title) for title in ("mean", "lowest", "highest")]
    rows = [(name, *_labelled(split)) for name, split in dataset.splits.items()]
    return Table("", columns, rows, [scale_text(dataset.scale), *dataset.notes])


def _labelled(split: Split) -> list[str]:
    known = np.empty(0) if split.scores is None else split.scores[np.isfinite(split.scores)]
    figures = [known.mean(), known.min(), known.max()] if len(known) else [None] * 3
    return [count(len(split)), count(len(known)), *(number(f, 2) for f in figures)]


def splits_table(splits: Mapping[str, SplitReport]) -> Table:
    every = list(splits.values())
    rows: dict[str, list[str]] = {
        "segments": [count(s.segments) for s in every],
        "labels": [_summary(s.labels) if s.labels else "blind" for s in every],
        **{name: [_summary(s.lengths[name]) for s in every] for name in every[0].lengths},
        "repeated": [counts_text(s.duplicates) for s in every],
    }
    for name in ("documents", "unedited"):
        found = [getattr(s, name) for s in every]
        if any(value is not None for value in found):
            rows[name] = ["" if value is None else count(value) for value in found]
    rows["columns"] = [", ".join(s.columns) for s in every]
    return Table(
        "", [Column("split"), *map(Column, splits)], [[name, *cells] for name, cells in rows.items()]
    )


def histogram_table(title: str, edges: tuple[float, ...], counts: tuple[int, ...]) -> Table:
    columns = [Column("from"), Column("to"), Column("segments"), Column("", "bar", drop=1)]
    rows = [
        [general(low, 3), general(high, 3), count(n), "█" * round(_BAR * n / max(counts))]
        for low, high, n in zip(edges, edges[1:], counts, strict=False)
    ]
    return Table(title, columns, rows)


def judges_table(name: str, judges: Judges) -> Table:
    names = [str(i) for i in range(1, len(judges.summaries) + 1)]
    columns = [
        Column("judge"),
        Column("n"),
        Column("mean", drop=1),
        Column("sd", drop=2),
        *map(Column, names),
    ]
    rows = [
        [names[i], count(one.n), number(one.mean, 2), number(one.sd, 2), *_agreement(judges, i)]
        for i, one in enumerate(judges.summaries)
    ]
    title = f"judges of {name}: Pearson above the diagonal, quadratic kappa below"
    return Table(title, columns, rows, list(_judges_notes(name, judges)))


def _agreement(judges: Judges, i: int) -> list[str]:
    each = range(len(judges.summaries))
    return ["" if i == j else number((judges.pearson if i < j else judges.kappa)[i][j], 2) for j in each]


def _judges_notes(name: str, judges: Judges) -> Iterator[str]:
    alpha = ", ".join(f"Krippendorff's alpha ({level}) {number(a)}" for level, a in judges.alpha.items())
    yield f"agreement of all judges of {name}: {alpha}"
    if judges.weights is not None:
        weights = ", ".join(map(number, judges.weights))
        yield (
            f"judges of {name}, weighted by standard deviation: {weights}; they differ by more than 1 on "
            f"{judges.far_apart} segments"
        )
    if judges.deviation is not None:
        yield f"labels and the mean of the judges of {name} differ by at most {general(judges.deviation, 3)}"


def _summary(summary: ValueSummary) -> str:
    if summary.mean is None:
        return UNDEFINED
    told = f"mean {general(summary.mean)}, sd {general(summary.sd, 3)}, median {general(summary.median)}"
    return f"{told} in {span(summary.low, summary.high)}"


def counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count(n)} {name}s" for name, n in counts.items())
