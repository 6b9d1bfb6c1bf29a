"""Confidence intervals: jackknife, percentile, BCa; Williams' test and Zou's interval of correlations."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.statistics.draws import sample_blocks
from qe.statistics.metric import power_of_two_scaled
from qe.statistics.result import Aggregate, CountArray, Rescore, TestResult
from qe.statistics.settings import Tail, check_tail

Link = Literal["identity", "log", "fisher", "arcsine"]
_Function = Callable[[FloatArray], FloatArray]
# Variance-stabilising transforms of errors, correlations and shares (in percent), and their inverses.
_LINKS: Mapping[str, tuple[_Function, _Function]] = {
    "identity": (lambda x: x, lambda x: x),
    "log": (np.log, np.exp),
    "fisher": (np.arctanh, np.tanh),
    "arcsine": (
        lambda x: np.arcsin(np.sqrt(x / 100.0)),
        lambda x: 100.0 * np.sin(np.clip(x, 0.0, np.pi / 2)) ** 2,
    ),
}
_MAX_RESCORINGS = 1000  # of a jackknife; whole blocks of segments are left out if there are more


def jackknife_interval(
    score: float, jackknife: Sequence[FloatArray], confidence: float = 0.95, link: Link = "identity"
) -> tuple[float, float]:
    """Student's t interval with the jackknife's standard error, on the scale of `link`.

    Degrees of freedom: the fewest units less 1. NaN if any score is, or with one unit. It keeps its level
    with 30 segments (docs/results/significance.md). Sources: Tukey 1958; for groups, MacKinnon, Nielsen and
    Webb 2023 (the variance CV3).

    Parameters
    ----------
    score : float
        The score on the real test set.
    jackknife : sequence of array of float
        For each kind of units, (u,) scores with one unit (segment, document, block) left out; with
        several kinds their variances add up.
    """
    if np.isnan(score) or any(np.isnan(scores).any() or len(scores) < 2 for scores in jackknife):
        return float("nan"), float("nan")
    if max(np.abs(scores - score).max() for scores in jackknife) <= 1e-12 * max(abs(score), 1e-300):
        return score, score
    forward, back = _LINKS[link]
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = [forward(np.asarray(scores)) for scores in (np.array([score]), *jackknife)]
    if not all(np.isfinite(scores).all() for scores in moved):  # the scale ends here, such as r = 1
        moved, back = [np.array([score]), *jackknife], _LINKS["identity"][1]
    error = np.sqrt(sum(_jackknife_variance(scores) for scores in moved[1:]))
    reach = float(-stdtrit(min(map(len, jackknife)) - 1, (1.0 - confidence) / 2.0) * error)
    low, high = back(moved[0] + np.array([-reach, reach]))
    return float(low), float(high)


def jackknife_deviations(scores: FloatArray) -> FloatArray:
    """(u,) scores with one unit left out -> what each unit adds; their squares sum up to the variance."""
    return np.asarray(np.sqrt((len(scores) - 1) / len(scores)) * (scores - scores.mean()))


def _jackknife_variance(scores: FloatArray) -> float:
    return float((len(scores) - 1) / len(scores) * np.sum((scores - scores.mean()) ** 2))


def percentile_interval(scores: FloatArray, confidence: float = 0.95) -> tuple[float, float]:
    """The central `confidence` share of (samples,) bootstrap scores; NaN if any score is NaN."""
    if np.isnan(scores).any():
        return float("nan"), float("nan")
    outside = (1.0 - confidence) / 2.0
    low, high = np.quantile(scores, [outside, 1.0 - outside])
    return float(low), float(high)


def bca_interval(
    scores: FloatArray, observed: float, jackknife: FloatArray, confidence: float = 0.95
) -> tuple[float, float]:
    """Bias-corrected and accelerated interval; NaN if all scores are on one side of the observed one.

    Source: Efron and Tibshirani 1993, section 14.3.

    Parameters
    ----------
    scores : array of float
        (samples,) bootstrap scores.
    observed : float
        The score on the real test set.
    jackknife : array of float
        (m,) scores with one segment (or block of segments) left out, see `jackknife_scores`.
    """
    if np.isnan(scores).any() or np.isnan(jackknife).any() or np.isnan(observed):
        return float("nan"), float("nan")
    if scores.min() == scores.max():
        return float(scores[0]), float(scores[0])
    below = np.mean(scores < observed) + np.mean(scores == observed) / 2.0
    bias = ndtri(below)
    deviations = jackknife.mean() - jackknife
    spread = float(np.sum(deviations**2))
    acceleration = float(np.sum(deviations**3)) / (6.0 * spread**1.5) if spread > 0 else 0.0
    tails = bias + ndtri([(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
    if not np.isfinite(tails).all():
        return float("nan"), float("nan")
    low, high = np.quantile(scores, ndtr(bias + tails / (1.0 - acceleration * tails)))
    return float(low), float(high)


def jackknife_scores(statistics: FloatArray, aggregate: Aggregate) -> FloatArray:
    """(n,) scores with each of the n rows of (n, k) statistics left out; exact, from the sums."""
    return aggregate(statistics.sum(axis=0) - statistics)


def jackknife_rescored(rescore: Rescore, rows: int, units: CountArray | None = None) -> FloatArray:
    """Scores with each unit left out, for a metric that is no function of sums.

    units  (rows,) number of each row's unit; default: every row is one, or every interleaved block of rows
           if there are more than 1,000
    """
    index = np.arange(rows) % min(rows, _MAX_RESCORINGS) if units is None else units
    count = int(index.max()) + 1
    scores = np.empty(count)
    for first, last in sample_blocks(count, 4 * rows, count):
        scores[first:last] = rescore((index[None, :] != np.arange(first, last)[:, None]).astype(np.int32))
    return scores


def exceeds(difference: float, jackknife: Sequence[FloatArray], bound: float, min_p: float = 0.0) -> float:
    """p-value of the hypothesis that the true difference is at most the bound; NaN if undefined."""
    if np.isnan(difference) or any(np.isnan(d).any() or len(d) < 2 for d in jackknife):
        return float("nan")
    error = float(np.sqrt(sum(map(_jackknife_variance, jackknife))))
    if not error > 1e-12 * max(abs(difference), abs(bound)):
        return min_p if difference > bound else 1.0
    return float(stdtr(min(map(len, jackknife)) - 1, -(difference - bound) / error))


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
        return float(2 * stdtr(n - 3, -abs(t)))
    return float(stdtr(n - 3, -t if tail == "greater" else t))


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
    reach = ndtri((1 + confidence) / 2) / np.sqrt(n - 3)
    with np.errstate(divide="ignore"):
        middle = np.arctanh(correlation)
    return float(np.tanh(middle - reach)), float(np.tanh(middle + reach))


def heavy_tails(values: FloatArray) -> float:
    """Excess kurtosis of (n,) values if it is above 2 and three normal standard errors, else 0."""
    if len(values) < 4 or np.ptp(values) == 0:
        return 0.0
    from scipy.stats import kurtosis  # slow to load

    deviations = power_of_two_scaled(values - values.mean())[0]
    excess = float(kurtosis(deviations))
    return excess if excess > max(_HEAVY, _STANDARD_ERRORS * np.sqrt(24 / len(values))) else 0.0
