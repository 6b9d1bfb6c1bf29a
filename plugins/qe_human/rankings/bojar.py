"""The share of decided comparisons that were won: the official score of WMT 2012."""

from typing import ClassVar

from features.basics.array_types import FloatArray
from qe_human.ranking_method import ScoreMethod
from qe_human.rankings._opponents import losses, share


class Bojar(ScoreMethod):
    """W / (W + L) over all opponents (Bojar et al. 2011). Also Lopez 2012, Eq. 3; findings of WMT 2012, Eq.
    4. NaN for a system without a comparison that was decided.

    >>> import numpy as np
    >>> Bojar().scores(np.array([[0, 2], [1, 0]]), np.array([[0, 1], [1, 0]])).round(3).tolist()
    [0.667, 0.333]
    """

    unit: ClassVar[str] = "share of decided comparisons won"

    def scores(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        won = wins.sum(axis=-1)
        return share(won, won + losses(wins).sum(axis=-1))
