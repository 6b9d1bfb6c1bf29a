"""The order that violates the least net share of wins."""

import numpy as np

from features.basics.array_types import FloatArray
from qe_human.ranking_method import PreferenceMethod
from qe_human.rankings._opponents import losses


class FeedbackArcSetNetWins(PreferenceMethod):
    """Least total of 2 (W - L) / (W + T + L) over pairs ranked against the majority, exactly. Every pair of
    systems weighs the same, however often it was judged. Source: `mfas_max_net_wins` of the scripts that
    accompany Lopez 2012.
    """

    def preferences(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        lost = losses(wins)
        judged = wins + ties + lost
        net = 2 * np.maximum(wins - lost, 0).astype(np.float64)
        return np.divide(net, judged, out=np.zeros(judged.shape), where=judged > 0)
