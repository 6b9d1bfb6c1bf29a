"""Ranking accuracy: how well a ranking tells the better half from the worse."""

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from qe.statistics.metric import RankedMetric
from qe.statistics.metrics._ranks import tie_groups


class RankingAccuracy(RankedMetric):
    """rAcc[2]: share of elements ranked into their true half, 0 .. 1; .5 for a guess.

    The better half holds n // 2 elements; equal values at the border belong to it in part, so that the score
    is the expected one if ties are broken at random. NaN for fewer than 2 elements.

    Source: Soricut and Narsale 2012, section 3.3.

    >>> RankingAccuracy().score(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4]))
    0.5
    """

    title = "rAcc[2]"
    help = "share that is put into its true half"
    kind = "ranking"
    higher_is_better = True

    def resample(self, gold: FloatArray, predicted: FloatArray, counts: NDArray[np.int32]) -> FloatArray:
        true, told = _better_half(gold, counts), _better_half(predicted, counts)
        agreed = (counts * (true * told + (1.0 - true) * (1.0 - told))).sum(axis=1)
        total = counts.sum(axis=1)
        return np.where(total < 2, np.nan, agreed / np.maximum(total, 1))


def _better_half(values: FloatArray, counts: NDArray[np.int32]) -> FloatArray:
    groups, count = tie_groups(values)
    sizes = np.zeros((count, len(counts)))
    np.add.at(sizes, groups, counts.T)
    sizes = sizes.T
    above = sizes[:, ::-1].cumsum(axis=1)[:, ::-1] - sizes
    room = counts.sum(axis=1)[:, None] // 2 - above
    shares: FloatArray = np.clip(room / np.maximum(sizes, 1.0), 0.0, 1.0)[:, groups]
    return shares
