"""Settings of tests, and comparisons that are corrected together."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.storage.files import digest
from qe.display.files import plain_fields
from qe.display.summary import Record
from qe.statistics.draws import Levels
from qe.statistics.metric import title_of
from qe.statistics.result import TestResult
from qe.statistics.settings import IN_TEST, ResamplingSettings, Scope, check_correction

Key = tuple[str, str, str]
"""(system, baseline, metric)."""
Titles = Callable[[str], str]
"""Metric -> its title in tables and notes."""
FEW = 20  # units below which p-values are coarse and resampling is rough
# Resamples per comparison and 1 / level: a threshold p is counted to a standard error of 22 %.
_PER_COMPARISON = 20
_MIN_RESAMPLES = 1000
_STANDARD_ERRORS = 3.0
_NAMED = 3  # pairs that a sentence names


def correct(p_values: Sequence[float] | FloatArray, method: str = "holm") -> FloatArray:
    """Corrected p-values, in the order given; NaN stays NaN and counts as no comparison.

    none, bonferroni, holm (step-down; family-wise error; default), bh (Benjamini-Hochberg; false discovery).

    >>> correct([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    check_correction(method)
    values = np.asarray(p_values, np.float64)
    defined = ~np.isnan(values)
    p = values[defined]
    if ((p < 0) | (p > 1)).any():
        raise InputError("p-values must be in 0 .. 1")
    order, n = np.argsort(p, kind="stable"), len(p)
    if method == "bonferroni":
        p = p * n
    elif method == "holm":
        p[order] = np.maximum.accumulate(p[order] * np.arange(n, 0, -1))
    elif method == "bh":
        scaled = p[order] * n / np.arange(1, n + 1)
        p[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    corrected = values.copy()
    corrected[defined] = np.minimum(p, 1.0)
    return corrected


def experimentwise_error(level: float, comparisons: int) -> float:
    """Probability of at least one spurious finding: 1 - (1 - level)^k (Riezler and Maxwell 2005, 4.4).

    >>> round(experimentwise_error(0.05, 105), 4)
    0.9954
    """
    return float(1.0 - (1.0 - level) ** comparisons)


Verdict = Literal["different", "different, within the margin", "equivalent", "undecided", "cannot be decided"]
TOST = "two one-sided t tests (jackknife)"


@dataclass(frozen=True)
class Equivalence:
    """One pair of systems within a margin; units of the metric.

    Attributes
    ----------
    difference : float
        Score of the system minus score of the baseline.
    p : float
        P-value of the two one-sided tests, small if the difference is within the margin; NaN if it is
        undefined, or if so few units cannot decide.
    p_noninferior : float
        Small if the system is not worse than the baseline by the margin or more (uncorrected).
    verdict : str
        different: a difference was shown; equivalent: it was shown to be within the margin; different,
        within the margin: both; undecided: neither; cannot be decided: neither, and so few units could
        not show it.
    undecided : str or None
        Why equivalence cannot be decided; None if it can.
    """

    system: str
    baseline: str
    metric: str
    difference: float
    margin: float
    p: float
    p_noninferior: float
    test: str = TOST
    p_corrected: float = float("nan")
    verdict: Verdict = "undecided"
    undecided: str | None = None

    @property
    def key(self) -> Key:
        return self.system, self.baseline, self.metric


class Bucket(NamedTuple):
    kind: str
    label: str
    segments: int


@dataclass(frozen=True)
class Pair(Record):
    """A system against a baseline by one metric.

    Attributes
    ----------
    result : TestResult
        The test of their difference, system minus baseline.
    p_corrected : float
        Corrected within the family; NaN if p is undefined or cannot be decided.
    ci : pair of float and float
        Confidence interval of the difference; NaN if there is none.
    scores : pair of float and float
        The scores of the system and of the baseline; NaN if they are not given.
    bucket : Bucket or None
        The bucket of segments they are compared in; None: all segments.
    other_claims : mapping of str to TestResult
        Unit of exchange -> the result of the same test for that other claim, for systems with several runs.
    equivalence : Equivalence or None
        Whether they differ by less than a margin; None for a metric without one.
    """

    system: str
    baseline: str
    metric: str
    result: TestResult
    p_corrected: float
    family: str = ""
    ci: tuple[float, float] = (math.nan, math.nan)
    scores: tuple[float, float] = (math.nan, math.nan)
    bucket: Bucket | None = None
    other_claims: Mapping[str, TestResult] = field(default_factory=dict)
    equivalence: Equivalence | None = None

    @property
    def key(self) -> Key:
        return self.system, self.baseline, self.metric

    @property
    def names(self) -> tuple[str, str]:
        """The two systems."""
        return self.system, self.baseline

    def to_json(self) -> dict[str, Any]:
        """The pair, its test and its interval; undefined is None."""
        return plain_fields({
            "system": self.system, "baseline": self.baseline, "metric": self.metric,
            **self.result.to_json(), "p_corrected": self.p_corrected, "ci": self.ci,
        })  # fmt: skip


@dataclass(frozen=True)
class Table:
    """The comparisons that are read together, in families.

    members  name of a family -> its comparisons
    copies   comparisons of a system with a copy of itself: shown with p = 1, counted nowhere
    twins    comparisons of copies -> the same comparison, which is among the members and counted once
    """

    settings: ResamplingSettings
    members: Mapping[str, tuple[Key, ...]]
    copies: frozenset[Key] = frozenset()
    twins: Mapping[Key, Key] = field(default_factory=dict)

    @classmethod
    def from_keys(
        cls,
        keys: Sequence[Key],
        settings: ResamplingSettings,
        *,
        alike: Mapping[str, str] | None = None,
        undirected: Sequence[str] = (),
    ) -> "Table":
        """From all comparisons; `alike` are copies (`copies_of`), `undirected` metrics without direction."""
        same = {} if settings.family == "all" else alike or {}
        members: dict[str, list[Key]] = {}
        copies, twins = set(), {}
        first: dict[tuple[frozenset[str], str], Key] = {}
        for key in keys:
            a, b = (same.get(name, name) for name in key[:2])
            if same and a == b:
                copies.add(key)
            elif (twin := first.setdefault((frozenset((a, b)), key[2]), key)) != key:
                twins[key] = twin
            else:
                members.setdefault(_family(key[2], settings.family, undirected), []).append(key)
        return cls(settings, {name: tuple(each) for name, each in members.items()}, frozenset(copies), twins)

    @property
    def largest(self) -> int:
        return max((len(keys) for keys in self.members.values()), default=0)

    def resamples(self, minimum: int = _MIN_RESAMPLES) -> int:
        """How many resamples corrected p-values need: 20 comparisons / level, or `minimum`."""
        factor = 1 if self.settings.correction in ("none", IN_TEST) else self.largest
        return max(minimum, math.ceil(_PER_COMPARISON * factor / self.settings.level))

    def corrected(self, results: Mapping[Key, TestResult]) -> dict[Key, Pair]:
        """Corrects the p-values within families, and withholds those that the data cannot decide."""
        pairs = {key: Pair(*key, results[key], results[key].p) for key in self.copies}
        method = "none" if self.settings.correction == IN_TEST else self.settings.correction
        for family, keys in self.members.items():
            factor = self.factor(sum(not np.isnan(results[key].p) for key in keys))
            answered = [self._answered(results[key], factor) for key in keys]
            # What cannot be decided was tested: it keeps its place among the comparisons.
            p_values = [1.0 if item.undecided else item.p for item in answered]
            for key, item, p in zip(keys, answered, correct(p_values, method), strict=True):
                pairs[key] = Pair(*key, item, math.nan if item.undecided else float(p), family)
        for twin, key in self.twins.items():
            result = replace(pairs[key].result, difference=results[twin].difference)
            pairs[twin] = Pair(*twin, result, pairs[key].p_corrected, pairs[key].family)
        return {key: pairs[key] for key in results}

    def answered(self, key: Key, result: TestResult) -> TestResult:
        key = self.twins.get(key, key)
        sizes = (len(keys) for keys in self.members.values() if key in keys)
        return self._answered(result, self.factor(next(sizes, 1)))

    def factor(self, comparisons: int) -> int:
        """The factor by which the correction multiplies the smallest of so many p-values, at least."""
        return max(1, comparisons) if self.settings.correction in ("bonferroni", "holm") else 1

    def _answered(self, result: TestResult, factor: int) -> TestResult:
        if np.isnan(result.p) or result.reach is None or result.units == 0:
            return result
        reason = result.reach.shortfall(self.settings.level, factor)
        return replace(result, p=math.nan, error=math.nan, undecided=reason) if reason else result

    def short_of_samples(self, pairs: Mapping[Key, Pair]) -> dict[Key, int]:
        """Comparisons that more resamples could still decide, and how many they need."""
        short = {}
        for key, item in pairs.items():
            result, factor = item.result, self.factor(len(self.members.get(item.family, ())))
            if result.exact or not result.samples or np.isnan(result.p) or item.family == "":
                continue
            bound = self.settings.level / factor
            reachable = 1 / (result.samples + 1) <= bound
            if not reachable and result.p - _STANDARD_ERRORS * result.error <= bound:
                short[key] = self.resamples()
        return short

    def borderline(self, pairs: Mapping[Key, Pair]) -> list[Key]:
        """Comparisons whose corrected p-value is within two Monte-Carlo standard errors of the level."""
        near = []
        for key, item in pairs.items():
            scale = item.p_corrected / item.result.p if item.result.p > 0 else 1.0
            if abs(item.p_corrected - self.settings.level) < 2 * item.result.error * scale:
                near.append(key)
        return near

    def to_json(self) -> dict[str, Any]:
        return {
            "scope": self.settings.family,
            "correction": self.settings.correction,
            "level": self.settings.level,
            "comparisons": {name: len(keys) for name, keys in self.members.items()},
            "copies": len(self.copies) + len(self.twins),
            "error_uncorrected": experimentwise_error(self.settings.level, self.largest),
        }


def _family(metric: str, scope: Scope, undirected: Sequence[str]) -> str:
    if scope == "metric" or (scope == "table" and metric in undirected):
        return metric
    return "all metrics with a direction" if scope == "table" else "the whole table"


def copies_of(systems: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Each system -> the first system that has the same values, itself if there is none before."""
    first: dict[tuple[tuple[int, ...], str], str] = {}
    return {
        name: first.setdefault((values.shape, digest((values + 0.0).tobytes())), name)
        for name, values in systems.items()
    }


def cautions(
    table: Table,
    pairs: Mapping[Key, Pair],
    levels: Levels,
    interval: str = "jackknife",
    titles: Titles = title_of,
) -> list[str]:
    """What to read before trusting the p-values and intervals of a table, one sentence each."""
    return [*few_units(levels, interval), *undecided(table, pairs, titles), *borderline(table, pairs, titles)]


def few_units(levels: Levels, interval: str = "jackknife") -> list[str]:
    """Levels with so few units that p-values are coarse, or that nothing can be decided."""
    rough = f"below {FEW}, p-values are coarse"
    if interval != "jackknife":
        rough += f" and {interval} intervals too narrow; the jackknife's are not"
    return [f"{size} {name}s only: {rough}" for name, size in levels.sizes().items() if 1 < size < FEW] + [
        f"one {name} only: there is nothing to resample, so that intervals and p-values are undefined"
        for name, size in levels.sizes().items()
        if size == 1
    ]


def undecided(table: Table, pairs: Mapping[Key, Pair], titles: Titles = title_of) -> list[str]:
    """Comparisons without an answer, by reason: too few units, or too few resamples."""
    reasons: dict[str, list[Key]] = {}
    for key, item in pairs.items():
        if item.result.undecided:
            reasons.setdefault(item.result.undecided, []).append(key)
    notes = [f"cannot be decided for {_listed(keys, titles)}: {reason}" for reason, keys in reasons.items()]
    short = table.short_of_samples(pairs)
    if short:
        samples = max(pairs[key].result.samples for key in short)
        notes.append(
            f"cannot be decided for {_listed(list(short), titles)}: {samples:,} samples cannot give a p-value"
            f" that holds for {table.largest} comparisons; ask for {max(short.values()):,}"
        )
    return notes


def borderline(table: Table, pairs: Mapping[Key, Pair], titles: Titles = title_of) -> list[str]:
    """Comparisons that another seed might decide otherwise."""
    if table.short_of_samples(pairs):
        return []
    near = table.borderline(pairs)
    note = f"p lies within its Monte-Carlo error of {table.settings.level:g} for {_listed(near, titles)}"
    return [f"{note}: more --samples would settle it"] if near else []


def _listed(keys: Sequence[Key], titles: Titles) -> str:
    metrics: dict[tuple[str, str], list[str]] = {}
    for a, b, metric in keys:
        metrics.setdefault((a, b), []).append(titles(metric))
    names = [f"{a} : {b} ({', '.join(by)})" for (a, b), by in metrics.items()]
    more = f" and {len(names) - _NAMED} more pairs" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
