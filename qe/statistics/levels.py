"""Units of resampling: segments, or groups of segments (documents, annotators) of one or several kinds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.statistics.draws import CountArray, bootstrap_counts, bootstrap_sums, independent_seed, sample_blocks
from qe.statistics.result import GROUP, Reach

Groups = Sequence[Any] | NDArray[Any]


def group_index(groups: Groups, segments: int) -> tuple[NDArray[np.int64], int]:
    """(n,) group number of each segment, in order of first appearance; the number of groups."""
    if len(groups) != segments:
        raise InputError(f"{segments} segments, but {len(groups)} groups")
    numbers: dict[Any, int] = {}
    index = np.fromiter((numbers.setdefault(g, len(numbers)) for g in groups), np.int64, segments)
    return index, len(numbers)


def group_sums(statistics: FloatArray, groups: Groups | None) -> FloatArray:
    """(runs, n, k) statistics -> (runs, g, k) sums by group; unchanged without groups."""
    if groups is None:
        return statistics
    index, count = group_index(groups, statistics.shape[1])
    sums = np.zeros((statistics.shape[0], count, statistics.shape[2]))
    for run, target in zip(statistics, sums, strict=True):
        np.add.at(target, index, run)
    return sums


@dataclass(frozen=True, eq=False)
class Levels:
    """The units that a claim should generalise to: level -> (n,) unit of each segment; empty: segments."""

    segments: int
    units: Mapping[str, Groups]

    @classmethod
    def from_groups(cls, groups: "Groups | Mapping[str, Groups] | Levels | None", segments: int) -> "Levels":
        """From nothing, one column of groups, or several named ones; each has one unit per segment."""
        if isinstance(groups, Levels):
            return groups
        named = {} if groups is None else groups if isinstance(groups, Mapping) else {GROUP: groups}
        for units in named.values():
            group_index(units, segments)
        return cls(segments, named)

    def part(self, rows: NDArray[np.int64]) -> "Levels":
        return Levels(len(rows), {name: np.asarray(units)[rows] for name, units in self.units.items()})

    def items(self) -> Iterator[tuple[str, Groups | None]]:
        if not self.units:
            yield "segment", None
        yield from self.units.items()

    def sizes(self) -> dict[str, int]:
        return {
            name: self.segments if units is None else group_index(units, self.segments)[1]
            for name, units in self.items()
        }

    @property
    def smallest(self) -> int:
        return min(self.sizes().values())

    @property
    def reach(self) -> Reach:
        """What the level with the fewest units can show, where every unit counts."""
        name, size = min(self.sizes().items(), key=lambda item: item[1])
        return Reach(size, name, prefix="there are")

    @property
    def single(self) -> Groups | None:
        """The units of the only level; None for segments. Raises ValueError for several levels."""
        ((_, units),) = self.items()
        return units

    @property
    def crossed(self) -> bool:
        return len(self.units) > 1

    def sums(self, statistics: FloatArray, samples: int, seed: int) -> FloatArray:
        """(samples, k): sums of the (n, k) statistics over virtual test sets."""
        if not self.crossed:
            return bootstrap_sums(group_sums(statistics[None], self.single)[0], samples, seed)
        blocks = sample_blocks(samples, 8 * self.segments, samples)
        return np.concatenate([self.counts(seed, first, last) @ statistics for first, last in blocks])

    def counts(self, seed: int, first: int, last: int) -> CountArray:
        """(last - first, n): how often each segment counts in virtual test sets first .. last - 1.

        With several levels, a segment counts the product of its units' numbers (the pigeonhole bootstrap:
        Owen 2007, conservative for crossed effects).
        """
        product = np.ones((last - first, self.segments), np.int32)
        for place, (_, units) in enumerate(self.items()):
            index, size = (None, self.segments) if units is None else group_index(units, self.segments)
            drawn = bootstrap_counts(size, independent_seed(seed, place), first, last)
            product *= drawn if index is None else drawn[:, index]
        return product
