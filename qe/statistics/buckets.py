"""Comparisons of systems in buckets of segments, and whether differences depend on the bucket."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name
from qe.display.files import plain_fields
from qe.display.numbers import general, percent, span
from qe.display.summary import Printable
from qe.statistics.comparisons import Comparisons
from qe.statistics.draws import Groups, group_index
from qe.statistics.family import Bucket, Key, Pair, Table, Titles, borderline, correct, undecided
from qe.statistics.intervals import jackknife_deviations, jackknife_interval
from qe.statistics.metric import title_of
from qe.statistics.settings import IN_TEST

Rows = NDArray[np.int64]
BANDS = 4
_MAX_BUCKETS = 1000  # of one kind: a column of more names is no column of groups
_DIGITS = (3, 6, 17)
_MIN_VARIANCE = 1e-300  # the inverse of smaller ones overflows


@dataclass(frozen=True, eq=False)
class Buckets(Printable):
    """One way to group n segments.

    Attributes
    ----------
    name : str
        Kind of grouping: length, quality, rare, document, ...
    about : str
        Meaning of the labels, in words.
    index : array of int
        (n,) bucket of each segment.
    """

    name: str
    about: str
    labels: tuple[str, ...]
    index: Rows

    def items(self) -> Iterator[tuple[str, Rows]]:
        """Every bucket: its label, and its segments."""
        for number, label in enumerate(self.labels):
            yield label, np.flatnonzero(self.index == number)

    def label(self, segment: int) -> str:
        """The bucket of one segment, from 0."""
        return self.labels[int(self.index[segment])]


def bands(name: str, about: str, values: FloatArray, count: int = BANDS) -> Buckets:
    """Bands of about equally many segments; equal values share a band, so that there may be fewer bands."""
    if count < 2:
        raise InputError(f"there must be at least 2 bands, but got {count}")
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(f"{name} of segment {row + 1} is not finite ({values[row]})")
    inner = np.arange(1, count) / count
    edges = np.unique(np.quantile(values, inner, method="inverted_cdf"))
    numbers, index = np.unique(np.searchsorted(edges, values), return_inverse=True)
    if len(numbers) < 2:
        same = percent(float(np.mean(values == values.max())), 0)
        raise InputError(
            f"{name}: the segments cannot be parted into bands: {same} have the value {values.max():g}",
            remedy="leave it out",
        )
    ends = [(values[index == b].min(), values[index == b].max()) for b in range(len(numbers))]
    return Buckets(name, about, _labels(ends), index.astype(np.int64))


def by_name(name: str, about: str, names: Sequence[str]) -> Buckets:
    """A bucket for each name, in order of first appearance; from 2 to 1,000 names."""
    labels = tuple(dict.fromkeys(names))
    if not 2 <= len(labels) <= _MAX_BUCKETS:
        raise InputError(
            f"{name}: {len(labels)} different names part nothing that can be compared",
            remedy=f"between 2 and {_MAX_BUCKETS:,} are needed",
        )
    return Buckets(name, about, labels, group_index(names, len(names))[0])


def _labels(ends: Sequence[tuple[float, float]]) -> tuple[str, ...]:
    labels: tuple[str, ...] = ()
    for digits in _DIGITS:
        labels = tuple(
            str(general(low, digits) if low == high else span(low, high, digits)) for low, high in ends
        )
        if len(set(labels)) == len(labels):
            break
    return labels


@dataclass(frozen=True)
class Dependence:
    """Whether the difference of two systems depends on the bucket; NaN if undecidable."""

    kind: str
    system: str
    baseline: str
    metric: str
    p: float
    p_corrected: float


@dataclass(frozen=True)
class BucketReport(Printable):
    """All comparisons by all kinds of buckets; their `ci` are jackknife intervals.

    Attributes
    ----------
    family : mapping
        The test families in which p-values of differences were corrected (`Table.to_json`).
    notes : sequence of str
        Warnings for the reader.
    """

    buckets: Sequence[Buckets]
    differences: Sequence[Pair]
    dependences: Sequence[Dependence]
    family: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values; undefined is None."""
        kinds = {
            kind.name: {"about": kind.about, "segments": {label: len(rows) for label, rows in kind.items()}}
            for kind in self.buckets
        }
        return plain_fields({
            "kinds": kinds, "differences": [bucket_row(pair) for pair in self.differences],
            "dependences": self.dependences, "family": self.family, "notes": self.notes,
        })  # fmt: skip

    @property
    def level(self) -> float:
        """The level of significance of the comparisons."""
        return float(self.family["level"])

    def by_kind(self, name: str, metric: str | None = None) -> list[Pair]:
        """The differences in one kind of buckets, by one metric or by all."""
        known_name("kind of buckets", name, [kind.name for kind in self.buckets])
        if metric is not None:
            known_name("metric", metric, dict.fromkeys(pair.metric for pair in self.differences))
        pairs = [pair for pair in self.differences if pair.bucket is not None and pair.bucket.kind == name]
        return [pair for pair in pairs if metric in (None, pair.metric)]


def bucket_row(pair: Pair) -> dict[str, Any]:
    bucket = pair.bucket or Bucket("", "", 0)
    values = pair.to_json()
    names = {name: values.pop(name) for name in ("system", "baseline", "metric")}
    place = {"kind": bucket.kind, "bucket": bucket.label, "segments": bucket.segments}
    scores = {"score": pair.scores[0], "baseline_score": pair.scores[1]}
    return plain_fields({**place, **names, **scores, **values})


def compare_in_buckets(
    comparisons: Comparisons,
    keys: Sequence[Key],
    buckets: Sequence[Buckets],
    *,
    undirected: Sequence[str] = (),
    samples: int | None = None,
    min_samples: int = 1000,
    titles: Titles = title_of,
) -> BucketReport:
    """Makes all comparisons in every bucket, and corrects them together.

    A family holds all buckets of all kinds by one metric (scope `metric`). Raises InputError for buckets of
    another number of segments, for two kinds of one name, and for a correction that is part of a test of all
    systems at once.

    Parameters
    ----------
    undirected : sequence of str, default=()
        Metrics that have no better or worse.
    samples : int or None, default=None
        Resamples of each test; None: `min_samples`, or what so many comparisons need.
    titles : callable, default=title_of
        Titles of metrics in notes.
    """
    settings = comparisons.settings
    check_buckets(buckets, comparisons.levels.segments)
    if settings.correction == IN_TEST:
        raise InputError("buckets go with pairwise tests", remedy="use the test 'ar' or 'bootstrap'")
    if not keys:
        raise InputError("buckets compare systems, but there is one only", remedy="give two or more")
    places = [(kind.name, label, rows) for kind in buckets for label, rows in kind.items()]
    inside = {
        (f"{key[0]} in {by} {label}", f"{key[1]} in {by} {label}", key[2]): (place, key)
        for kind in buckets
        for key in keys
        for place, (by, label, _) in enumerate(places)
        if by == kind.name
    }
    alike = {
        f"{name} in {by} {label}": f"{first} in {by} {label}"
        for by, label, rows in places
        for name, first in comparisons.scored.part(rows).copies().items()
    }
    table = Table.from_keys(list(inside), settings, alike=alike, undirected=undirected)
    drawn = table.resamples(min_samples) if samples is None else samples
    parts = [comparisons.part(rows, drawn) for _, _, rows in places]
    pairs = list(dict.fromkeys((system, baseline) for system, baseline, _ in keys))
    tests = [part.tests(pairs) for part in parts]
    corrected = table.corrected({name: tests[place][key] for name, (place, key) in inside.items()})
    differences = []
    for name, (place, key) in inside.items():
        part, result = parts[place], corrected[name].result
        pair = Pair(
            *key, result, corrected[name].p_corrected,
            ci=jackknife_interval(result.difference, part.jackknife_differences(key)),
            scores=(part.scored.scores[key[0]][key[2]], part.scored.scores[key[1]][key[2]]),
            bucket=Bucket(places[place][0], places[place][1], len(places[place][2])),
        )  # fmt: skip
        differences.append(pair)
    values = {}
    for kind in buckets:
        own = [place for place, (by, _, _) in enumerate(places) if by == kind.name]
        for key in keys:
            found = np.array([tests[place][key].difference for place in own])
            jackknife = zip(*(parts[place].jackknife_differences(key) for place in own), strict=True)
            p_values = [
                dependence_p(kind, found, each, units)
                for each, (_, units) in zip(jackknife, comparisons.levels.items(), strict=True)
            ]
            values[kind.name, key] = float(np.max(p_values))
    dependences = []
    for metric in dict.fromkeys(key[2] for key in keys):
        family = [place for place in values if place[1][2] == metric]
        adjusted = correct([values[place] for place in family], settings.correct)
        dependences += [
            Dependence(by, *key, values[by, key], float(p))
            for (by, key), p in zip(family, adjusted, strict=True)
        ]
    return BucketReport(
        tuple(buckets), tuple(differences), tuple(dependences), table.to_json(),
        (*undecided(table, corrected, titles), *borderline(table, corrected, titles)),
    )  # fmt: skip


def check_buckets(buckets: Sequence[Buckets], segments: int) -> None:
    names = [kind.name for kind in buckets]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"buckets are named twice: {', '.join(twice)}")
    for kind in buckets:
        if len(kind.index) != segments:
            raise InputError(f"{segments} segments, but {len(kind.index)} values of {kind.name}")


def dependence_p(
    buckets: Buckets, differences: FloatArray, jackknife: Sequence[FloatArray], units: Groups | None
) -> float:
    """p-value of the hypothesis that the difference is the same in all buckets.

    Each unit in one bucket: Welch's analysis of variance (Welch 1951) of the differences with their jackknife
    errors. Units in several buckets: Hotelling's test of the contrasts. NaN if a difference or its error is
    undefined, or its error is 0.
    """
    sizes = np.array([len(scores) for scores in jackknife])
    if np.isnan(differences).any() or sizes.min() < 2 or any(np.isnan(s).any() for s in jackknife):
        return float("nan")
    deviations = [jackknife_deviations(scores) for scores in jackknife]
    variances = np.array([float(np.sum(values**2)) for values in deviations])
    if not (variances > _MIN_VARIANCE).all():
        return float("nan")
    if units is None:
        return welch_p(differences, variances, sizes)
    index, count = group_index(units, len(buckets.index))
    spread = np.zeros((len(differences), count))
    for number, (_, rows) in enumerate(buckets.items()):
        members = np.array(list(dict.fromkeys(index[rows].tolist())))
        spread[number, members] = deviations[number]
    if ((spread != 0).sum(axis=0) <= 1).all():
        return welch_p(differences, variances, sizes)
    return hotelling_p(differences, spread @ spread.T, count)


def welch_p(means: FloatArray, variances: FloatArray, sizes: NDArray[Any]) -> float:
    """p-value of Welch's one-way analysis of variance, from (k,) means, their variances, and sizes."""
    count = len(means)
    weights = 1 / variances
    shares = weights / weights.sum()
    between = float(weights @ (means - shares @ means) ** 2) / (count - 1)
    lack = float(np.sum((1 - shares) ** 2 / (sizes - 1)))
    statistic = between / (1 + 2 * (count - 2) / (count**2 - 1) * lack)
    return float(fdtrc(count - 1, (count**2 - 1) / (3 * lack), statistic))


def hotelling_p(means: FloatArray, covariance: FloatArray, units: int) -> float:
    """p-value of Hotelling's test that (k,) means are equal; their covariance is of `units` units."""
    contrasts = len(means) - 1
    if units <= contrasts:
        return float("nan")
    steps = np.diff(np.eye(len(means)), axis=0)
    inner = steps @ covariance @ steps.T
    if np.linalg.matrix_rank(inner) < contrasts:
        return float("nan")
    moved = steps @ means
    squared = float(moved @ np.linalg.solve(inner, moved))
    return float(
        fdtrc(contrasts, units - contrasts, squared * (units - contrasts) / ((units - 1) * contrasts))
    )
