"""Sign tests: is a system judged better than another more often than chance would have it?"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr

from features.basics.array_types import FloatArray, IntArray
from qe.statistics.family import correct

STARS = ((0.01, "‡"), (0.05, "†"), (0.10, "*"))  # as in the appendix of the findings of WMT 2012


def sign_tests(wins: ArrayLike) -> FloatArray:
    """(..., k, k) two-sided p-values of the exact binomial test, ties left out; symmetric.

    wins  (..., k, k): [a, b] is how often a was judged better than b

    1 for a pair that was never decided; NaN on the diagonal.

    >>> float(sign_tests([[0, 5], [0, 0]])[0, 1])  # 2 / 2 ** 5
    0.0625
    """
    won = np.asarray(wins).astype(np.int64)
    lost = np.swapaxes(won, -1, -2)
    p = np.asarray(np.minimum(1.0, 2 * bdtr(np.minimum(won, lost).astype(np.float64), won + lost, 0.5)))
    p[..., np.eye(p.shape[-1], dtype=bool)] = np.nan
    return p


def corrected(p_values: FloatArray, method: str = "holm") -> FloatArray:
    """(k, k) p-values corrected for all pairs; symmetric, NaN on the diagonal."""
    above = np.triu_indices(len(p_values), 1)
    result = np.full(p_values.shape, np.nan)
    result[above] = correct(p_values[above], method)
    result.T[above] = result[above]
    return result


def winners(wins: ArrayLike, p_values: FloatArray, level: float = 0.10) -> NDArray[np.bool_]:
    """(k,) whether no other system is significantly better, at p <= level.

    Source: findings of WMT 2012, Table 4.
    """
    won = np.asarray(wins)
    beaten = (won < won.T) & (p_values <= level)
    return np.asarray(~beaten.any(axis=1))


def tested_ranks(wins: ArrayLike, p_values: FloatArray, level: float = 0.10) -> IntArray:
    """(k, 2) lowest and highest rank of each system that the tests leave open, 1 for the best. A system
    ranks below those that are significantly better, and above those that are significantly worse.

    >>> p = np.array([[np.nan, 0.01], [0.01, np.nan]])
    >>> tested_ranks([[0, 9], [1, 0]], p).tolist(), tested_ranks([[0, 9], [1, 0]], p, 0.001).tolist()
    ([[1, 1], [2, 2]], [[1, 2], [1, 2]])
    """
    won = np.asarray(wins)
    better = (won > won.T) & (p_values <= level)
    return np.stack([1 + better.sum(axis=0), len(won) - better.sum(axis=1)], axis=-1)


def stars(p: float) -> str:
    """* for p <= .10, † for p <= .05, ‡ for p <= .01, otherwise nothing."""
    return next((mark for level, mark in STARS if p <= level), "")


def stars_legend(mark: str) -> str:
    """What a mark of `stars` means, for the foot of a table; empty for no mark.

    >>> stars_legend("†")
    '†: p <= .05 (sign test)'
    """
    return next(
        (f"{mark}: p <= {level:.2f} (sign test)".replace("0.", ".") for level, own in STARS if own == mark),
        "",
    )
