"""HMM word alignment of one sentence pair, in both directions.

The model is that of Vogel, Ney and Tillmann (1996) with the NULL states of Och and Ney (2003): target
word j comes from source position i with probability p(i | i') t(word_j | word_i), i' being the position
of the word before; a word of NULL keeps i'. p(i | i') = c(i - i') / sum over the positions of the sentence,
where c has one weight per jump up to `WINDOW` and one each for all longer jumps to the left and right.
"""

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

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
        result.forward[offsets[k] : offsets[k + 1]] = forward.T.copy().ravel()
