"""One rank correlation: how sure it is, alone and with a third quantity held constant."""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from scipy import stats

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.statistics.bootstrap import bootstrap_rescored
from qe.statistics.draws import below, stream, word
from qe.statistics.intervals import percentile_interval
from qe.statistics.metrics.ranks import Spearman
from qe.statistics.result import CountArray, check_samples, p_value, rounding


@dataclass(frozen=True)
class Association:
    """A rank correlation of two quantities.

    Attributes
    ----------
    rho : float
        Spearman's, or partial Spearman's, -1 .. 1; NaN if a side is constant.
    ci : pair of float and float
        Percentile bootstrap interval; NaN if rho is undefined in a resample.
    p : float
        Two-sided, by permutation; NaN if rho is.
    n : int
        Observations.
    """

    rho: float
    ci: tuple[float, float]
    p: float
    n: int


def spearman_association(
    x: FloatArray,
    y: FloatArray,
    control: FloatArray | None = None,
    *,
    samples: int = 1000,
    permutations: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Association:
    """Spearman's correlation of x and y (n,), or the partial one. The latter holds the ranks of `control`
    (n,) constant. Raises InputError for columns that differ in length or are not finite.

    Source of the permutation with a control: Kennedy 1995, "Randomization tests in econometrics".

    Parameters
    ----------
    samples : int, default=1000
        Bootstrap samples of observations for the interval.
    permutations : int, default=10000
        Of y against x for the p-value; with a control, of what its ranks leave of those of y.

    Examples
    --------
    >>> association = spearman_association(np.arange(8.0), np.arange(8.0) ** 2)
    >>> association.rho, association.p < 0.001
    (1.0, True)
    """
    check_samples(samples)
    check_samples(permutations)
    columns = [np.asarray(c, np.float64) for c in (x, y, control) if c is not None]
    if len({c.shape for c in columns}) > 1 or not all(np.isfinite(c).all() for c in columns):
        raise InputError("the columns of a correlation must be finite and of equal length")
    n = len(columns[0])

    def rescore(counts: CountArray) -> FloatArray:
        return _rho(columns, counts)

    rho = float(rescore(np.ones((1, n), np.int32))[0])
    if np.isnan(rho):
        return Association(rho, (np.nan, np.nan), np.nan, n)
    drawn = bootstrap_rescored(rescore, n, samples=samples, seed=seed)
    null = _permuted(*_residuals(columns), permutations, seed)
    p = p_value(null, rho, "two-sided", exact=False, tolerance=rounding(null, rho))
    return Association(rho, percentile_interval(drawn, confidence), p, n)


def _rho(columns: list[FloatArray], counts: CountArray) -> FloatArray:
    spearman = Spearman().resample
    xy = spearman(columns[0], columns[1], counts)
    if len(columns) == 2:
        return xy
    xz, yz = (spearman(column, columns[2], counts) for column in columns[:2])
    with np.errstate(divide="ignore", invalid="ignore"):
        partial = (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))
    return np.asarray(np.where(np.isfinite(partial), partial, np.nan))


def _residuals(columns: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    ranks = [stats.rankdata(column) for column in columns]
    ranks = [column - column.mean() for column in ranks]
    if len(ranks) == 3:
        control = ranks[2]
        ranks = [column - control * (column @ control) / (control @ control) for column in ranks[:2]]
    x, y = (column / np.sqrt(column @ column) for column in ranks)
    return x, y


def _permuted(x: FloatArray, y: FloatArray, permutations: int, seed: int) -> FloatArray:
    null = np.empty(permutations)
    _shuffle_products(x, y, seed, null)
    return null


@numba.njit(cache=True, nogil=True)
def _shuffle_products(x: Any, y: Any, seed: int, result: Any) -> None:
    for s in range(len(result)):
        key = stream(seed, s)
        shuffled = y.copy()
        total = 0.0
        for i in range(len(y) - 1, -1, -1):
            j = below(word(key, i), i + 1)
            shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
            total += x[i] * shuffled[i]
        result[s] = total
