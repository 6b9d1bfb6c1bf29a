"""Soccer: a win counts 1, a tie 1/2, against an opponent drawn at random."""

from typing import ClassVar

from features.basics.array_types import FloatArray
from qe_human.ranking_method import ScoreMethod
from qe_human.rankings._opponents import losses, mean_over_opponents


class Soccer(ScoreMethod):
    """Mean over opponents of (W + T/2) / (W + T + L). Opponents never met are left out; NaN for a system
    without any other.

    >>> import numpy as np
    >>> Soccer().scores(np.array([[0, 2], [1, 0]]), np.array([[0, 1], [1, 0]])).tolist()
    [0.625, 0.375]
    """

    unit: ClassVar[str] = "expected points, 1/2 for a tie"

    def scores(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        return mean_over_opponents(wins + ties / 2, wins + ties + losses(wins))
