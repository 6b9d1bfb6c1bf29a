"""What a dataset holds, and everything that is wrong with it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import regex
import yaml
from numpy.typing import NDArray

from features.core.errors import InputError
from qe.dataset import Dataset, LabelScale, Split
from qe.formats._base import FORMATS, make_format
from qe.formats._reading import Reading
from qe.formats.table import KINDS

FloatArray = NDArray[np.float64]
_BINS = 10


@dataclass(frozen=True)
class Summary:
    """A distribution; all None where there are no values."""

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
                    numbers only; None where undefined
    deviation       largest distance between the label and the (weighted) mean of the judges
    """

    summaries: tuple[Summary, ...]
    pearson: tuple[tuple[float | None, ...], ...]
    kappa: tuple[tuple[float | None, ...], ...]
    deviation: float | None


@dataclass(frozen=True)
class SplitReport:
    """One split: its size, labels (None: blind), judges, lengths, repetitions, and the columns it has.

    histogram   (edges, counts) of the labels: ten bins over the scale, or over the values if it is open
    duplicates  what is repeated -> number of segments that repeat an earlier one, up to case, punctuation
                and white space
    """

    segments: int
    columns: tuple[str, ...]
    labels: Summary | None
    histogram: tuple[tuple[float, ...], tuple[int, ...]] | None
    judges: Judges | None
    lengths: Mapping[str, Summary]
    duplicates: Mapping[str, int]
    documents: int | None
    unedited: int | None


@dataclass(frozen=True)
class DataReport:
    """A whole dataset.

    overlaps    "later split in earlier split" -> what is shared -> number of segments of the later one, up
                to case, punctuation and white space
    notes       what reading repaired, or a user should know
    defects     what training refuses or suffers from
    unreadable  why files or splits could not be read; those splits are missing
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
        """JSON values."""
        return asdict(self)


def check(path: Path, format_name: str | None = None, options: Mapping[str, Any] | None = None) -> DataReport:
    """Reads the dataset at `path`, going on after defects where that is possible, and describes it.

    Without `format_name` the format is guessed from what is there.

    Raises InputError where the settings or the layout are wrong.
    """
    format_name = format_name or guess_format(path)
    reading = Reading(path, tolerant=True)
    dataset = make_format(format_name, options or {}).read_with(reading, path)
    splits = {name: describe(split, dataset.scale) for name, split in dataset.splits.items()}
    found = [str(defect) for defect in reading.defects]
    found += [defect for name, split in dataset.splits.items() for defect in _defects(name, split)]
    return DataReport(
        dataset.name,
        format_name,
        dataset.scale,
        splits,
        overlaps(dataset),
        dataset.notes,
        tuple(found),
        tuple(map(str, reading.unreadable)),
        dataset.provenance,
    )


def guess_format(path: Path) -> str:
    """The format that the layout at `path` shows.

    Raises InputError where it shows none.
    """
    if not path.exists():
        raise InputError("no such file or folder", where=path)
    if (path / "training_set").is_dir():
        return "wmt12"
    if (path / "direct-assessments").is_dir() or any(path.glob("*/direct-assessments")):
        return "mlqe_pe"
    if path.is_file() and path.name.removesuffix(".gz").rpartition(".")[2].lower() in KINDS:
        return "table"
    raise InputError(
        "cannot tell the format of this",
        where=path,
        remedy=f"name it with --format ({', '.join(FORMATS.names)}) and its keys with --set",
    )


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """`key=value` and `key.key=value`, the values read as YAML, as nested keys.

    >>> parse_settings(["pair=en-de", "label.low=1"])
    {'pair': 'en-de', 'label': {'low': 1}}

    Raises InputError for what is not of that form.
    """
    options: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        *parents, last = key.split(".")
        here = options
        for parent in parents:
            here = here.setdefault(parent, {}) if isinstance(here, dict) else here
        if not equals or not key or not isinstance(here, dict):
            raise InputError(f"--set needs key=value, but got '{setting}'")
        try:
            here[last] = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise InputError(f"--set {setting}: not YAML ({error})") from None
    return options


def describe(split: Split, scale: LabelScale) -> SplitReport:
    """The description of one split."""
    segments = split.segments
    given = None if split.scores is None else split.scores[~np.isnan(split.scores)]
    texts = {"source": segments.source, "target": segments.target}
    lengths = {
        "source tokens": summary(segments.source_tokens.lengths),
        "target tokens": summary(segments.target_tokens.lengths),
    }
    lengths |= {
        f"{side} characters": summary([len(text) for text in column]) for side, column in texts.items()
    }
    return SplitReport(
        len(split),
        (*(name for name, _ in segments.columns()), *split.labels()),
        None if given is None else summary(given),
        None if given is None or not len(given) else _histogram(given, scale),
        None if split.judges is None else _judges(split),
        lengths,
        {name: len(keys) - len(set(keys)) for name, keys in _keys(split).items()},
        None if segments.doc_id is None else len(set(segments.doc_id)),
        None
        if split.post_edit is None
        else sum(a == b for a, b in zip(segments.target, split.post_edit, strict=True)),
    )


def summary(values: Sequence[float] | NDArray[Any]) -> Summary:
    """Mean, population standard deviation, quartiles and range; NaN is left out."""
    array = np.asarray(values, np.float64)
    array = array[~np.isnan(array)]
    if not len(array):
        return Summary(0, None, None, None, None, None, None, None, 0)
    low, first, median, third, high = np.quantile(array, [0, 0.25, 0.5, 0.75, 1]).tolist()
    mean, sd = float(array.mean()), float(array.std())
    return Summary(len(array), mean, sd, low, first, median, third, high, len(np.unique(array)))


def _histogram(values: FloatArray, scale: LabelScale) -> tuple[tuple[float, ...], tuple[int, ...]]:
    low = float(values.min()) if scale.low is None else scale.low
    high = float(values.max()) if scale.high is None else scale.high
    counts, edges = np.histogram(values, bins=_BINS, range=(low, high))
    return tuple(edges.tolist()), tuple(counts.tolist())


def _judges(split: Split) -> Judges:
    judges = split.judges
    assert judges is not None
    columns = range(judges.shape[1])
    return Judges(
        tuple(summary(judges[:, i]) for i in columns),
        tuple(tuple(_pearson(judges[:, i], judges[:, j]) for j in columns) for i in columns),
        tuple(tuple(quadratic_kappa(judges[:, i], judges[:, j]) for j in columns) for i in columns),
        _deviation(split, judges),
    )


def _deviation(split: Split, judges: FloatArray) -> float | None:
    """How far the labels are from the mean of the judges, weighted where there are weights."""
    if split.scores is None:
        return None
    weights = np.ones_like(judges) if split.weights is None else split.weights
    weights = np.where(np.isnan(judges), 0.0, weights)
    totals = weights.sum(axis=1)
    there = totals > 0
    means = (np.nan_to_num(judges) * weights).sum(axis=1)[there] / totals[there]
    distances = np.abs(means - split.scores[there])
    distances = distances[~np.isnan(distances)]
    return float(distances.max()) if len(distances) else None


def _both(left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    there = ~(np.isnan(left) | np.isnan(right))
    return left[there], right[there]


def _pearson(left: FloatArray, right: FloatArray) -> float | None:
    left, right = _both(left, right)
    if len(left) < 2 or left.std() == 0 or right.std() == 0:
        return None
    return float(np.corrcoef(left, right)[0, 1])


def quadratic_kappa(left: FloatArray, right: FloatArray) -> float | None:
    """Cohen's kappa with quadratic weights of two judges; 1 is full agreement, 0 agreement by chance.

    None where scores are not whole numbers, or both judges always gave one and the same score.

    Source: Cohen 1968, "Weighted kappa", as 1 - mean squared difference / the one expected by chance.

    >>> quadratic_kappa(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 4, 3]))
    0.8
    """
    left, right = _both(left, right)
    if not len(left) or (left % 1).any() or (right % 1).any():
        return None
    by_chance = float(left.var() + right.var() + (left.mean() - right.mean()) ** 2)
    return 1 - float(((left - right) ** 2).mean()) / by_chance if by_chance else None


def text_key(text: str) -> str:
    """What makes texts the same sentence: letters, marks and digits in lower case; else the text itself.

    >>> text_key("It's  “so”."), text_key("...")
    ('itsso', '...')
    """
    return "".join(regex.findall(r"[\p{L}\p{M}\p{N}]", text.lower())) or text


def _keys(split: Split) -> dict[str, list[Any]]:
    """What is compared in the search for repetitions: sources, targets, pairs."""
    source = [text_key(text) for text in split.segments.source]
    target = [text_key(text) for text in split.segments.target]
    return {"source": source, "target": target, "pair": list(zip(source, target, strict=True))}


def overlaps(dataset: Dataset) -> dict[str, dict[str, int]]:
    """For "later in earlier": how many sources, targets, pairs of the later split the earlier one has."""
    found = {}
    keys = {name: _keys(split) for name, split in dataset.splits.items()}
    for earlier, later in combinations(keys, 2):
        shared = {}
        for name, column in keys[later].items():
            seen = set(keys[earlier][name])
            shared[name] = sum(key in seen for key in column)
        if any(shared.values()):
            found[f"{later} in {earlier}"] = shared
    return found


def _defects(name: str, split: Split) -> list[str]:
    """What reading does not refuse, but nobody can want."""
    found = []
    for side in ("source", "target"):
        empty = [
            identifier
            for identifier, text in zip(split.segments.id, getattr(split.segments, side), strict=True)
            if not text.strip()
        ]
        if empty:
            found.append(f"{name}: {len(empty)} segments have an empty {side} (first: {empty[0]})")
    if split.scores is not None and len(split) > 1 and len(np.unique(split.scores)) == 1:
        found.append(f"{name}: all labels are {split.scores[0]:g}, so there is nothing to learn")
    contradictions = _contradictions(split)
    if contradictions:
        found.append(f"{name}: {contradictions} repeated pairs of source and target have different labels")
    return found


def _contradictions(split: Split) -> int:
    if split.scores is None:
        return 0
    pairs = list(zip(split.segments.source, split.segments.target, strict=True))
    scores: dict[tuple[str, str], set[float]] = {}
    repeated = {pair for pair, count in Counter(pairs).items() if count > 1}
    for pair, score in zip(pairs, split.scores.tolist(), strict=True):
        if pair in repeated:
            scores.setdefault(pair, set()).add(score)
    return sum(len(values) > 1 for values in scores.values())
