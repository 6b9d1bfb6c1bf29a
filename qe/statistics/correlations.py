"""Two correlations with the same gold labels, and the classical paired tests as references."""

import numpy as np
from scipy import stats

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.statistics.metric import power_of_two_scaled
from qe.statistics.result import Tail, TestResult, check_tail

# Excess kurtosis from which Williams' test is far off its level (studies/significance_calibration.py).
_HEAVY = 2.0
_STANDARD_ERRORS = 3.0


def williams_test(
    system: float, baseline: float, between: float, n: int, *, tail: Tail = "two-sided"
) -> TestResult:
    """Whether two dependent correlations differ; t with n - 3 degrees of freedom.

    It assumes normal labels and predictions; where `heavy_tails` finds that they are not, take
    `correlation_randomization`. NaN for fewer than 4 segments and where a correlation is; equal correlations
    give p = 1 two-sided. Source: Williams 1959; Steiger 1980, equation 7.

    Parameters
    ----------
    system, baseline : float
        Correlations of the two predictions with the gold labels.
    between : float
        Correlation of the two predictions with each other.
    n : int
        Number of segments.

    Examples
    --------
    >>> round(williams_test(0.4, 0.5, 0.1, 103).p, 3)
    0.375
    """
    check_tail(tail)
    if any(abs(r) > 1 + 1e-12 for r in (system, baseline, between)):
        raise InputError(f"correlations must be in -1 .. 1, but got {system}, {baseline}, {between}")
    difference = system - baseline
    return TestResult(
        difference, _williams_p(system, baseline, between, n, tail), "Williams", "segment", 0, tail, False
    )


def _williams_p(system: float, baseline: float, between: float, n: int, tail: Tail) -> float:
    if n < 4 or np.isnan([system, baseline, between]).any():
        return float("nan")
    if system == baseline and tail == "two-sided":
        return 1.0
    determinant = 1 - system**2 - baseline**2 - between**2 + 2 * system * baseline * between
    spread = (
        2 * max(determinant, 0.0) * (n - 1) / (n - 3) + ((system + baseline) / 2) ** 2 * (1 - between) ** 3
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.float64(system - baseline) * np.sqrt((n - 1) * (1 + between)) / np.sqrt(spread)
    if tail == "two-sided":
        return float(2 * stats.t.sf(abs(t), n - 3))
    return float(stats.t.sf(t if tail == "greater" else -t, n - 3))


def zou_interval(
    system: float, baseline: float, between: float, n: int, confidence: float = 0.95
) -> tuple[float, float]:
    """Zou's interval of the difference of two correlations with the same labels; NaN below 4 segments.

    Parameters and assumptions are those of `williams_test`.
    Source: Zou 2007, "Toward using confidence intervals to compare correlations", equations 7 and 15.

    >>> [round(bound, 3) for bound in zou_interval(0.396, 0.179, 0.088, 66)]  # the paper's example 2
    [-0.093, 0.517]
    """
    if n < 4 or np.isnan([system, baseline, between]).any():
        return float("nan"), float("nan")
    own, other = (_fisher_interval(r, n, confidence) for r in (system, baseline))
    common = (between - system * baseline / 2) * (1 - system**2 - baseline**2 - between**2) + between**3
    scale = (1 - system**2) * (1 - baseline**2)
    together = common / scale if scale > 0 else 0.0

    def reach(first: float, second: float) -> float:
        return float(np.sqrt(max(first**2 + second**2 - 2 * together * first * second, 0.0)))

    difference = system - baseline
    low = reach(system - own[0], other[1] - baseline)
    high = reach(own[1] - system, baseline - other[0])
    return difference - low, difference + high


def _fisher_interval(correlation: float, n: int, confidence: float) -> tuple[float, float]:
    reach = stats.norm.ppf((1 + confidence) / 2) / np.sqrt(n - 3)
    with np.errstate(divide="ignore"):
        middle = np.arctanh(correlation)
    return float(np.tanh(middle - reach)), float(np.tanh(middle + reach))


def heavy_tails(values: FloatArray) -> float:
    """Excess kurtosis of (n,) values if it is above 2 and three normal standard errors, else 0."""
    if len(values) < 4 or np.ptp(values) == 0:
        return 0.0
    deviations = power_of_two_scaled(values - values.mean())[0]
    excess = float(stats.kurtosis(deviations))
    return excess if excess > max(_HEAVY, _STANDARD_ERRORS * np.sqrt(24 / len(values))) else 0.0
