"""The share of comparisons won, ties in the denominator."""

from typing import ClassVar

from features.basics.array_types import FloatArray
from qe_human.ranking_method import ScoreMethod
from qe_human.rankings._opponents import losses, share


class WinsOfAll(ScoreMethod):
    """W / (W + T + L) over all opponents (Lopez 2012, Eq. 2, "heuristic 2"). NaN for a system without
    comparisons.

    >>> import numpy as np
    >>> WinsOfAll().scores(np.array([[0, 2], [1, 0]]), np.array([[0, 1], [1, 0]])).tolist()
    [0.5, 0.25]
    """

    unit: ClassVar[str] = "share of comparisons won"

    def scores(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        won = wins.sum(axis=-1)
        return share(won, (wins + ties + losses(wins)).sum(axis=-1))
