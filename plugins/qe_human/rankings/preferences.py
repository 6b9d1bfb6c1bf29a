"""Ranking methods of least violated preference."""

import numpy as np

from features.basics.array_types import FloatArray
from qe_human.ranking_method import RANKINGS, PreferenceMethod, Ranking
from qe_human.rankings.shares import losses


@RANKINGS.register("feedback_arc_set")
class FeedbackArcSet(PreferenceMethod):
    """Least total of W - L over pairs ranked against the majority (Lopez 2012). Also findings of WMT 2012,
    4.4. Exact; the cost is the number of violated preferences.
    """

    def preferences(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        return np.maximum(wins - losses(wins), 0).astype(np.float64)


@RANKINGS.register("feedback_arc_set_net_wins")
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


@RANKINGS.register("most_probable")
class MostProbable(PreferenceMethod):
    """Maximises the sum over pairs ranked a above b of log W(a,b) / (W(a,b) + W(b,a)), exactly.

    A pair never decided plays no part. An order that goes against a one-sided pair (a won all) has
    probability 0; where every order does, the one that goes against the fewest one-sided pairs is taken, and
    and among them the most probable order by the other pairs. The cost is minus the log of the order's
    probability, infinite where that is 0. Source: findings of WMT 2012, 4.5.
    """

    def preferences(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        lost = losses(wins)
        two_sided = (wins > 0) & (lost > 0)
        odds = np.divide(wins, lost, out=np.ones(np.shape(wins)), where=two_sided)
        weights = np.maximum(np.log(odds), 0.0)
        # One violated one-sided pair outweighs all others together.
        certain = 1.0 + weights.sum(axis=(-2, -1), keepdims=True)
        return np.where((wins > 0) & (lost == 0), certain, weights)

    def ranking(self, wins: FloatArray, ties: FloatArray) -> Ranking:
        best = super().ranking(wins, ties)
        won = wins[np.ix_(best.order, best.order)]
        above = np.triu(won + losses(won) > 0)
        chance = np.divide(won, won + losses(won), out=np.ones(np.shape(won)), where=above)
        cost = np.inf if (chance == 0).any() else float(np.log(1 / chance).sum())
        return Ranking(best.order, None, best.unique, cost)
