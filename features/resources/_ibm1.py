"""IBM Model 1: textbook EM over a sparse table, side by side; word pairs of both directions."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import offsets_of
from features.basics.threads import apply_to_each
from features.resources._hmm import WordPairs

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# Fixed: denominators are added up in two parts, whatever the machine, each of every second range of rows.
_PARTS = 2
_RANGES = 32


class SparseTable(NamedTuple):
    """t(word|given) in rows of `given`: entries offsets[g] .. offsets[g + 1], columns rising."""

    offsets: Longs
    columns: Ints
    values: Floats

    def pruned(self, minimum: float) -> "SparseTable":
        kept = self.values >= minimum
        before = offsets_of(kept)
        return SparseTable(before[self.offsets], self.columns[kept], self.values[kept])


class Encoded(NamedTuple):
    ids: Ints
    offsets: Longs
    size: int


class _Postings(NamedTuple):
    offsets: Longs  # of the words, the NULL word among them
    sentences: Ints  # that have each word, as often as they have it


def train(
    given_words: Encoded, words: Encoded, null: int, iterations: int, report: Callable[[int], None]
) -> tuple[SparseTable, list[float]]:
    """t(word|given word or NULL) by EM from a uniform start; log-likelihoods after 0, 1, ... iterations.

    `null` is the row of the NULL word. A log-likelihood is the natural logarithm of prod_j 1 / (l + 1)
    sum_i t(w_j | g_i), summed over sentences (Brown et al. 1993, section 4.1).
    """
    postings = _postings(given_words, null)
    lengths = np.diff(words.offsets)
    ranges = _balanced(postings, lengths)
    table = _empty_table(postings, words, ranges)
    alignments = np.repeat(np.diff(given_words.offsets) + 1, lengths).astype(np.float64)
    words_there = len(np.unique(words.ids))
    denominators = alignments / words_there
    table.values[:] = 1.0 / words_there
    likelihoods = [float(np.log(denominators / alignments).sum())]
    for iteration in range(iterations):
        denominators = _iterate(table, postings, words, 1.0 / denominators, ranges)
        likelihoods.append(float(np.log(denominators / alignments).sum()))
        report(iteration + 1)
    return table, likelihoods


def _postings(given_words: Encoded, null: int) -> _Postings:
    n = len(given_words.offsets) - 1
    counts = np.bincount(given_words.ids, minlength=given_words.size)
    counts[null] += n
    offsets = offsets_of(counts)
    sentences = np.empty(offsets[-1], np.int32)
    _fill_postings(given_words, offsets[:-1].copy(), sentences, null)
    return _Postings(offsets, sentences)


@numba.njit(cache=True)
def _fill_postings(text: Any, free: Any, sentences: Any, null: int) -> None:
    ids, offsets, _ = text
    for k in range(len(offsets) - 1):
        sentences[free[null]] = k
        free[null] += 1
        for i in range(offsets[k], offsets[k + 1]):
            sentences[free[ids[i]]] = k
            free[ids[i]] += 1


def _balanced(postings: _Postings, lengths: Longs) -> list[tuple[int, int]]:
    work = offsets_of(lengths[postings.sentences])[postings.offsets]
    cuts = np.searchsorted(work, np.linspace(0, work[-1], _RANGES + 1)[1:-1])
    edges = [0, *cuts.tolist(), len(postings.offsets) - 1]
    return list(pairwise(edges))


def _empty_table(postings: _Postings, words: Encoded, ranges: list[tuple[int, int]]) -> SparseTable:
    sizes = np.zeros(len(postings.offsets) - 1, np.int64)
    apply_to_each(lambda rows: _count_row_sizes(rows, postings, words, sizes), ranges)
    offsets = offsets_of(sizes)
    columns = np.empty(offsets[-1], np.int32)
    apply_to_each(lambda rows: _fill_rows(rows, postings, words, offsets, columns), ranges)
    return SparseTable(offsets, columns, np.empty(offsets[-1], np.float64))


# Slices and unsigned words in the kernels: an index that might be negative is checked in every cell.


@numba.njit(cache=True, nogil=True)
def _count_row_sizes(rows: Any, postings: Any, words: Any, sizes: Any) -> None:
    ids, offsets, size = words
    stamp = np.full(size, -1, np.int32)
    for row in range(rows[0], rows[1]):
        pairs = 0
        for p in range(postings.offsets[row], postings.offsets[row + 1]):
            for word in ids[offsets[postings.sentences[p]] : offsets[postings.sentences[p] + 1]]:
                if stamp[np.uint32(word)] != row:
                    stamp[np.uint32(word)] = row
                    pairs += 1
        sizes[row] = pairs


@numba.njit(cache=True, nogil=True)
def _fill_rows(rows: Any, postings: Any, words: Any, starts: Any, columns: Any) -> None:
    ids, offsets, size = words
    stamp = np.full(size, -1, np.int32)
    for row in range(rows[0], rows[1]):
        free = starts[row]
        for p in range(postings.offsets[row], postings.offsets[row + 1]):
            for word in ids[offsets[postings.sentences[p]] : offsets[postings.sentences[p] + 1]]:
                if stamp[np.uint32(word)] != row:
                    stamp[np.uint32(word)] = row
                    columns[free] = word
                    free += 1
        columns[starts[row] : free].sort()


def _iterate(
    table: SparseTable,
    postings: _Postings,
    words: Encoded,
    reciprocals: Floats,
    ranges: list[tuple[int, int]],
) -> Floats:
    def update(part: int) -> Floats:
        denominators = np.zeros(len(reciprocals))
        for rows in ranges[part::_PARTS]:
            _update_rows(rows, postings, words, table, reciprocals, denominators)
        return denominators

    with ThreadPoolExecutor(_PARTS) as pool:
        parts = list(pool.map(update, range(_PARTS)))
    return np.asarray(sum(parts[1:], start=parts[0]), np.float64)


@numba.njit(cache=True, nogil=True)
def _update_rows(
    rows: Any, postings: Any, words: Any, table: Any, reciprocals: Any, denominators: Any
) -> None:
    ids, offsets, size = words
    starts, columns, values = table
    dense = np.zeros(size, np.float64)
    for row in range(rows[0], rows[1]):
        for p in range(postings.offsets[row], postings.offsets[row + 1]):
            k = postings.sentences[p]
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
        for p in range(postings.offsets[row], postings.offsets[row + 1]):
            k = postings.sentences[p]
            here, sums = ids[offsets[k] : offsets[k + 1]], denominators[offsets[k] : offsets[k + 1]]
            for j in range(len(here)):
                sums[j] += dense[np.uint32(here[j])]
        for e in range(starts[row], starts[row + 1]):
            dense[columns[e]] = 0.0


@dataclass(frozen=True, eq=False)
class PairTable:
    """Sparse rows of source words, columns (target words) ascending.

    forward / backward            (entries,) t(target | source), t(source | target)
    forward_null / backward_null  (vocabulary,) t(target | NULL), t(source | NULL)
    """

    offsets: Longs
    columns: Ints
    forward: Singles
    backward: Singles
    forward_null: Singles
    backward_null: Singles

    @property
    def emissions(self) -> WordPairs:
        return WordPairs(self.forward, self.backward, self.forward_null, self.backward_null)

    @property
    def rows(self) -> Ints:
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))

    def filtered(self, keep: NDArray[np.bool_]) -> "PairTable":
        before = offsets_of(keep)
        entries = {name: getattr(self, name)[keep] for name in ("columns", "forward", "backward")}
        return replace(self, offsets=before[self.offsets], **entries)

    def cells(self, source: Encoded, target: Encoded) -> tuple[Ints, Longs]:
        """Entry numbers (-1: absent from the table) of (l, m) word pairs, row by row; their offsets."""
        sizes = np.diff(source.offsets) * np.diff(target.offsets)
        offsets = offsets_of(sizes)
        cells = np.empty(offsets[-1], np.int32)
        order = np.argsort(source.ids, kind="stable")
        sentence = np.repeat(np.arange(len(sizes)), np.diff(source.offsets))
        dense = np.full(len(self.forward_null), -1, np.int32)
        _fill_cells(order, sentence, source, target, self.offsets, self.columns, dense, offsets, cells)
        return cells, offsets


@numba.njit(cache=True, nogil=True)
def _fill_cells(
    order: Any, sentence: Any, source: Any, target: Any, rows: Any, columns: Any, dense: Any, offsets: Any,
    cells: Any,
) -> None:  # fmt: skip
    row = -1
    for token in order:
        if source.ids[token] != row:
            if row >= 0:
                for e in range(rows[row], rows[row + 1]):
                    dense[columns[e]] = -1
            row = source.ids[token]
            for e in range(rows[row], rows[row + 1]):
                dense[columns[e]] = e
        k = sentence[token]
        m = target.offsets[k + 1] - target.offsets[k]
        base = offsets[k] + (token - source.offsets[k]) * m
        for j in range(m):
            cells[base + j] = dense[target.ids[target.offsets[k] + j]]
