"""Expected wins: the chance to win against an opponent drawn at random."""

from typing import ClassVar

from features.basics.array_types import FloatArray
from qe_human.ranking_method import ScoreMethod
from qe_human.rankings._opponents import losses, mean_over_opponents


class ExpectedWins(ScoreMethod):
    """Mean over opponents of W / (W + L) (findings of WMT 2012, Eq. 10). Opponents without a decided
    comparison are left out; NaN for a system without any other.

    >>> import numpy as np
    >>> wins = np.array([[0, 2, 9], [1, 0, 0], [1, 0, 0]])
    >>> ExpectedWins().scores(wins, np.zeros((3, 3))).round(3).tolist()
    [0.783, 0.333, 0.1]
    """

    unit: ClassVar[str] = "expected share of wins"

    def scores(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        return mean_over_opponents(wins, wins + losses(wins))
