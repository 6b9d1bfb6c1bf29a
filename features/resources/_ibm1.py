"""IBM Model 1: textbook EM over a sparse table, chunks of rows side by side."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.threads import apply_to_each

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

# Fixed: denominators are added up in two parts, whatever the machine, each of every second range of rows.
_PARTS = 2
_RANGES = 32


@dataclass(frozen=True, eq=False)
class SparseTable:
    """t(word|given) in rows of `given`: entries offsets[g] .. offsets[g + 1], columns rising."""

    offsets: Longs
    columns: Ints
    values: Floats

    def pruned(self, minimum: float) -> "SparseTable":
        """Without the entries below `minimum`; what is left is not renormalised."""
        kept = self.values >= minimum
        before = np.concatenate(([0], np.cumsum(kept)))
        return SparseTable(before[self.offsets], self.columns[kept], self.values[kept])


@dataclass(frozen=True, eq=False)
class Encoded:
    ids: Ints
    offsets: Longs
    size: int  # of the vocabulary


def train(
    given_words: Encoded, words: Encoded, null: int, iterations: int, report: Callable[[int], None]
) -> tuple[SparseTable, list[float]]:
    """t(word|given word or NULL) by EM from a uniform start, and log-likelihoods. Log-likelihoods are those
    after 0, 1, ... iterations. `null` is the row of the NULL word. A log-likelihood is the natural logarithm
    of prod_j 1 / (l + 1) sum_i t(w_j | g_i), summed over sentences (Brown et al. 1993, section 4.1). A row is
    updated in one pass: its expected counts need only the denominators of the last iteration, so the new row
    is normalised at once and added to the denominators of the next. No cell of the corpus is ever stored,
    only the table itself and two numbers per token.
    """
    postings, sentences = _postings(given_words, null)
    lengths = np.diff(words.offsets)
    ranges = _balanced(postings, sentences, lengths)
    table = _empty_table(postings, sentences, words, ranges)
    alignments = np.repeat(np.diff(given_words.offsets) + 1, lengths).astype(np.float64)
    words_there = len(np.unique(words.ids))
    denominators = alignments / words_there
    table.values[:] = 1.0 / words_there
    likelihoods = [float(np.log(denominators / alignments).sum())]
    for iteration in range(iterations):
        denominators = _iterate(table, postings, sentences, words, 1.0 / denominators, ranges)
        likelihoods.append(float(np.log(denominators / alignments).sum()))
        report(iteration + 1)
    return table, likelihoods


def _postings(given_words: Encoded, null: int) -> tuple[Longs, Ints]:
    n = len(given_words.offsets) - 1
    counts = np.bincount(given_words.ids, minlength=given_words.size)
    counts[null] += n
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    sentences = np.empty(offsets[-1], np.int32)
    _fill_postings(given_words.ids, given_words.offsets, offsets[:-1].copy(), sentences, null)
    return offsets, sentences


@numba.njit(cache=True)
def _fill_postings(ids: Any, offsets: Any, free: Any, sentences: Any, null: int) -> None:
    for k in range(len(offsets) - 1):
        sentences[free[null]] = k
        free[null] += 1
        for i in range(offsets[k], offsets[k + 1]):
            sentences[free[ids[i]]] = k
            free[ids[i]] += 1


def _balanced(postings: Longs, sentences: Ints, lengths: Longs) -> list[tuple[int, int]]:
    work = np.concatenate(([0], np.cumsum(lengths[sentences])))[postings]
    cuts = np.searchsorted(work, np.linspace(0, work[-1], _RANGES + 1)[1:-1])
    edges = [0, *cuts.tolist(), len(postings) - 1]
    return list(pairwise(edges))


def _empty_table(
    postings: Longs, sentences: Ints, words: Encoded, ranges: list[tuple[int, int]]
) -> SparseTable:
    sizes = np.zeros(len(postings) - 1, np.int64)

    def count(rows: tuple[int, int]) -> None:
        _count_row_sizes(*rows, postings, sentences, words.offsets, words.ids, words.size, sizes)

    apply_to_each(count, ranges)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    columns = np.empty(offsets[-1], np.int32)

    def fill(rows: tuple[int, int]) -> None:
        _fill_rows(*rows, postings, sentences, words.offsets, words.ids, words.size, offsets, columns)

    apply_to_each(fill, ranges)
    return SparseTable(offsets, columns, np.empty(offsets[-1], np.float64))


# Slices and unsigned words in the kernels: an index that might be negative is checked in every cell.


@numba.njit(cache=True, nogil=True)
def _count_row_sizes(
    first: int, last: int, postings: Any, sentences: Any, offsets: Any, ids: Any, size: int, sizes: Any
) -> None:
    stamp = np.full(size, -1, np.int32)
    for row in range(first, last):
        pairs = 0
        for p in range(postings[row], postings[row + 1]):
            for word in ids[offsets[sentences[p]] : offsets[sentences[p] + 1]]:
                if stamp[np.uint32(word)] != row:
                    stamp[np.uint32(word)] = row
                    pairs += 1
        sizes[row] = pairs


@numba.njit(cache=True, nogil=True)
def _fill_rows(
    first: int,
    last: int,
    postings: Any,
    sentences: Any,
    offsets: Any,
    ids: Any,
    size: int,
    starts: Any,
    columns: Any,
) -> None:
    stamp = np.full(size, -1, np.int32)
    for row in range(first, last):
        free = starts[row]
        for p in range(postings[row], postings[row + 1]):
            for word in ids[offsets[sentences[p]] : offsets[sentences[p] + 1]]:
                if stamp[np.uint32(word)] != row:
                    stamp[np.uint32(word)] = row
                    columns[free] = word
                    free += 1
        columns[starts[row] : free].sort()


def _iterate(
    table: SparseTable,
    postings: Longs,
    sentences: Ints,
    words: Encoded,
    reciprocals: Floats,
    ranges: list[tuple[int, int]],
) -> Floats:
    def update(part: int) -> Floats:
        denominators = np.zeros(len(reciprocals))
        for rows in ranges[part::_PARTS]:
            _update_rows(
                *rows,
                postings,
                sentences,
                words.offsets,
                words.ids,
                words.size,
                table.offsets,
                table.columns,
                table.values,
                reciprocals,
                denominators,
            )
        return denominators

    with ThreadPoolExecutor(_PARTS) as pool:
        parts = list(pool.map(update, range(_PARTS)))
    return np.asarray(sum(parts[1:], start=parts[0]), np.float64)


@numba.njit(cache=True, nogil=True)
def _update_rows(
    first: int,
    last: int,
    postings: Any,
    sentences: Any,
    offsets: Any,
    ids: Any,
    size: int,
    starts: Any,
    columns: Any,
    values: Any,
    reciprocals: Any,
    denominators: Any,
) -> None:
    dense = np.zeros(size, np.float64)
    for row in range(first, last):
        for p in range(postings[row], postings[row + 1]):
            k = sentences[p]
            here, add = ids[offsets[k] : offsets[k + 1]], reciprocals[offsets[k] : offsets[k + 1]]
            for j in range(len(here)):
                dense[np.uint32(here[j])] += add[j]
        total = 0.0
        for e in range(starts[row], starts[row + 1]):
            values[e] *= dense[np.uint32(columns[e])]
            total += values[e]
        for e in range(starts[row], starts[row + 1]):
            values[e] /= total
            dense[columns[e]] = values[e]
        for p in range(postings[row], postings[row + 1]):
            k = sentences[p]
            here, sums = ids[offsets[k] : offsets[k + 1]], denominators[offsets[k] : offsets[k + 1]]
            for j in range(len(here)):
                sums[j] += dense[np.uint32(here[j])]
        for e in range(starts[row], starts[row + 1]):
            dense[columns[e]] = 0.0
