"""Random draws that are the same on every machine, and the units (segments, documents) that are drawn."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.statistics.result import GROUP, Reach

CountArray = NDArray[np.int32]

BLOCK_BYTES = 1 << 26  # bound of the counts or coins that are held at a time
_BLOCK = 1000  # samples
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 2.0**-52
_HALF = np.uint64(0xFFFFFFFF)
_MIN_POISSON_ROWS = 64  # fewer rows are drawn one by one
_CUTS = 24
_UNROLLED = 8  # comparisons that compilers vectorise
_CHOICES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(float)
_EIGHTS = 32  # of rows whose sums are held at a time: a multiple of 8, the bytes of a random word
_SPREAD = 3.0  # standard deviations that the Poisson sum stays below n


@numba.njit(cache=True, nogil=True)
def mix(x: Any) -> Any:
    """The SplitMix64 finalizer: a bijection of 64-bit integers."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@numba.njit(cache=True, nogil=True)
def stream(seed: int, sample: int) -> Any:
    return mix(mix(np.uint64(seed) + _GOLDEN) + np.uint64(sample) * _GOLDEN)


@numba.njit(cache=True, nogil=True)
def word(key: Any, position: int) -> Any:
    return mix(key + np.uint64(position + 1) * _GOLDEN)


@numba.njit(cache=True, nogil=True)
def below(bits: Any, size: int) -> int:
    """A uniform integer 0 .. size - 1 from 64 random bits."""
    # 52 bits: the product cannot round up to `size`.
    return int(float(bits >> np.uint64(12)) * (size * _TO_UNIT))


def independent_seed(seed: int, stream_number: int) -> int:
    """A seed for another stream of draws; stream 0 is the seed itself."""
    if stream_number == 0:
        return seed
    return int(np.random.SeedSequence([seed, stream_number]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def sample_blocks(samples: int, bytes_each: int, max_block: int = _BLOCK) -> Iterator[tuple[int, int]]:
    """Ranges of samples that take bounded memory; `bytes_each` is the size of one sample's draws."""
    block = max(1, min(max_block, BLOCK_BYTES // max(1, bytes_each)))
    return ((first, min(first + block, samples)) for first in range(0, samples, block))


def bootstrap_counts(rows: int, seed: int, first: int, last: int) -> CountArray:
    """(last - first, rows): how often each row is drawn in samples first .. last - 1.

    Counts of a bootstrap sample are multinomial. Independent Poisson counts with a mean just below 1, topped
    up to n by single draws (or, rarely, with surplus draws taken away), have the same distribution: given
    their sum, Poisson counts are multinomial. One random word serves two rows.
    """
    counts = np.zeros((last - first, rows), np.int32)
    mean = 1.0 - _SPREAD / np.sqrt(max(rows, _MIN_POISSON_ROWS))
    cuts = np.minimum(np.round(pdtr(np.arange(_CUTS), mean) * 2.0**32), 2.0**32)
    _bootstrap_counts(cuts.astype(np.uint64), seed, first, counts)
    return counts


def bootstrap_sums(statistics: FloatArray, samples: int, seed: int) -> FloatArray:
    """(samples, k): sums of the (n, k) statistics over virtual test sets of n rows."""
    blocks = sample_blocks(samples, 8 * len(statistics))
    return np.concatenate([
        bootstrap_counts(len(statistics), seed, first, last) @ statistics for first, last in blocks
    ])  # fmt: skip


def coin_sums(differences: FloatArray, samples: int, seed: int) -> FloatArray:
    """(samples, k): per shuffle, the sum of the rows of (n, k) differences that are swapped."""
    n, k = differences.shape
    eights = np.zeros((-(-n // 8), 8, k))
    eights.reshape(-1, k)[:n] = differences
    sums = np.zeros((samples, k))
    for first in range(0, len(eights), _EIGHTS):
        _add_swapped(_CHOICES @ eights[first : first + _EIGHTS], first, seed, sums)
    return sums


def every_choice(choices: FloatArray) -> FloatArray:
    """(c ** n, k): the sums of all ways to take one of c alternatives in each row of (n, c, k)."""
    sums = np.zeros((1, choices.shape[2]))
    for alternatives in choices:
        sums = (sums[:, None, :] + alternatives[None, :, :]).reshape(-1, choices.shape[2])
    return sums


@numba.njit(cache=True, nogil=True)
def _add_swapped(choices: Any, first: int, seed: int, sums: Any) -> None:
    """Adds one of the 256 sums (m, 256, k) of each eight rows to each shuffle, by bits as in `coin_rows`."""
    bits = np.uint64(0)
    for s in range(len(sums)):
        key = stream(seed, s)
        for i in range(len(choices)):
            if i % 8 == 0:
                bits = word(key, (first + i) // 8)
            chosen = (bits >> np.uint64(8 * (i % 8))) & np.uint64(255)
            for c in range(sums.shape[1]):
                sums[s, c] += choices[i, chosen, c]


@numba.njit(cache=True, nogil=True)
def _bootstrap_counts(cuts: Any, seed: int, first: int, counts: Any) -> None:
    for s in range(len(counts)):
        key = stream(seed, first + s)
        if counts.shape[1] < _MIN_POISSON_ROWS:
            for i in range(counts.shape[1]):
                counts[s, below(word(key, i), counts.shape[1])] += 1
        else:
            _poisson_counts(key, cuts, counts[s])


@numba.njit(cache=True, nogil=True)
def _poisson_counts(key: Any, cuts: Any, counts: Any) -> None:
    rows, total = len(counts), 0
    for pair in range((rows + 1) // 2):
        bits = word(key, pair)
        counts[2 * pair] = _poisson_count(bits & _HALF, cuts)
        total += counts[2 * pair]
        if 2 * pair + 1 < rows:
            counts[2 * pair + 1] = _poisson_count(bits >> np.uint64(32), cuts)
            total += counts[2 * pair + 1]
    for i in range(abs(rows - total)):
        bits = word(key, rows + i)
        if total < rows:
            counts[below(bits, rows)] += 1
        else:
            counts[_row_of_draw(counts, below(bits, total - i))] -= 1


@numba.njit(cache=True, nogil=True)
def _poisson_count(uniform: Any, cuts: Any) -> Any:
    count = np.int64(0)
    for k in range(_UNROLLED):
        count += np.int64(uniform >= cuts[k])
    if count == _UNROLLED:
        while count < len(cuts) and uniform >= cuts[count]:
            count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _row_of_draw(counts: Any, number: int) -> int:
    for row in range(len(counts)):
        number -= counts[row]
        if number < 0:
            return row
    return len(counts) - 1


@numba.njit(cache=True, nogil=True)
def coin_rows(units: int, seed: int, first: int, last: int) -> Any:
    """(units, last - first): the swap mask of each unit in samples first .. last - 1."""
    samples = last - first
    swapped, words = np.empty((units, samples), np.bool_), np.empty(samples, np.uint64)
    for i in range(units):
        if i % 64 == 0:
            for s in range(samples):
                words[s] = word(stream(seed, first + s), i // 64)
        shift = np.uint64(i % 64)
        for s in range(samples):
            swapped[i, s] = (words[s] >> shift) & np.uint64(1) == np.uint64(1)
    return swapped


@numba.njit(cache=True, nogil=True)
def part_sums(pool: Any, take: int, samples: int, seed: int) -> Any:
    """(samples, k): per shuffle, the sum of `take` of the h hypotheses per segment of (n, h, k)."""
    n, hypotheses, k = pool.shape
    sums = np.zeros((samples, k))
    for s in range(samples):
        key = stream(seed, s)
        for i in range(n):
            needed = take
            for j in range(hypotheses):
                if needed == 0:
                    break
                if below(word(key, i * hypotheses + j), hypotheses - j) < needed:
                    needed -= 1
                    for c in range(k):
                        sums[s, c] += pool[i, j, c]
    return sums


@numba.njit(cache=True, nogil=True)
def _permute(key: Any, unit: int, order: Any) -> None:
    systems = len(order)
    for j in range(systems):
        order[j] = j
    for j in range(systems - 1, 0, -1):
        drawn = below(word(key, unit * systems + j), j + 1)
        order[j], order[drawn] = order[drawn], order[j]


@numba.njit(cache=True, nogil=True)
def permutations(units: int, systems: int, seed: int, first: int, last: int) -> Any:
    """(last - first, units, systems): the system that each pseudo-system gets, unit by unit."""
    permuted = np.empty((last - first, units, systems), np.int64)
    for s in range(last - first):
        key = stream(seed, first + s)
        for i in range(units):
            _permute(key, i, permuted[s, i])
    return permuted


@numba.njit(cache=True, nogil=True)
def permuted_sums(statistics: Any, samples: int, seed: int) -> Any:
    """(samples, m, k): sums of m pseudo-systems, to which the rows of (n, m, k) are permuted."""
    n, systems, k = statistics.shape
    sums, order = np.zeros((samples, systems, k)), np.empty(systems, np.int64)
    for s in range(samples):
        key = stream(seed, s)
        for i in range(n):
            _permute(key, i, order)
            for j in range(systems):
                for c in range(k):
                    sums[s, j, c] += statistics[i, order[j], c]
    return sums


Groups = Sequence[Any] | NDArray[Any]
_MISSING = ("None", "nan", "<NA>", "NaT")  # values of Python, NumPy and pandas that stand for no group


def group_index(groups: Groups, segments: int) -> tuple[NDArray[np.int64], int]:
    """(n,) group number of each segment, in order of first appearance; the number of groups."""
    if len(groups) != segments:
        raise InputError(f"{segments} segments, but {len(groups)} groups")
    numbers: dict[Any, int] = {}
    index = np.fromiter((numbers.setdefault(g, len(numbers)) for g in groups), np.int64, segments)
    for group, number in numbers.items():
        if not isinstance(group, str) and str(group) in _MISSING:
            row = int(np.argmax(index == number))
            raise InputError(f"the group of row {row} is {group}", remedy="give each segment a group")
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
