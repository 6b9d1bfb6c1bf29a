"""Means over the opponents that a system has met."""

import numpy as np

from features.basics.array_types import FloatArray


def mean_over_opponents(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """(..., k) mean over b of numerator[..., a, b] / denominator[..., a, b]. Opponents with denominator 0
    are left out. NaN for a system without such an opponent.
    """
    met = denominator > 0
    ratios = np.divide(numerator, denominator, out=np.zeros(met.shape), where=met)
    return share(ratios.sum(axis=-1), met.sum(axis=-1))


def share(part: FloatArray, totals: FloatArray) -> FloatArray:
    """part / whole, NaN if the whole is 0."""
    undefined = np.full(np.shape(totals), np.nan)
    return np.asarray(np.divide(part, totals, out=undefined, where=totals > 0))


def losses(wins: FloatArray) -> FloatArray:
    """(..., k, k) how often a was judged worse than b."""
    return np.swapaxes(wins, -1, -2)
