"""What a test found, the p-values that few units allow, and how p-values are counted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import comb, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.display.files import plain_fields
from qe.display.numbers import general
from qe.display.summary import Record
from qe.statistics.settings import Tail, check_tail

_MAX_ARRANGEMENTS = 10**300  # a quotient of 1 by more is 0


@dataclass(frozen=True)
class Reach:
    """What exchanges of `units` units can show: every unit changes sides or stays."""

    units: int
    unit: str = "segment"
    tail: Tail = "two-sided"
    arrangements_of_one: int = 2
    prefix: str = "the two differ in"

    def arrangements(self, units: int) -> int:
        return _power(self.arrangements_of_one, units)

    @property
    def mirrored(self) -> bool:
        """Whether the mirror image of every arrangement is an arrangement, too."""
        return True

    def min_p_of(self, units: int) -> float:
        sides = 2 if self.tail == "two-sided" and self.mirrored else 1
        return min(1.0, sides / min(self.arrangements(units), _MAX_ARRANGEMENTS))

    @property
    def min_p(self) -> float:
        """The smallest p-value that these units allow.

        >>> Reach(5).min_p, Reach(5, tail="greater").min_p
        (0.0625, 0.03125)
        """
        return self.min_p_of(self.units)

    def needed(self, bound: float) -> int:
        """The fewest units that allow a p-value up to the bound.

        >>> Reach(3).needed(0.05), Reach(3).needed(0.05 / 36), Runs(3, "run").needed(0.05)
        (6, 11, 4)
        """
        return next(units for units in count(1) if self.min_p_of(units) <= bound)

    def shortfall(self, level: float, comparisons: int = 1) -> str:
        """Why no p-value can reach the level, once multiplied by the comparisons; empty if one can."""
        bound = level / comparisons
        if self.min_p <= bound:
            return ""
        among = f" among {comparisons} comparisons" if comparisons > 1 else ""
        return (
            f"{self.prefix} {self.unit_count(self.units)}: no p-value below {general(self.min_p, 2)} is"
            f" possible, and {general(bound, 2)} is needed{among};"
            f" that takes {self.unit_count(self.needed(bound))}"
        )

    def unit_count(self, units: int) -> str:
        return f"{units} {self.unit}" + ("" if units == 1 else "s")


@dataclass(frozen=True)
class Runs(Reach):
    """Reach of exchanging whole optimizer runs: one side has `units` of them, the other `runs`."""

    runs: int = 0

    @property
    def mirrored(self) -> bool:
        return self.runs in (0, self.units)

    def arrangements(self, units: int) -> int:
        runs = self.runs if units == self.units and not self.mirrored else units
        return comb(units + runs, units)

    def unit_count(self, units: int) -> str:
        return f"{super().unit_count(units)} of each system"


@dataclass(frozen=True)
class Permutations(Reach):
    """The outputs of every unit are permuted among all systems; renaming the systems changes nothing."""

    systems: int = 2

    def arrangements(self, units: int) -> int:
        return _power(factorial(self.systems), max(units - 1, 0))


def _power(base: int, exponent: int) -> int:
    return int(base ** min(exponent, 1000))


CountArray = NDArray[np.int32]

Aggregate = Callable[[FloatArray], FloatArray]
"""(..., k) sums of statistics -> (...) scores."""
Rescore = Callable[[CountArray], FloatArray]
"""(B, n) counts of rows -> (B,) scores, for metrics that are no function of sums."""

GROUP = "group"  # what units are called that have no other name
ENUMERATED = 4096  # all exchanges are enumerated up to this number, even where fewer samples were asked for

# Sums in another order differ by rounding; scores closer than this share of their size are equal.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class Measure:
    """A metric over some columns of the statistics: one pass of resampling serves several metrics."""

    columns: slice
    aggregate: Aggregate

    @staticmethod
    def side_by_side(widths: Sequence[int], aggregates: Mapping[str, Aggregate]) -> "dict[str, Measure]":
        ends = np.cumsum([0, *widths]).tolist()
        columns = map(slice, ends, ends[1:])
        parts = zip(aggregates.items(), columns, strict=True)
        return {name: Measure(place, aggregate) for (name, aggregate), place in parts}


@dataclass(frozen=True)
class TestResult(Record):
    """One comparison.

    Attributes
    ----------
    difference : float
        Score of the system minus score of the baseline.
    p : float
        The p-value; NaN if the difference is undefined, or where the test cannot be decided.
    exchange : str
        Unit of exchange or resampling: segment-run, segment, run, any, group, or the name of a level.
    samples : int
        Resamples that were looked at.
    tail : str
        Two-sided, greater (system above baseline) or less.
    exact : bool
        Whether all possible exchanges were enumerated.
    reach : Reach or None
        What so few units can show, however many samples are drawn; None: the test has no such bound.
    error : float
        Monte-Carlo standard error of p; 0 where it is exact or no resampling was done.
    undecided : str or None
        Why the test cannot decide; None if it can.
    """

    __test__ = False  # pytest: this is no test class

    difference: float
    p: float
    test: str
    exchange: str
    samples: int
    tail: Tail
    exact: bool
    reach: Reach | None = None
    error: float = 0.0
    undecided: str | None = None

    @property
    def units(self) -> int:
        """Units in which the two sides differ; 0 if that is not known."""
        return 0 if self.reach is None else self.reach.units

    @property
    def min_p(self) -> float:
        """The smallest p-value that so few units allow; 0 without a bound."""
        return 0.0 if self.reach is None else self.reach.min_p

    def to_json(self) -> dict[str, Any]:
        values = {name: value for name, value in super().to_json().items() if name not in ("reach", "error")}
        return values | plain_fields({"p_error": self.error, "units": self.units, "p_smallest": self.min_p})


def largest_p(results: Sequence[TestResult]) -> TestResult:
    """One claim for several kinds of units (documents, judges): their largest p-value; undefined if one is.

    An intersection-union test, valid without correction (Berger 1982).
    """
    if len(results) == 1:
        return results[0]
    last = max(results, key=lambda result: np.inf if np.isnan(result.p) else result.p)
    weakest = max(results, key=lambda result: result.min_p)
    names = " and ".join(result.exchange for result in results)
    return replace(last, exchange=names, reach=weakest.reach)


def with_units(result: TestResult, name: str) -> TestResult:
    reach = result.reach and replace(result.reach, unit=result.reach.unit.replace(GROUP, name))
    return replace(result, exchange=result.exchange.replace(GROUP, name), reach=reach)


def as_runs(statistics: FloatArray, name: str = "statistics") -> FloatArray:
    """Statistics as (runs, n, k) float64; (n, k) is one run."""
    array = np.asarray(statistics, np.float64)
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or 0 in array.shape:
        raise InputError(f"{name} must be (runs, segments, columns), none empty, but got {array.shape}")
    if not np.isfinite(array).all():
        run, segment, column = np.argwhere(~np.isfinite(array))[0]
        raise InputError(
            f"{name} of segment {segment + 1}, run {run + 1}, column {column + 1} are not finite"
            f" ({array[run, segment, column]})"
        )
    return array


def rounding(*scores: FloatArray | float) -> float:
    """How far apart equal scores may lie for rounding alone."""
    return _ROUNDING * float(max((np.max(np.abs(np.nan_to_num(s))) for s in scores), default=0.0))


def extreme(null: FloatArray, observed: float, tail: Tail, tolerance: float) -> NDArray[np.bool_]:
    """(B,) which null differences are at least as extreme as the observed one; undefined ones count so."""
    check_tail(tail)
    if tail == "two-sided":
        inside = np.abs(null) < abs(observed) - tolerance
    elif tail == "greater":
        inside = null < observed - tolerance
    else:
        inside = null > observed + tolerance
    return np.asarray(~inside)


def p_value(null: FloatArray, observed: float, tail: Tail, *, exact: bool, tolerance: float) -> float:
    """The share of null differences (B,) at least as extreme as the observed one; NaN if that is NaN.

    `>=`, not `>`, and (c + 1) / (R + 1): the observed arrangement is itself one of the R + 1 that the null
    hypothesis makes equally likely, so that two identical systems get p = 1 and no p-value is 0. With exact
    enumeration the observed arrangement is among the R counted.
    """
    count = int(np.count_nonzero(extreme(null, observed, tail, tolerance)))
    if np.isnan(observed):
        return float("nan")
    return count / len(null) if exact else (count + 1) / (len(null) + 1)


def monte_carlo_error(p: float, samples: int, *, exact: bool) -> float:
    """Standard error of a p-value from so many resamples; 0 for an exact one."""
    return 0.0 if exact else float(np.sqrt(p * (1.0 - p) / samples))
