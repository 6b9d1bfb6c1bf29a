"""Buckets of segments: where two systems differ, and if it depends on the bucket.

Every comparison in every bucket is one of a family (`qe.statistics.family`), so that looking at many
buckets finds nothing by itself. "Significant here, not significant there" shows no dependence: that has a
test of its own, of the differences between the differences.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name
from features.basics.undefined import finite_or_none
from qe.display.numbers import general, percent, span
from qe.display.summary import summarised
from qe.statistics.cautions import Titled, borderline, undecided
from qe.statistics.comparisons import Comparisons
from qe.statistics.corrections import correct
from qe.statistics.family import IN_TEST, Judged, Key, Rule, Table
from qe.statistics.groups import group_index
from qe.statistics.intervals import jackknife_interval
from qe.statistics.levels import Levels
from qe.statistics.metric import title_of
from qe.statistics.result import TestResult

Rows = NDArray[np.int64]
BANDS = 4
_MOST = 1000  # buckets of one kind: beyond, a column of names is no column of groups
_DIGITS = (3, 6, 17)
_MIN_VARIANCE = 1e-300  # the inverse of smaller ones overflows


@summarised
@dataclass(frozen=True, eq=False)
class Buckets:
    """One way to part n segments.

    Parameters
    ----------
    name : str
        What parts them: length, quality, rare, document, ...
    about : str
        What the labels tell, in words.
    labels : tuple of str
        Name of each bucket.
    index : array of int
        (n,) bucket of each segment.
    """

    name: str
    about: str
    labels: tuple[str, ...]
    index: Rows

    def each(self) -> Iterator[tuple[str, Rows]]:
        """Every bucket: its label, and its segments."""
        for number, label in enumerate(self.labels):
            yield label, np.flatnonzero(self.index == number)

    def label(self, segment: int) -> str:
        """The bucket of one segment, from 0."""
        return self.labels[int(self.index[segment])]


def bands(name: str, about: str, values: FloatArray, count: int = BANDS) -> Buckets:
    """Bands of about equally many segments.

    Equal values share a band, so that there may be fewer bands.

    Raises InputError for values that are not finite, fewer than 2 bands, and values that are all the same.

    >>> bands("length", "words", np.array([3.0, 9, 4, 30]), 2).labels
    ('[3, 4]', '[9, 30]')
    """
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


def named(name: str, about: str, names: Sequence[str]) -> Buckets:
    """A bucket for each name, in order of first appearance.

    Raises InputError for fewer than 2 names, and for more than 1,000.
    """
    labels = tuple(dict.fromkeys(names))
    if not 2 <= len(labels) <= _MOST:
        raise InputError(
            f"{name}: {len(labels)} different names part nothing that can be compared",
            remedy=f"between 2 and {_MOST:,} are needed",
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


@dataclass(frozen=True, eq=False)
class Within:
    """Two systems by one metric on some segments.

    scores    of the system, of the baseline
    result    the test of their difference
    left_out  for each level of units, the difference with each unit left out
    """

    scores: tuple[float, float]
    result: TestResult
    left_out: Sequence[FloatArray]


@dataclass(frozen=True)
class InBucket:
    """One system against another by one metric in one bucket; `ci` is a jackknife interval."""

    by: str
    bucket: str
    segments: int
    system: str
    baseline: str
    metric: str
    scores: tuple[float, float]
    result: TestResult
    p_corrected: float
    ci: tuple[float, float]

    def to_json(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "bucket": self.bucket,
            "segments": self.segments,
            "system": self.system,
            "baseline": self.baseline,
            "metric": self.metric,
            "score": finite_or_none(self.scores[0]),
            "baseline_score": finite_or_none(self.scores[1]),
            **self.result.to_json(),
            "p_corrected": finite_or_none(self.p_corrected),
            "ci": [finite_or_none(bound) for bound in self.ci],
        }


@dataclass(frozen=True)
class Dependence:
    """Whether the difference of two systems depends on the bucket; NaN if undecidable."""

    by: str
    system: str
    baseline: str
    metric: str
    p: float
    p_corrected: float

    def to_json(self) -> dict[str, Any]:
        return {k: finite_or_none(v) if isinstance(v, float) else v for k, v in vars(self).items()}


@summarised
@dataclass(frozen=True)
class BucketReport:
    """All comparisons by all kinds of buckets.

    Attributes
    ----------
    family : mapping of str to Any
        The families in which p-values of differences were corrected (`Table.to_json`).
    notes : sequence of str
        What a reader must know.
    """

    buckets: Sequence[Buckets]
    differences: Sequence[InBucket]
    dependences: Sequence[Dependence]
    family: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values; undefined is None."""
        return {
            "by": {
                one.name: {
                    "about": one.about,
                    "segments": {label: len(rows) for label, rows in one.each()},
                }
                for one in self.buckets
            },
            "differences": [one.to_json() for one in self.differences],
            "dependences": [one.to_json() for one in self.dependences],
            "family": dict(self.family),
            "notes": list(self.notes),
        }

    @property
    def level(self) -> float:
        """The level of significance that the comparisons were judged at."""
        return float(self.family["level"])

    def of(self, by: str, metric: str) -> list[InBucket]:
        """The differences by one kind of bucket and one metric.

        Raises InputError for unknown names.
        """
        known_name("kind of buckets", by, [one.name for one in self.buckets])
        known_name("metric", metric, dict.fromkeys(one.metric for one in self.differences))
        return [one for one in self.differences if (one.by, one.metric) == (by, metric)]


def compare_in_buckets(
    comparisons: Comparisons,
    keys: Sequence[Key],
    buckets: Sequence[Buckets],
    rule: Rule,
    *,
    undirected: Sequence[str] = (),
    samples: int | None = None,
    least: int = 1000,
    titled: Titled = title_of,
) -> BucketReport:
    """Makes all comparisons in every bucket, and corrects them together.

    A family holds all buckets of all kinds by one metric (scope `metric`). Raises InputError for buckets of
    another number of segments, for two kinds of one name, and for a correction that is part of a test of all
    systems at once.

    Parameters
    ----------
    comparisons : Comparisons
        The systems, on all segments.
    keys : sequence of Key
        The comparisons to make.
    undirected : sequence of str, default=()
        Metrics that have no better or worse.
    samples : int or None, default=None
        Resamples of each test; None: `least`, or what so many comparisons need.
    titled : callable, default=title_of
        What notes call a metric.
    """
    _check(buckets, comparisons.levels, rule)
    if not keys:
        raise InputError("buckets compare systems, but there is one only", remedy="give two or more")
    places = [(one.name, label, rows) for one in buckets for label, rows in one.each()]
    inside = {
        (f"{key[0]} in {by} {label}", f"{key[1]} in {by} {label}", key[2]): (place, key)
        for one in buckets
        for key in keys
        for place, (by, label, _) in enumerate(places)
        if by == one.name
    }
    alike = {
        f"{name} in {by} {label}": f"{first} in {by} {label}"
        for by, label, rows in places
        for name, first in comparisons.scored.part(rows).copies().items()
    }
    table = Table.of(list(inside), rule, alike=alike, undirected=undirected)
    drawn = table.resamples(least) if samples is None else samples
    within = [_within(comparisons.part(rows, drawn), keys) for _, _, rows in places]
    judged = table.judge({name: within[place][key].result for name, (place, key) in inside.items()})
    differences = [
        _in_bucket(places[place], key, within[place][key], judged[name])
        for name, (place, key) in inside.items()
    ]
    return BucketReport(
        tuple(buckets),
        tuple(differences),
        _dependences(keys, buckets, within, comparisons.levels, rule),
        table.to_json(),
        (*undecided(table, judged, titled), *borderline(table, judged, titled)),
    )


def _within(part: Comparisons, keys: Sequence[Key]) -> dict[Key, Within]:
    tests = part.tests(list(dict.fromkeys((system, baseline) for system, baseline, _ in keys)))
    return {
        key: Within(
            (part.scored.score(key[0], key[2]), part.scored.score(key[1], key[2])),
            tests[key],
            part.left_out(key),
        )
        for key in keys
    }


def check_buckets(buckets: Sequence[Buckets], segments: int) -> None:
    """Raises InputError for two kinds of one name, and buckets of another number of segments."""
    names = [one.name for one in buckets]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"buckets are named twice: {', '.join(twice)}")
    for one in buckets:
        if len(one.index) != segments:
            raise InputError(f"{segments} segments, but {len(one.index)} values of {one.name}")


def _check(buckets: Sequence[Buckets], levels: Levels, rule: Rule) -> None:
    check_buckets(buckets, levels.segments)
    if rule.method == IN_TEST:
        raise InputError("buckets go with pairwise tests", remedy="use the test 'ar' or 'bootstrap'")


def _in_bucket(place: tuple[str, str, Rows], key: Key, within: Within, judged: Judged) -> InBucket:
    by, label, rows = place
    ci = jackknife_interval(judged.result.difference, within.left_out)
    return InBucket(by, label, len(rows), *key, within.scores, judged.result, judged.p_corrected, ci)


def _dependences(
    keys: Sequence[Key],
    buckets: Sequence[Buckets],
    within: Sequence[Mapping[Key, Within]],
    levels: Levels,
    rule: Rule,
) -> tuple[Dependence, ...]:
    first, values = 0, {}
    for one in buckets:
        last = first + len(one.labels)
        for key in keys:
            parts = [by_key[key] for by_key in within[first:last]]
            values[one.name, key] = dependence_p(one, parts, levels)
        first = last
    told = []
    for metric in dict.fromkeys(key[2] for key in keys):
        chosen = [place for place in values if place[1][2] == metric]
        corrected = correct([values[place] for place in chosen], rule.method)
        told += [
            Dependence(by, *key, values[by, key], float(p))
            for (by, key), p in zip(chosen, corrected, strict=True)
        ]
    return tuple(told)


def dependence_p(buckets: Buckets, within: Sequence[Within], levels: Levels) -> float:
    """p-value of the hypothesis that the difference is the same in all buckets.

    Each unit in one bucket: Welch's analysis of variance (Welch 1951) of the differences with
    their jackknife errors; for a mean of segments it is exactly that. Units in several buckets: Hotelling's
    test of the contrasts. Several levels: the largest p. NaN where a difference is undefined, or its error is
    undefined or 0.
    """
    each = [_dependence_at(buckets, within, units, level) for level, (_, units) in enumerate(levels.each())]
    return float(np.max(each))


def _dependence_at(buckets: Buckets, within: Sequence[Within], units: Any, level: int) -> float:
    differences = np.array([part.result.difference for part in within])
    left_out = [part.left_out[level] for part in within]
    sizes = np.array([len(scores) for scores in left_out])
    if np.isnan(differences).any() or sizes.min() < 2 or any(np.isnan(s).any() for s in left_out):
        return float("nan")
    deviations = [
        np.sqrt((size - 1) / size) * (scores - scores.mean())
        for scores, size in zip(left_out, sizes, strict=True)
    ]
    variances = np.array([float(np.sum(one**2)) for one in deviations])
    if not (variances > _MIN_VARIANCE).all():
        return float("nan")
    if units is None:
        return welch_p(differences, variances, sizes)
    index, count = group_index(units, len(buckets.index))
    spread = np.zeros((len(within), count))
    for number, (_, rows) in enumerate(buckets.each()):
        members = np.array(list(dict.fromkeys(index[rows].tolist())))
        spread[number, members] = deviations[number]
    if ((spread != 0).sum(axis=0) <= 1).all():
        return welch_p(differences, variances, sizes)
    return hotelling_p(differences, spread @ spread.T, count)


def welch_p(means: FloatArray, variances: FloatArray, sizes: NDArray[Any]) -> float:
    """p-value of Welch's one-way analysis of variance.

    It takes (k,) means, the variances of these means, and sizes.
    """
    count = len(means)
    weights = 1 / variances
    shares = weights / weights.sum()
    between = float(weights @ (means - shares @ means) ** 2) / (count - 1)
    lack = float(np.sum((1 - shares) ** 2 / (sizes - 1)))
    statistic = between / (1 + 2 * (count - 2) / (count**2 - 1) * lack)
    return float(stats.f.sf(statistic, count - 1, (count**2 - 1) / (3 * lack)))


def hotelling_p(means: FloatArray, covariance: FloatArray, units: int) -> float:
    """p-value of Hotelling's test that (k,) means are equal.

    Their covariance is estimated from `units` units.
    """
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
        stats.f.sf(squared * (units - contrasts) / ((units - 1) * contrasts), contrasts, units - contrasts)
    )
