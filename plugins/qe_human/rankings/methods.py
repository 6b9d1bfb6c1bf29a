"""Ranking methods: by counts of wins, by preferences, by strengths."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np
from scipy.special import ndtri

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.threads import apply_to_each, even_ranges
from qe.statistics.draws import below, stream, word
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


_NEWTON_STEPS = 100  # Newton steps at most; WMT data take about 6
_LONGEST = 2.0  # longest step of a log-strength, so that one-sided tables cannot overshoot
_SMALL_STEP = 1e-10


@RANKINGS.register("bradley_terry")
@dataclass(frozen=True)
class BradleyTerry(ScoreMethod):
    """Strengths s: a beats b with probability s(a) / (s(a) + s(b)) (Bradley and Terry 1952). The strengths
    sum to 1. A tie is half a win for each. NaN for a system without comparisons. Newton's method, all
    tables at once.

    Parameters
    ----------
    prior : float, default=0.01
        Precision of a normal prior on log-strengths, in judgements. It gives an estimate where the
        likelihood alone has none (a system that won all, systems never connected), and is far below the
        weight of real judgements otherwise.
    """

    prior: float = 0.01
    unit: ClassVar[str] = "Bradley-Terry strength"
    rounding: ClassVar[float] = 1e-9

    def __post_init__(self) -> None:
        if not self.prior > 0:
            raise InputError(f"prior must be above 0, but got {self.prior:g}", location="bradley_terry")

    def scores(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        points = np.asarray(wins + ties / 2, np.float64)
        judged = points + losses(points)
        absent = judged.sum(axis=-1) == 0
        logs = np.where(absent, -np.inf, self.log_strengths(points))
        logs -= logs.max(axis=-1, keepdims=True, initial=-1e300)
        strengths = np.exp(logs)
        total = strengths.sum(axis=-1, keepdims=True)
        return np.where(absent, np.nan, strengths / np.where(total > 0, total, 1.0))

    def log_strengths(self, points: FloatArray) -> FloatArray:
        """Log-strengths (..., k) of mean 0 that maximise the penalised likelihood of (..., k, k) points."""
        k = points.shape[-1]
        judged = points + losses(points)
        logs = np.zeros(points.shape[:-1])
        diagonal = np.arange(k)
        for _ in range(_NEWTON_STEPS):
            # np.tanh does not overflow.
            chance = (1 + np.tanh((logs[..., :, None] - logs[..., None, :]) / 2)) / 2
            slope = (points - judged * chance).sum(axis=-1) - self.prior * logs
            curvature = -judged * chance * (1 - chance)
            curvature[..., diagonal, diagonal] -= curvature.sum(axis=-1) - self.prior
            step = np.linalg.solve(curvature, slope[..., None])[..., 0]
            longest = np.abs(step).max(axis=-1, keepdims=True, initial=0.0)
            logs += step * np.minimum(1.0, _LONGEST / np.maximum(longest, _LONGEST))
            if longest.max(initial=0.0) < _SMALL_STEP:
                break
        return logs


_CONVERGED = 1e-6  # largest change of a mean, on the scale of `mean`, or of a precision, relative
_SWEEPS = 300  # with one damping; WMT data take about 15
_ROOT_2 = math.sqrt(2.0)
_ROOT_2_PI = math.sqrt(2.0 * math.pi)
_TINY = 1e-300


@RANKINGS.register("trueskill")
@dataclass(frozen=True)
class TrueSkill(ScoreMethod):
    """Means of the skills under the model of TrueSkill (Herbrich, Minka and Graepel 2007).

    Expectation propagation is run to its fixed point over all judgements, so that their order plays no part
    (as in TrueSkill Through Time, Dangauthier et al. 2008); the usual online algorithm is its first sweep.
    NaN for a system without comparisons.

    Parameters
    ----------
    mean, deviation : float, default=25.0 and 25/3
        The prior of every skill.
    spread : float, default=25.0 / 6
        Standard deviation of one performance about the skill.
    draw : float or None, default=None
        Share of ties among systems of equal skill; None: the share of all judgements.
    """

    mean: float = 25.0
    deviation: float = 25.0 / 3
    spread: float = 25.0 / 6
    draw: float | None = None
    unit: ClassVar[str] = "TrueSkill mean"
    rounding: ClassVar[float] = 1e-6

    def __post_init__(self) -> None:
        for name in ("deviation", "spread"):
            if not getattr(self, name) > 0:
                raise InputError(
                    f"{name} must be above 0, but got {getattr(self, name):g}", location="trueskill"
                )
        if self.draw is not None and not 0 <= self.draw < 1:
            raise InputError(f"0 <= draw < 1 must hold, but got {self.draw:g}", location="trueskill")

    def scores(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        return self.posterior(wins, ties)[0]

    def posterior(self, wins: FloatArray, ties: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(..., k) means and (..., k) standard deviations of the skills."""
        shape = np.shape(wins)
        won = np.ascontiguousarray(wins, np.float64).reshape(-1, *shape[-2:])
        tied = np.ascontiguousarray(ties, np.float64).reshape(-1, *shape[-2:])
        margins = self._margins(won, tied)
        result = np.empty((len(won), shape[-1], 2))

        def solve(first: int, last: int) -> None:
            for i in range(first, last):
                _posterior(won[i], tied[i], self.mean, self.deviation, self.spread, margins[i], result[i])

        apply_to_each(solve, *zip(*even_ranges(np.ones(len(won)), smallest=8), strict=True))
        result[((won + tied).sum(axis=-1) + won.sum(axis=-2)) == 0] = np.nan
        means, deviations = np.moveaxis(result, -1, 0).reshape(2, *shape[:-1])
        return means, deviations

    def _margins(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        tied = ties.sum(axis=(-2, -1)) / 2
        total = wins.sum(axis=(-2, -1)) + tied
        # Ties alone say that all skills are equal, whatever the margin.
        share = np.minimum(tied / np.maximum(total, 1.0), 1 - 1e-9)
        drawn = share if self.draw is None else np.full(len(share), self.draw)
        return np.asarray(ndtri((drawn + 1) / 2) * _ROOT_2 * self.spread)


@numba.njit(cache=True, nogil=True)
def _density(x: float) -> float:
    return math.exp(-x * x / 2) / _ROOT_2_PI


@numba.njit(cache=True, nogil=True)
def _below(x: float) -> float:
    return math.erfc(-x / _ROOT_2) / 2


@numba.njit(cache=True, nogil=True)
def _win(t: float, margin: float) -> tuple[float, float]:
    x = t - margin
    mass = _below(x)
    v = _density(x) / mass if mass > _TINY else -x
    return v, min(max(v * (v + x), 0.0), 1.0)


@numba.njit(cache=True, nogil=True)
def _tie(t: float, margin: float) -> tuple[float, float]:
    size = abs(t)
    high, low = margin - size, -margin - size
    mass = _below(high) - _below(low)
    if mass <= _TINY:
        return (-t, 1.0)
    v = (_density(low) - _density(high)) / mass
    w = v * v + (high * _density(high) - low * _density(low)) / mass
    return (v if t >= 0 else -v), min(max(w, 0.0), 1.0)


@numba.njit(cache=True, nogil=True)
def _move(
    state: Any, system: int, sent: Any, side: int, n: float, step: float, precision: float, pull: float
) -> float:
    before, mean_before = state[system, 0], state[system, 1] / state[system, 0]
    moved, pulled = step * (precision - sent[side, 0]), step * (pull - sent[side, 1])
    sent[side, 0] += moved
    sent[side, 1] += pulled
    state[system, 0] += n * moved
    state[system, 1] += n * pulled
    mean = state[system, 1] / state[system, 0]
    return float(max(abs(mean - mean_before), abs(state[system, 0] / before - 1)))


@numba.njit(cache=True, nogil=True)
def _sweep(
    wins: Any, ties: Any, spread: float, margin: float, step: float, state: Any, messages: Any
) -> float:
    k = len(wins)
    change = 0.0
    for a in range(k):
        for b in range(k):
            for tie in range(2):
                n = ties[a, b] if tie else wins[a, b]
                if n == 0 or a == b or (tie and b < a):
                    continue
                sent = messages[a, b, tie]
                # The skills without one of these judgements (cavities); arrays would be allocated each time.
                cavity_a, cavity_b = state[a, 0] - sent[0, 0], state[b, 0] - sent[1, 0]
                variance_a, variance_b = 1 / cavity_a, 1 / cavity_b
                pull_a, pull_b = state[a, 1] - sent[0, 1], state[b, 1] - sent[1, 1]
                mean_a, mean_b = pull_a * variance_a, pull_b * variance_b
                scale = math.sqrt(variance_a + variance_b + 2 * spread * spread)
                t = (mean_a - mean_b) / scale
                v, w = _tie(t, margin / scale) if tie else _win(t, margin / scale)
                shrink = w / (scale * scale)
                precision_a = 1 / (variance_a * (1 - variance_a * shrink))
                precision_b = 1 / (variance_b * (1 - variance_b * shrink))
                new_a, new_b = mean_a + variance_a * v / scale, mean_b - variance_b * v / scale
                moved = _move(
                    state, a, sent, 0, n, step, precision_a - cavity_a, precision_a * new_a - pull_a
                )
                change = max(change, moved)
                moved = _move(
                    state, b, sent, 1, n, step, precision_b - cavity_b, precision_b * new_b - pull_b
                )
                change = max(change, moved)
    return change


@numba.njit(cache=True, nogil=True)
def _centre(wins: Any, ties: Any, mean: float, prior: float, state: Any, messages: Any) -> None:
    k = len(wins)
    shift = mean - (state[:, 1] / state[:, 0]).mean()
    state[:, 1] = mean * prior
    for a in range(k):
        for b in range(k):
            for tie in range(2):
                n = ties[a, b] if tie else wins[a, b]
                if n == 0 or a == b or (tie and b < a):
                    continue
                for side in range(2):
                    messages[a, b, tie, side, 1] += shift * messages[a, b, tie, side, 0]
                    state[b if side else a, 1] += n * messages[a, b, tie, side, 1]


@numba.njit(cache=True, nogil=True)
def _posterior(
    wins: Any, ties: Any, mean: float, deviation: float, spread: float, margin: float, result: Any
) -> None:
    k = len(wins)
    prior = 1 / (deviation * deviation)
    state = np.empty((k, 2))
    state[:, 0], state[:, 1] = prior, mean * prior
    messages = np.zeros((k, k, 2, 2, 2))
    step = 0.7
    while step > 0.01:
        for _ in range(_SWEEPS):
            change = _sweep(wins, ties, spread, margin, step, state, messages)
            _centre(wins, ties, mean, prior, state, messages)
            if change < _CONVERGED * step:
                for a in range(k):
                    result[a, 0], result[a, 1] = state[a, 1] / state[a, 0], 1 / np.sqrt(state[a, 0])
                return
        step /= 2
    result[:] = np.nan


@RANKINGS.register("monte_carlo_playoffs")
@dataclass(frozen=True)
class MonteCarloPlayoffs(ScoreMethod):
    """Mean place over tournaments with random seeding; 1 is the best.

    Source: findings of WMT 2012, 4.6.

    A match is decided by one judgement drawn from those of its two systems that are no ties; by a coin where
    there is none. In every round the best seed of each group plays the worst, the second best the second
    worst, and so on; winners go on to the upper half of the places, losers to the lower, until every place is
    taken. Byes fill the bracket up to a power of two.

    Parameters
    ----------
    tournaments : int, default=100000
        How many are played; a mean place is then off by about 4 / sqrt(tournaments).
    seed : int, default=0
        Of the seedings and matches.
    """

    tournaments: int = 100_000
    seed: int = 0
    unit: ClassVar[str] = "mean place"
    higher_is_better: ClassVar[bool] = False
    resampled: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.tournaments < 1:
            raise InputError(
                f"tournaments must be at least 1, but got {self.tournaments}", location="monte_carlo_playoffs"
            )

    def scores(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        decided = np.asarray(wins + losses(wins), np.float64)
        chance = np.divide(wins, decided, out=np.full(decided.shape, 0.5), where=decided > 0)
        tables = np.ascontiguousarray(chance).reshape(-1, *chance.shape[-2:])
        places = np.stack([_mean_places(table, self.tournaments, self.seed) for table in tables])
        return places.reshape(chance.shape[:-1])


@numba.njit(cache=True, nogil=True)
def _mean_places(chance: Any, tournaments: int, seed: int) -> Any:
    k = len(chance)
    size = 1
    while size < k:
        size *= 2
    totals = np.zeros(k)
    seeds, after = np.empty(size, np.int64), np.empty(size, np.int64)
    for tournament in range(tournaments):
        key = stream(seed, tournament)
        drawn = _seed(key, k, seeds)
        group = size
        while group > 1:
            for first in range(0, size, group):
                for i in range(group // 2):
                    upper, lower = first + i, first + group - 1 - i
                    a, b = seeds[upper], seeds[lower]
                    wins = b < 0
                    if a >= 0 and b >= 0:
                        # 53 bits: every chance is met to the last digit.
                        wins = (word(key, drawn) >> np.uint64(11)) * 2.0**-53 < chance[a, b]
                        drawn += 1
                    after[upper], after[lower] = (a, b) if wins else (b, a)
            seeds, after = after, seeds
            group //= 2
        place = 0
        for system in seeds:
            if system >= 0:
                place += 1
                totals[system] += place
    return totals / tournaments


@numba.njit(cache=True, nogil=True)
def _seed(key: Any, k: int, seeds: Any) -> int:
    seeds[:] = -1
    for i in range(k):
        seeds[i] = i
    for i in range(k - 1, 0, -1):
        other = below(word(key, i), i + 1)
        seeds[i], seeds[other] = seeds[other], seeds[i]
    return k
