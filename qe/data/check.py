"""Describes a dataset and reports everything that is wrong with it; tables of the report."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.text.languages import seems_without_blanks, without_blanks
from qe.config.overrides import override
from qe.data.dataset import Dataset, LabelScale, Split
from qe.data.folds import keys as repeated_keys
from qe.data.folds import overlaps
from qe.data.format import FORMATS, make_format
from qe.data.judges import MAX_DIFFERENCE, judged_labels, krippendorff_alpha, weighted_kappa, weighted_means
from qe.data.reading import Reading
from qe.display.numbers import UNDEFINED, count, general, number, percent, span
from qe.display.summary import Printable
from qe.display.table import Column, Table

_BINS = 10
_LOOKED_AT = 1000  # texts in which blanks are looked for
_GRADES = 10  # range of scales on which a difference of 1 means something


@dataclass(frozen=True)
class ValueSummary:
    """A distribution; all None if there are no values."""

    n: int
    mean: float | None
    sd: float | None
    low: float | None
    quartile_1: float | None
    median: float | None
    quartile_3: float | None
    high: float | None
    distinct: int


@dataclass(frozen=True)
class Judges:
    """The individual judges, in column order, and how pairs of them agree.

    pearson, kappa  (j, j) over the segments that both judged; kappa is weighted quadratically, for whole
                    numbers only; None if undefined
    deviation       largest distance between the label and the (weighted) mean of the judges
    alpha           level (ordinal, interval) -> Krippendorff's alpha of all judges; None if undefined
    far_apart       segments whose judges differ by more than 1; None for one judge and on open or wide scales
    """

    summaries: tuple[ValueSummary, ...]
    pearson: tuple[tuple[float | None, ...], ...]
    kappa: tuple[tuple[float | None, ...], ...]
    deviation: float | None
    alpha: Mapping[str, float | None]
    weights: tuple[float, ...] | None
    far_apart: int | None


@dataclass(frozen=True)
class SplitReport:
    """One split: size, labels (None: blind), judges, lengths, repetitions and columns.

    histogram   (edges, counts) of the labels: ten bins over the scale, or over the values if it is open
    duplicates  what is repeated -> segments that repeat an earlier one, but for case, punctuation and spaces
    """

    segments: int
    columns: tuple[str, ...]
    labels: ValueSummary | None
    histogram: tuple[tuple[float, ...], tuple[int, ...]] | None
    judges: Judges | None
    lengths: Mapping[str, ValueSummary]
    duplicates: Mapping[str, int]
    documents: int | None
    unedited: int | None


@dataclass(frozen=True)
class DataReport(Printable):
    """A whole dataset.

    Attributes
    ----------
    overlaps : mapping of str to mapping of str to int
        "later split in earlier split" -> what is shared -> number of segments of the later one, up to
        case, punctuation and white space.
    notes : tuple of str
        What reading repaired, or a user should know.
    defects : tuple of str
        What training refuses or suffers from.
    unreadable : tuple of str
        Why files or splits could not be read; those splits are missing.
    """

    name: str
    format: str
    label: LabelScale
    splits: Mapping[str, SplitReport]
    overlaps: Mapping[str, Mapping[str, int]]
    notes: tuple[str, ...]
    defects: tuple[str, ...]
    unreadable: tuple[str, ...]
    provenance: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def check(path: Path, format_name: str | None = None, options: Mapping[str, Any] | None = None) -> DataReport:
    """Reads the dataset at `path`, past defects if possible, and describes it.

    Without `format_name` the format is guessed. Raises InputError if the settings or the layout are wrong.
    """
    format_name = format_name or guess_format(path)
    reading = Reading(path, tolerant=True)
    dataset = make_format(format_name, options or {}).read_with(reading, path)
    splits = {name: describe(split, dataset.scale) for name, split in dataset.splits.items()}
    defects = [str(defect) for defect in reading.defects]
    defects += [defect for name, split in dataset.splits.items() for defect in _defects(name, split)]
    shared_rows = overlaps(dataset.splits)
    defects += [
        f"{later}: {shared['pair']:,} of {len(dataset.splits[later]):,} pairs of source and target are in "
        f"{earlier}, too: do not train on one of them and evaluate on the other"
        for (later, earlier), shared in shared_rows.items()
        if shared["pair"]
    ]
    return DataReport(
        dataset.name,
        format_name,
        dataset.scale,
        splits,
        {f"{later} in {earlier}": shared for (later, earlier), shared in shared_rows.items()},
        dataset.notes,
        tuple(defects),
        tuple(map(str, reading.unreadable)),
        dataset.provenance,
    )


def guess_format(path: Path) -> str:
    """The format that the layout at `path` shows. Raises InputError if it shows none."""
    if not path.exists():
        raise InputError("no such file or folder", location=path)
    fitting = [name for name in FORMATS.names if FORMATS.get(name).recognises(path)]
    if len(fitting) == 1:
        return fitting[0]
    raise InputError(
        f"this may be {' or '.join(fitting)}" if fitting else "cannot tell the format of this",
        location=path,
        remedy=f"name it with --format ({', '.join(FORMATS.names)}) and its keys with --set",
    )


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """`key=value` and `key.key=value`, the values read as YAML, as nested keys."""
    options: dict[str, Any] = {}
    for setting in settings:
        override(options, setting)
    return options


def describe(split: Split, scale: LabelScale) -> SplitReport:
    segments = split.segments
    given = None if split.scores is None else split.scores[~np.isnan(split.scores)]
    lengths = {
        "source tokens": summary(segments.source_tokens.lengths),
        "target tokens": summary(segments.target_tokens.lengths),
        "source characters": summary([*map(len, segments.source)]),
        "target characters": summary([*map(len, segments.target)]),
    }
    histogram = None
    if given is not None and len(given):
        counts, edges = np.histogram(given, bins=_BINS, range=scale.limits(given))
        histogram = tuple(edges.tolist()), tuple(counts.tolist())
    return SplitReport(
        len(split),
        (*(name for name, _ in segments.columns()), *split.labels()),
        None if given is None else summary(given),
        histogram,
        None if split.judges is None else _judges(split, scale),
        lengths,
        {name: len(keys) - len(set(keys)) for name, keys in repeated_keys(split).items()},
        None if segments.doc_id is None else len(set(segments.doc_id)),
        None
        if split.post_edit is None
        else sum(a == b for a, b in zip(segments.target, split.post_edit, strict=True)),
    )


def summary(values: Sequence[float] | NDArray[Any]) -> ValueSummary:
    """Mean, population standard deviation, quartiles and range; NaN is left out."""
    array = np.asarray(values, np.float64)
    array = array[~np.isnan(array)]
    if not len(array):
        return ValueSummary(0, None, None, None, None, None, None, None, 0)
    low, first, median, third, high = np.quantile(array, [0, 0.25, 0.5, 0.75, 1]).tolist()
    mean, sd = float(array.mean()), float(array.std())
    return ValueSummary(len(array), mean, sd, low, first, median, third, high, len(np.unique(array)))


def _judges(split: Split, scale: LabelScale) -> Judges:
    judges = split.judges
    assert judges is not None
    columns = range(judges.shape[1])
    weights, far_apart = None, None
    graded = scale.low is not None and scale.high is not None and scale.high - scale.low <= _GRADES
    if graded and len(columns) > 1 and np.isfinite(judges).any(axis=0).all():
        labels = judged_labels(judges, None)
        weights = tuple(labels.weights.tolist())
        far_apart = int((labels.differences > MAX_DIFFERENCE).sum())
    deviation = None
    if split.scores is not None:
        shares = np.ones_like(judges) if split.weights is None else split.weights
        judged = (np.isfinite(judges) & (shares > 0)).any(axis=1)
        distances = np.abs(weighted_means(judges[judged], shares[judged]) - split.scores[judged])
        distances = distances[~np.isnan(distances)]
        deviation = float(distances.max()) if len(distances) else None
    return Judges(
        tuple(summary(judges[:, i]) for i in columns),
        tuple(tuple(_pearson(judges[:, i], judges[:, j]) for j in columns) for i in columns),
        tuple(tuple(weighted_kappa(judges[:, i], judges[:, j]) for j in columns) for i in columns),
        deviation,
        {level: krippendorff_alpha(judges, level) for level in ("ordinal", "interval")},
        weights,
        far_apart,
    )


def _pearson(scores_a: FloatArray, scores_b: FloatArray) -> float | None:
    both = ~(np.isnan(scores_a) | np.isnan(scores_b))
    scores_a, scores_b = scores_a[both], scores_b[both]
    if len(scores_a) < 2 or scores_a.std() == 0 or scores_b.std() == 0:
        return None
    return float(np.corrcoef(scores_a, scores_b)[0, 1])


def _defects(name: str, split: Split) -> list[str]:
    defects, segments = [], split.segments
    sides = {
        "source": (segments.source, segments.source_tokenizer),
        "target": (segments.target, segments.target_tokenizer),
    }
    for side, (texts, _) in sides.items():
        empty = [own_id for own_id, text in zip(segments.id, texts, strict=True) if not text.strip()]
        if empty:
            defects.append(f"{name}: {len(empty)} segments have an empty {side} (first: {empty[0]})")
    for side, (texts, tokenizer) in sides.items():
        at_blanks = tokenizer.kind == "whitespace" or not without_blanks(tokenizer.language)
        if at_blanks and seems_without_blanks(list(texts[:_LOOKED_AT])):
            defects.append(
                f"{name}: the {side} texts seem to have no blanks between words, but are split at blanks "
                f"(language {tokenizer.language}, tokenizer {tokenizer.kind}): "
                "set its language (zh, ja, th, ...), or `text: {tokenizer: moses}`"
            )
    if split.scores is not None and len(split) > 1 and len(np.unique(split.scores)) == 1:
        defects.append(f"{name}: all labels are {split.scores[0]:g}, so there is nothing to learn")
    scores: dict[tuple[str, str], set[float]] = {}
    labels = () if split.scores is None else split.scores.tolist()
    for source, target, score in zip(segments.source, segments.target, labels, strict=False):
        scores.setdefault((source, target), set()).add(score)
    contradictions = sum(len(values) > 1 for values in scores.values())
    if contradictions:
        defects.append(f"{name}: {contradictions} repeated pairs of source and target have different labels")
    return defects


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
    rows = []
    for name, split in dataset.splits.items():
        known = np.empty(0) if split.scores is None else split.scores[np.isfinite(split.scores)]
        figures = [known.mean(), known.min(), known.max()] if len(known) else [None] * 3
        rows.append((name, count(len(split)), count(len(known)), *(number(f, 2) for f in figures)))
    return Table("", columns, rows, [scale_text(dataset.scale), *dataset.notes])


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
    each = range(len(names))
    columns = [Column("judge"), Column("n"), Column("mean", drop=1), Column("sd", drop=2)]
    columns += map(Column, names)
    rows = [
        [names[i], count(one.n), number(one.mean, 2), number(one.sd, 2)]
        + ["" if i == j else number((judges.pearson if i < j else judges.kappa)[i][j], 2) for j in each]
        for i, one in enumerate(judges.summaries)
    ]
    title = f"judges of {name}: Pearson above the diagonal, quadratic kappa below"
    alpha = ", ".join(f"Krippendorff's alpha ({level}) {number(a)}" for level, a in judges.alpha.items())
    notes = [f"agreement of all judges of {name}: {alpha}"]
    if judges.weights is not None:
        notes.append(
            f"judges of {name}, weighted by standard deviation: {', '.join(map(number, judges.weights))}; "
            f"they differ by more than 1 on {judges.far_apart} segments"
        )
    if judges.deviation is not None:
        deviation = general(judges.deviation, 3)
        notes.append(f"labels and the mean of the judges of {name} differ by at most {deviation}")
    return Table(title, columns, rows, notes)


def _summary(summary: ValueSummary) -> str:
    if summary.mean is None:
        return UNDEFINED
    told = f"mean {general(summary.mean)}, sd {general(summary.sd, 3)}, median {general(summary.median)}"
    return f"{told} in {span(summary.low, summary.high)}"


def counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count(n)} {name}s" for name, n in counts.items())
