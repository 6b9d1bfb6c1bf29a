"""Playoffs, played many times: the mean place of each system."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.statistics.draws import below, stream, word
from qe_human.ranking_method import ScoreMethod
from qe_human.rankings._opponents import losses


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
