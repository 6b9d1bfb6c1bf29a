"""Dice: cheap scalar draws from a numpy Generator."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypeVar

import numpy as np

T = TypeVar("T")
_BLOCK = 8192


class Dice:
    """Draws one number at a time from blocks of uniform numbers.

    A scalar call of a Generator takes microseconds, and a corpus needs a million of them; only uniform
    numbers are drawn, whose stream numpy keeps stable for a given bit generator.

    >>> one, two = Dice(np.random.SeedSequence(1)), Dice(np.random.SeedSequence(1))
    >>> one.pick("abc") == two.pick("abc"), 0 <= one.uniform() < 1
    (True, True)
    """

    def __init__(self, seed: np.random.SeedSequence) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._numbers = chain.from_iterable(self._blocks())

    def _blocks(self) -> Iterator[list[float]]:
        while True:
            yield self._generator.random(_BLOCK).tolist()

    def uniform(self) -> float:
        """A number in [0, 1)."""
        return next(self._numbers)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return next(self._numbers) < probability

    def below(self, n: int) -> int:
        """An integer in 0 .. n - 1."""
        return int(next(self._numbers) * n)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, all equally likely."""
        return options[int(next(self._numbers) * len(options))]

    def from_cumulative(self, cumulative: Sequence[float]) -> int:
        """An index drawn from cumulative probabilities that end at 1."""
        return min(bisect_right(cumulative, next(self._numbers)), len(cumulative) - 1)

    def normal(self) -> float:
        """A standard normal number, as the sum of 12 uniform ones minus 6 (tails end at 6)."""
        numbers = self._numbers
        return sum([next(numbers) for _ in range(12)]) - 6.0
