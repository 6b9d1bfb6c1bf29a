"""Ranking methods that are shares of comparisons, and those of least violated preference."""

from typing import ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from qe_human.ranking_method import RANKINGS, PreferenceMethod, Ranking, ScoreMethod


def mean_over_opponents(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Mean (..., k) over b of numerator[..., a, b] / denominator[..., a, b], without denominators of 0."""
    met = denominator > 0
    ratios = np.divide(numerator, denominator, out=np.zeros(met.shape), where=met)
    return share(ratios.sum(axis=-1), met.sum(axis=-1))


def share(part: FloatArray, totals: FloatArray) -> FloatArray:
    undefined = np.full(np.shape(totals), np.nan)
    return np.asarray(np.divide(part, totals, out=undefined, where=totals > 0))


def losses(wins: FloatArray) -> FloatArray:
    return np.swapaxes(wins, -1, -2)


@RANKINGS.register("bojar")
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


@RANKINGS.register("official")
class Official(ScoreMethod):
    """(W + T) / (W + T + L) over all opponents (Lopez 2012, Eq. 1). The human reference is one of the
    opponents. NaN for a system without comparisons.

    >>> import numpy as np
    >>> Official().scores(np.array([[0, 2], [1, 0]]), np.array([[0, 1], [1, 0]])).tolist()
    [0.75, 0.5]
    """

    counts_reference: ClassVar[bool] = True
    unit: ClassVar[str] = "share of comparisons not lost"

    def scores(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        kept = (wins + ties).sum(axis=-1)
        return share(kept, kept + losses(wins).sum(axis=-1))


@RANKINGS.register("wins_of_all")
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


@RANKINGS.register("expected_wins")
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


@RANKINGS.register("expected_net_wins")
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


@RANKINGS.register("soccer")
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
