"""Two correlations with the same gold labels, and the classical paired tests as references."""

import numpy as np
from scipy import stats

from features.core.errors import InputError
from qe.significance.groups import Groups
from qe.significance.randomization import randomization_test
from qe.significance.result import FloatArray, Tail, TestResult, check_tail


def williams_test(
    system: float, baseline: float, between: float, n: int, *, tail: Tail = "two-sided"
) -> TestResult:
    """Whether two dependent correlations differ; t with n - 3 degrees of freedom.

    system, baseline  correlations of the two predictions with the gold labels
    between           correlation of the two predictions with each other
    n                 number of segments

    Undefined (NaN) for fewer than 4 segments and where a correlation is; equal correlations give p = 1
    two-sided. Source: Williams 1959; Steiger 1980, equation 7.

    >>> round(williams_test(0.4, 0.5, 0.1, 103).p, 3)
    0.375
    """
    check_tail(tail)
    if any(abs(r) > 1 + 1e-12 for r in (system, baseline, between)):
        raise InputError(f"correlations must lie in -1 .. 1, but got {system}, {baseline}, {between}")
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


def correlation_randomization(
    gold: FloatArray,
    system: FloatArray,
    baseline: FloatArray,
    *,
    ranks: bool = False,
    samples: int = 10_000,
    seed: int = 0,
    tail: Tail = "two-sided",
    groups: Groups | None = None,
) -> TestResult:
    """Whether two predictions (n,) correlate differently with gold labels (n,), by exchanging predictions.

    Both are standardised first, so that an exchange mixes values of one scale. With `ranks`, labels and
    predictions are replaced by their average ranks: Spearman's correlation. NaN where a side is constant.
    """
    columns = [np.asarray(values, np.float64) for values in (gold, system, baseline)]
    if len({column.shape for column in columns}) > 1:
        raise InputError(f"gold, system and baseline differ in length: {[len(c) for c in columns]}")
    if ranks:
        columns = [stats.rankdata(column) for column in columns]
    x, a, b = (_standardised(column) for column in columns)
    return randomization_test(
        _moments(x, a), _moments(x, b), _correlation,
        samples=samples, seed=seed, tail=tail, groups=groups,
    )  # fmt: skip


def _standardised(values: FloatArray) -> FloatArray:
    deviations = values - values.mean()
    spread = values.std()
    return deviations / spread if spread > 0 else np.zeros_like(values)


def _moments(x: FloatArray, y: FloatArray) -> FloatArray:
    """(n, 5): 1, y, yy, xy, xx; x stays in place, so that its mean is 0."""
    return np.stack([np.ones_like(x), y, y * y, x * y, x * x], axis=1)


def _correlation(sums: FloatArray) -> FloatArray:
    n, y, yy, xy, xx = np.moveaxis(sums, -1, 0)
    variance = yy / n - (y / n) ** 2
    defined = (variance > 1e-12) & (xx > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(defined, (xy / n) / np.sqrt(variance * xx / n), np.nan)


def reference_tests(system: FloatArray, baseline: FloatArray) -> dict[str, float]:
    """Two-sided p of the paired t, Wilcoxon signed-rank and sign tests on per-segment scores (n,).

    For metrics that are means of segment scores. 1 where no segment differs; NaN for the t test of one
    segment.
    """
    differences = np.asarray(system, np.float64) - np.asarray(baseline, np.float64)
    changed = differences[differences != 0]
    if len(changed) == 0:
        return {"paired t": 1.0, "wilcoxon": 1.0, "sign": 1.0}
    with np.errstate(divide="ignore", invalid="ignore"):
        t = differences.mean() / (differences.std(ddof=1) / np.sqrt(len(differences)))
    return {
        "paired t": float(2 * stats.t.sf(abs(t), len(differences) - 1)),
        "wilcoxon": float(stats.wilcoxon(changed).pvalue),
        "sign": float(stats.binomtest(int((changed > 0).sum()), len(changed)).pvalue),
    }
