"""Pairwise counts: how often each system was judged better than, or equal to, another."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from features.basics.array_types import IntArray


@dataclass(frozen=True, eq=False)
class PairwiseCounts:
    """Counts of one language pair.

    systems  k names
    wins     (k, k): [a, b] is how often a was judged better than b
    ties     (k, k): how often they were judged equal; symmetric
    """

    systems: tuple[str, ...]
    wins: IntArray
    ties: IntArray

    @property
    def judged(self) -> IntArray:
        """(k, k) how often a and b were compared; symmetric."""
        return self.wins + self.wins.T + self.ties

    @property
    def decided(self) -> IntArray:
        """(k,) how often each system was judged better or worse than another, ties aside."""
        return np.asarray(self.wins.sum(axis=0) + self.wins.sum(axis=1))

    @property
    def total(self) -> int:
        """The number of pairwise judgements."""
        return int(self.wins.sum() + self.ties.sum() // 2)

    @property
    def margins(self) -> IntArray:
        """(k, k) the preference for a over b: wins minus losses if there are more wins, else 0."""
        return np.asarray(np.maximum(self.wins - self.wins.T, 0))

    def select(self, systems: Sequence[int]) -> "PairwiseCounts":
        """The counts among some systems, by index."""
        index = np.asarray(systems, np.int64)
        cells = np.ix_(index, index)
        names = tuple(self.systems[i] for i in systems)
        return PairwiseCounts(names, self.wins[cells], self.ties[cells])

    def drop(self, name: str) -> "PairwiseCounts":
        """The counts without a system, if it is there at all."""
        return self.select([i for i, system in enumerate(self.systems) if system != name])
