"""TrueSkill: skills as normal distributions, learned from all judgements together."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np
from scipy.special import ndtri

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.threads import apply_to_each, even_ranges
from qe_human.ranking_method import ScoreMethod

_CONVERGED = 1e-6  # largest change of a mean, on the scale of `mean`, or of a precision, relative
_SWEEPS = 300  # with one damping; WMT data take about 15
_ROOT_2 = math.sqrt(2.0)
_ROOT_2_PI = math.sqrt(2.0 * math.pi)
_TINY = 1e-300


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
    state[:, 0] = prior
    state[:, 1] = mean * prior
    messages = np.zeros((k, k, 2, 2, 2))
    step = 0.7
    while step > 0.01:
        for _ in range(_SWEEPS):
            change = _sweep(wins, ties, spread, margin, step, state, messages)
            _centre(wins, ties, mean, prior, state, messages)
            if change < _CONVERGED * step:
                result[:, 0] = state[:, 1] / state[:, 0]
                result[:, 1] = 1 / np.sqrt(state[:, 0])
                return
        step /= 2
    result[:] = np.nan
