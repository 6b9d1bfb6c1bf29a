"""Expected net wins: wins minus losses against an opponent drawn at random."""

from typing import ClassVar

from features.basics.array_types import FloatArray
from qe_human.ranking_method import ScoreMethod
from qe_human.rankings._opponents import losses, mean_over_opponents


class ExpectedNetWins(ScoreMethod):
    """Mean over opponents of (W - L) / (W + T + L), from -1 to 1. Opponents never met are left out; NaN for
    a system without any other.

    >>> import numpy as np
    >>> ExpectedNetWins().scores(np.array([[0, 2], [1, 0]]), np.array([[0, 1], [1, 0]])).tolist()
    [0.25, -0.25]
    """

    unit: ClassVar[str] = "expected net share of wins"

    def scores(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        lost = losses(wins)
        return mean_over_opponents(wins - lost, wins + ties + lost)
