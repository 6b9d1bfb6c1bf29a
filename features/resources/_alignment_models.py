"""IBM Model 1 (textbook EM over a sparse table), and HMM word alignment of a sentence pair both ways.

The HMM is that of Vogel, Ney and Tillmann (1996) with the NULL states of Och and Ney (2003): target word j
comes from source position i with probability p(i | i') t(word_j | word_i), i' being the position of the word
before; a word of NULL keeps i'. p(i | i') = c(i - i') / sum over the positions of the sentence, where c has
one weight per jump up to `WINDOW` and one each for all longer jumps to the left and right.
"""

import math
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
from features.text.tokens import Tokens, Vocabulary

# Jumps up to this width have a weight of their own.
WINDOW = 7
JUMPS = 2 * WINDOW + 3


class WordPairs(NamedTuple):
    forward: NDArray[Any]
    backward: NDArray[Any]
    forward_null: NDArray[Any]
    backward_null: NDArray[Any]


class Shares(NamedTuple):
    """Probability of NULL, and the emissions of pairs that the table lacks: other strings, equal strings."""

    null: float
    floor: float
    identity: float


class Counts(NamedTuple):
    """Expected counts of word pairs, of words of NULL, of jumps and of chances to jump; log-likelihood."""

    pairs: NDArray[np.float64]
    forward_null: NDArray[np.float64]
    backward_null: NDArray[np.float64]
    jumps: NDArray[np.float64]
    chances: NDArray[np.float64]
    likelihood: NDArray[np.float64]


# Kernels fuse multiply-add but never reorder sums: reordered, the last digits of a segment's posteriors
# depend on where arrays lie in memory, and so on the batch that the segment is in.
# Shifted arrays are slices: an index with an offset might be negative, and its loop would be gathers.


def initial_jumps() -> np.ndarray[Any, np.dtype[np.float64]]:
    """Weights that favour the next position: [far left, -WINDOW .. WINDOW, far right]."""
    near = np.exp(-np.abs(np.arange(-WINDOW, WINDOW + 1) - 1.0))
    weights = np.concatenate(([near.min()], near, [near.min()])) + 1e-3
    return np.asarray(weights / weights.sum())


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def _normalisers(jumps: Any, length: int, result: Any) -> None:
    for p in range(length + 1):
        total = 0.0
        for q in range(max(1, p - WINDOW), min(length, p + WINDOW) + 1):
            total += jumps[q - p + WINDOW + 1]
        total += jumps[JUMPS - 1] * max(0, length - p - WINDOW) + jumps[0] * max(0, p - WINDOW - 1)
        result[p] = total


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def _spread(values: Any, length: int, jumps: Any, sign: int, sums: Any, result: Any) -> None:
    sums[0] = 0.0
    for p in range(length + 1):
        sums[p + 1] = sums[p] + values[WINDOW + p]
        result[p] = 0.0
    for d in range(-WINDOW, WINDOW + 1):
        weight, there = jumps[sign * d + WINDOW + 1], values[WINDOW - d :]
        for p in range(length + 1):
            result[p] += weight * there[p]
    left, right = (jumps[JUMPS - 1], jumps[0]) if sign > 0 else (jumps[0], jumps[JUMPS - 1])
    behind, before, after = result[WINDOW + 1 :], sums[1:], sums[WINDOW + 1 :]
    for p in range(length - WINDOW):
        behind[p] += left * before[p]
    for p in range(length - WINDOW):
        result[p] += right * (sums[length + 1] - after[p])


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def _meet(departures: Any, arrivals: Any, length: int, sums: Any, met: Any) -> None:
    for d in range(-WINDOW, WINDOW + 1):
        row, there = met[d + WINDOW + 1], arrivals[WINDOW + d :]
        for p in range(length + 1):
            row[p] += departures[p] * there[p]
    row, there = met[JUMPS - 1], sums[WINDOW + 1 :]
    for p in range(length - WINDOW):
        row[p] += departures[p] * (sums[length + 1] - there[p])
    row, far = met[0, WINDOW + 1 :], departures[WINDOW + 1 :]
    there = sums[1:]
    for p in range(length - WINDOW):
        row[p] += far[p] * there[p]


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def _count_jumps(met: Any, jumps: Any, counts: Any) -> None:
    for d in range(JUMPS):
        total = 0.0
        for p in range(met.shape[1]):
            total += met[d, p]
        counts[d] += jumps[d] * total


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def _count_chances(visits: Any, length: int, chances: Any) -> None:
    for p in range(length + 1):
        for q in range(max(1, p - WINDOW), min(length, p + WINDOW) + 1):
            chances[q - p + WINDOW + 1] += visits[p]
        chances[JUMPS - 1] += visits[p] * max(0, length - p - WINDOW)
        chances[0] += visits[p] * max(0, p - WINDOW - 1)


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def forward_backward(
    emission: Any, null_emission: Any, jumps: Any, null_share: float, posterior: Any, null_posterior: Any,
    counts: Any, chances: Any,
) -> float:  # fmt: skip
    """Fills posterior (m, l) and null_posterior (m,), adds jump statistics; the log-likelihood."""
    m, length = emission.shape
    f32 = np.float32
    p0, p1 = f32(null_share), f32(1.0 - null_share)
    normalisers = np.empty(length + 1, f32)
    _normalisers(jumps, length, normalisers)
    weights = jumps.astype(f32)
    inverse = f32(1.0) / normalisers
    state = np.zeros((m + 1, length + 1), f32)  # word and NULL states of a position together
    real = np.empty((m, length + 1), f32)
    scale = np.empty(m, f32)
    padded = np.zeros(length + 1 + 2 * WINDOW, f32)
    sums = np.empty(length + 2, f32)
    reach = np.empty(length + 1, f32)
    state[0, 0] = f32(1.0)
    likelihood = 0.0
    for j in range(m):
        for p in range(length + 1):
            padded[WINDOW + p] = state[j, p] * inverse[p]
        _spread(padded, length, weights, 1, sums, reach)
        from_null = p0 * null_emission[j]
        real[j, 0] = f32(0.0)
        total = from_null  # the states of a word sum to 1
        for i in range(length):
            real[j, i + 1] = emission[j, i] * reach[i + 1] * p1
            total += real[j, i + 1]
        factor = f32(1.0) / total
        for p in range(length + 1):
            real[j, p] *= factor
            state[j + 1, p] = real[j, p] + from_null * factor * state[j, p]
        scale[j] = factor
        likelihood += math.log(total)
    future = np.ones(length + 1, f32)
    visits = np.zeros(length + 1, f32)
    met = np.zeros((JUMPS if len(counts) > 0 else 0, length + 1), f32)
    padded[:] = f32(0.0)
    for j in range(m - 1, -1, -1):
        from_null = p0 * null_emission[j] * scale[j]
        nothing = f32(0.0)
        for p in range(length + 1):
            nothing += from_null * state[j, p] * future[p]
        null_posterior[j] = nothing
        arriving = p1 * scale[j]
        for i in range(length):
            posterior[j, i] = real[j, i + 1] * future[i + 1]
            padded[WINDOW + i + 1] = emission[j, i] * future[i + 1] * arriving
        _spread(padded, length, weights, -1, sums, reach)
        for p in range(length + 1):
            reach[p] *= inverse[p]
            future[p] = reach[p] + from_null * future[p]
        if len(counts) > 0:
            for p in range(length + 1):
                visits[p] += state[j, p] * reach[p] * inverse[p]
                state[j, p] *= inverse[p]
            _meet(state[j], padded, length, sums, met)
    if len(counts) > 0:
        _count_jumps(met, jumps, counts)
        _count_chances(visits, length, chances)
    return likelihood


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def fill_emissions(
    cells: Any, values: Any, floor: float, identity: float, transposed: bool, emission: Any
) -> None:
    """Fills emission[j, i] from entries cells[i, j] (`transposed`: [j, i]); -1: floor, -2: identity."""
    m, length = emission.shape
    missing = np.array([identity, floor], np.float32)
    for j in range(m):
        for i in range(length):
            e = cells[j, i] if transposed else cells[i, j]
            emission[j, i] = values[e] if e >= 0 else missing[e]


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def expect(
    cells: Any, offsets: Any, source: Any, target: Any, table: Any, jumps: Any, shares: Any, counts: Any
) -> float:
    """Adds the expected counts of sentence pairs under agreement; the sum of both log-likelihoods.

    The expected count of a link is the product of its posteriors in the two directions (Liang, Taskar and
    Klein 2006, section 3.2); words of NULL count by the posterior of their own direction.
    """
    likelihood = 0.0
    f32 = np.float32
    for k in range(len(source.offsets) - 1):
        first, start = source.offsets[k], target.offsets[k]
        length, m = source.offsets[k + 1] - first, target.offsets[k + 1] - start
        here = cells[offsets[k] : offsets[k + 1]].reshape((length, m))
        there_f, there_b = np.empty((m, length), f32), np.empty((length, m), f32)
        fill_emissions(here, table.forward, shares.floor, shares.floor, False, there_f)
        fill_emissions(here, table.backward, shares.floor, shares.floor, True, there_b)
        post_f, post_b = np.empty((m, length), f32), np.empty((length, m), f32)
        null_f, null_b = np.empty(m, f32), np.empty(length, f32)
        emission_f, emission_b = np.empty(m, f32), np.empty(length, f32)
        for j in range(m):
            emission_f[j] = table.forward_null[target.ids[start + j]]
        for i in range(length):
            emission_b[i] = table.backward_null[source.ids[first + i]]
        likelihood += forward_backward(
            there_f, emission_f, jumps[0], shares.null, post_f, null_f, counts.jumps[0], counts.chances[0]
        )
        likelihood += forward_backward(
            there_b, emission_b, jumps[1], shares.null, post_b, null_b, counts.jumps[1], counts.chances[1]
        )
        for i in range(length):
            counts.backward_null[source.ids[first + i]] += null_b[i]
            for j in range(m):
                if here[i, j] >= 0:
                    counts.pairs[here[i, j]] += post_f[j, i] * post_b[i, j]
        for j in range(m):
            counts.forward_null[target.ids[start + j]] += null_f[j]
    return likelihood


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def infer(
    cells: Any, offsets: Any, source: Any, target: Any, table: Any, jumps: Any, shares: Any, result: Any
) -> None:
    """Writes the posteriors of sentence pairs; `table` has the values of NULL for each word of the texts."""
    nothing = np.empty(0, np.float64)
    for k in range(len(source.offsets) - 1):
        sources = slice(source.offsets[k], source.offsets[k + 1])
        targets = slice(target.offsets[k], target.offsets[k + 1])
        length, width = sources.stop - sources.start, targets.stop - targets.start
        here = cells[offsets[k] : offsets[k + 1]].reshape((length, width))
        there = result.backward[offsets[k] : offsets[k + 1]].reshape((length, width))
        emission = np.empty((length, width), np.float32)
        fill_emissions(here, table.backward, shares.floor, shares.identity, True, emission)
        null, null_result = table.backward_null[sources], result.backward_null[sources]
        forward_backward(emission, null, jumps[1], shares.null, there, null_result, nothing, nothing)
        turned = np.empty((width, length), np.float32)
        fill_emissions(here, table.forward, shares.floor, shares.identity, False, turned)
        forward = np.empty((width, length), np.float32)
        null, null_result = table.forward_null[targets], result.forward_null[targets]
        forward_backward(turned, null, jumps[0], shares.null, forward, null_result, nothing, nothing)
        there = result.forward[offsets[k] : offsets[k + 1]].reshape((length, width))
        for i in range(length):
            for j in range(width):
                there[i, j] = forward[j, i]


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


def encode(tokens: Tokens) -> tuple[Vocabulary, Encoded]:
    vocabulary, mapping = Vocabulary.by_frequency(tokens.types, tokens.ids)
    return vocabulary, Encoded(mapping[tokens.ids], tokens.offsets, len(vocabulary))


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
    work = offsets_of(lengths[postings.sentences])[postings.offsets]
    cuts = np.searchsorted(work, np.linspace(0, work[-1], _RANGES + 1)[1:-1])
    ranges = list(pairwise([0, *cuts.tolist(), len(postings.offsets) - 1]))  # of even work
    sizes = np.zeros(len(postings.offsets) - 1, np.int64)
    apply_to_each(lambda rows: _count_row_sizes(rows, postings, words, sizes), ranges)
    offsets = offsets_of(sizes)
    columns = np.empty(offsets[-1], np.int32)
    apply_to_each(lambda rows: _fill_rows(rows, postings, words, offsets, columns), ranges)
    alignments = np.repeat(np.diff(given_words.offsets) + 1, lengths).astype(np.float64)
    words_there = len(np.unique(words.ids))
    denominators = alignments / words_there
    table = SparseTable(offsets, columns, np.full(offsets[-1], 1.0 / words_there))
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
