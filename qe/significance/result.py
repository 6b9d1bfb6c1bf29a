"""What a test found, and how its p-value is counted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from features.core.errors import InputError

FloatArray = NDArray[np.float64]
CountArray = NDArray[np.int32]

Aggregate = Callable[[FloatArray], FloatArray]
"""(..., k) sums of statistics -> (...) scores."""
Rescore = Callable[[CountArray], FloatArray]
"""(B, n) counts of rows -> (B,) scores, for metrics that are no function of sums."""

Tail = Literal["two-sided", "greater", "less"]
TAILS: tuple[str, ...] = get_args(Tail)

BLOCK_BYTES = 1 << 26  # default bound of the counts that rescoring holds at a time

# Sums in another order differ by rounding; scores closer than this share of their size are equal.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class Measure:
    """A metric over some columns of the statistics, so that one pass of resampling serves several metrics."""

    columns: slice
    aggregate: Aggregate


@dataclass(frozen=True)
class TestResult:
    """One comparison.

    difference  score of the system minus score of the baseline
    p           the p-value; NaN where the difference is undefined
    test        name of the test
    exchange    unit of exchange or resampling: segment-run, segment, run, any, group
    samples     resamples that were looked at
    tail        two-sided, greater (system above baseline) or less
    exact       whether all possible exchanges were enumerated
    """

    __test__ = False  # pytest: this is no test class

    difference: float
    p: float
    test: str
    exchange: str
    samples: int
    tail: Tail
    exact: bool

    def to_json(self) -> dict[str, Any]:
        """The fields, with None for what is undefined."""
        return {key: None if value != value else value for key, value in vars(self).items()}


def check_tail(tail: str) -> None:
    """Raises InputError for a tail that is not known."""
    if tail not in TAILS:
        raise InputError(f"unknown tail '{tail}'", remedy=f"known: {', '.join(TAILS)}")


def check_samples(samples: int) -> None:
    """Raises InputError for fewer than one sample."""
    if samples < 1:
        raise InputError(f"samples must be at least 1, but got {samples}")


def as_runs(statistics: FloatArray, name: str = "statistics") -> FloatArray:
    """Statistics as (runs, n, k) float64; (n, k) is one run.

    Raises InputError for no run, no segment, or values that are not finite.
    """
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


def p_value(null: FloatArray, observed: float, tail: Tail, *, exact: bool, tolerance: float) -> float:
    """The share of null differences (B,) at least as extreme as the observed one; NaN if that is NaN.

    `>=`, not `>`, and (c + 1) / (R + 1): the observed arrangement is itself one of the R + 1 that the null
    hypothesis makes equally likely, so that two identical systems get p = 1 and no p-value is 0. With exact
    enumeration the observed arrangement is among the R counted. An undefined null difference counts as
    extreme.
    """
    check_tail(tail)
    if np.isnan(observed):
        return float("nan")
    if tail == "two-sided":
        inside = np.abs(null) < abs(observed) - tolerance
    elif tail == "greater":
        inside = null < observed - tolerance
    else:
        inside = null > observed + tolerance
    extreme = len(null) - int(np.count_nonzero(inside))
    return extreme / len(null) if exact else (extreme + 1) / (len(null) + 1)
