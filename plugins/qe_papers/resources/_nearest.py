"""Exact nearest segment of a corpus by Levenshtein distance. Bounds come first, then distances for the rest.

The distance of two texts is at least the length of the longer one minus the words they share (as bags).
Shared words are counted for all segments at once: the 64 most frequent words by their counts in every
segment, the others by their lists of occurrences. Distances are computed in ascending order of that
bound, until it reaches the best; four side by side, which keeps the processor's units busy.
"""

from typing import Any, Final

import numba
import numpy as np
from numpy.typing import NDArray

from features.text.vocabulary import MARKERS

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

COUNTED: Final = 64  # words counted in every segment: ids FIRST .. FIRST + COUNTED - 1
FIRST: Final = len(MARKERS)
BLANK: Final = ord(" ") + 1  # characters are code points plus one
RARE: Final = FIRST + COUNTED  # words from here on have lists of occurrences

_ONE = np.uint64(1)
_TOP = np.uint64(63)
_FAR = np.int64(1 << 30)
_FIRST_ROUND = 512  # segments, about, whose distance is computed before looking at the bounds again
_GROWTH = 16  # of a round to the next
_BLOCK = 256  # segments of which the least bound is known
_SAMPLED = 8  # one of so many bounds is counted, to tell how far a round reaches
_LANES = 4  # distances computed side by side
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)
_PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_BYTES, _EACH = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)


def distinct_rows(ids: Ints, offsets: Longs) -> Longs:
    """One row for every distinct non-empty text, by length, then in their order."""
    lengths = np.diff(offsets)
    keys = _hashes(ids, offsets)
    order = np.lexsort((np.arange(len(lengths)), keys, lengths))
    kept = _first_of_equals(ids, offsets, order, keys)
    rows: Longs = order[kept]
    rows = np.sort(rows)
    return rows[np.argsort(lengths[rows], kind="stable")]


@numba.njit(cache=True, nogil=True)
def _hashes(ids: Any, offsets: Any) -> Any:
    result = np.empty(len(offsets) - 1, np.uint64)
    for k in range(len(result)):
        key = np.uint64(14695981039346656037)
        for i in range(offsets[k], offsets[k + 1]):
            key = (key ^ np.uint64(ids[i])) * np.uint64(1099511628211)
        result[k] = key
    return result


@numba.njit(cache=True, nogil=True)
def _first_of_equals(ids: Any, offsets: Any, order: Any, keys: Any) -> Any:
    kept = np.ones(len(order), np.bool_)
    for k in range(len(order)):
        kept[k] = offsets[order[k] + 1] > offsets[order[k]]
        before = k - 1
        while kept[k] and before >= 0 and keys[order[before]] == keys[order[k]]:
            if kept[before] and _equal_words(ids, offsets, order[before], order[k]):
                kept[k] = False
            before -= 1
    return kept


@numba.njit(cache=True, nogil=True)
def _equal_words(ids: Any, offsets: Any, first: int, right: int) -> bool:
    size = offsets[first + 1] - offsets[first]
    if offsets[right + 1] - offsets[right] != size:
        return False
    for i in range(size):  # noqa: SIM110
        if ids[offsets[first] + i] != ids[offsets[right] + i]:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def frequent_counts(ids: Any, offsets: Any) -> Any:
    """(COUNTED, n) how often each of the most frequent words is in each text (255 at most)."""
    result = np.zeros((COUNTED, len(offsets) - 1), np.uint8)
    for k in range(len(offsets) - 1):
        for i in range(offsets[k], offsets[k + 1]):
            if FIRST <= ids[i] < RARE:
                word = ids[i] - FIRST
                result[word, k] += result[word, k] < 255
    return result


@numba.njit(cache=True, nogil=True)
def postings(ids: Any, offsets: Any, vocabulary: int) -> Any:
    """Per rarer word: offsets, and there the segments that have it and how often (255 at most)."""
    size = max(vocabulary - RARE, 0)
    places = np.zeros(size + 1, np.int64)
    for word in ids:
        if word >= RARE:
            places[word - RARE + 1] += 1
    places = np.cumsum(places)
    segments, counts = np.empty(places[-1], np.int32), np.zeros(places[-1], np.uint8)
    end = places[:-1].copy()
    for k in range(len(offsets) - 1):
        for i in range(offsets[k], offsets[k + 1]):
            word = ids[i] - RARE
            if word < 0:
                continue
            last = end[word] - 1
            if last >= places[word] and segments[last] == k:
                counts[last] += counts[last] < 255
            else:
                segments[end[word]], counts[end[word]] = k, 1
                end[word] += 1
    return _closed_up(places, end, segments, counts)


@numba.njit(cache=True, nogil=True)
def _closed_up(places: Any, end: Any, segments: Any, counts: Any) -> Any:
    to = 0
    for word in range(len(end)):
        start = places[word]
        places[word] = to
        for i in range(start, end[word]):
            segments[to], counts[to] = segments[i], counts[i]
            to += 1
    places[len(end)] = to
    return places, segments[:to].copy(), counts[:to].copy()


@numba.njit(cache=True, nogil=True)
def nearest_batch(
    queries: Any,
    types: Any,
    offsets: Any,
    letters: Any,
    corpus: Any,
    corpus_letters: Any,
    shared: Any,
    bound: Any,
    found_rows: Any,
) -> None:
    """Fills found_rows (n, 3): word edits, character edits, characters. One row for each text at `offsets`.

    queries, types  ids of the tokens in the corpus's vocabulary, and in that of `letters`
    shared          (segments,) room to work in, of a type that holds the tokens of any query
    bound           the same, of a signed type that holds the tokens of any query and segment
    """
    ids, starts, counted, places, segments, counts = corpus
    lengths = (starts[1:] - starts[:-1]).astype(bound.dtype)
    rows = np.zeros(len(places) + RARE, bound.dtype)
    bounds = np.empty((len(lengths) + _BLOCK - 1) // _BLOCK, bound.dtype)
    room = np.empty(len(lengths), np.int32)
    letter_rows = np.zeros(max(_largest(letters[0]), _largest(corpus_letters[0])) + 1, np.int32)
    for k in range(len(found_rows)):
        query = queries[offsets[k] : offsets[k + 1]]
        if len(query) == 0:
            continue
        _count_shared(query, counted, places, segments, counts, shared)
        _set_bounds(len(query), lengths, shared, bound, bounds)
        nearest, found_rows[k, 0] = _search(query, rows, ids, starts, bound, bounds, room)
        text = _spelled(types[offsets[k] : offsets[k + 1]], letters[0], letters[1])
        other = _spelled(ids[starts[nearest] : starts[nearest + 1]], corpus_letters[0], corpus_letters[1])
        masks = _masks(text, letter_rows)
        state = np.empty((2, masks.shape[1]), np.uint64)
        found_rows[k, 1] = _distance(other, letter_rows, masks, len(text), _FAR, state)
        found_rows[k, 2] = len(text)
        letter_rows[text] = 0


@numba.njit(cache=True, nogil=True)
def _largest(symbols: Any) -> Any:
    return np.int64(symbols.max()) if len(symbols) else BLANK


@numba.njit(cache=True, nogil=True)
def _count_shared(query: Any, counted: Any, places: Any, segments: Any, counts: Any, shared: Any) -> None:
    shared[:] = 0
    ordered = np.sort(query)
    i = 0
    while i < len(ordered):
        word, n = ordered[i], 1
        while i + n < len(ordered) and ordered[i + n] == word:
            n += 1
        i += n
        if word >= RARE:
            for p in range(places[word - RARE], places[word - RARE + 1]):
                shared[segments[p]] += n if counts[p] == 255 else min(np.int64(counts[p]), n)
        elif word >= FIRST:
            _add_shared(counted[word - FIRST], n, shared)


@numba.njit(cache=True, nogil=True)
def _set_bounds(size: int, lengths: Any, shared: Any, bound: Any, bounds: Any) -> None:
    longer = np.searchsorted(lengths, size)
    for s in range(longer):
        bound[s] = size - shared[s]
    for s in range(longer, len(lengths)):
        bound[s] = lengths[s] - shared[s]
    for b in range(len(bounds)):
        lowest = bound[b * _BLOCK]
        for s in range(b * _BLOCK, min((b + 1) * _BLOCK, len(bound))):
            lowest = min(lowest, bound[s])
        bounds[b] = lowest


@numba.njit(cache=True, nogil=True)
def _add_shared(counted: Any, n: int, shared: Any) -> None:
    if n >= 255:
        for s in range(len(counted)):
            shared[s] += n if counted[s] == 255 else counted[s]
    else:
        most = np.uint8(n)
        for s in range(len(counted)):
            shared[s] += min(counted[s], most)


@numba.njit(cache=True, nogil=True)
def _search(query: Any, rows: Any, ids: Any, starts: Any, bound: Any, bounds: Any, room: Any) -> Any:
    masks = _masks(query, rows)
    highest = max(len(query), starts[-1] - starts[-2])
    histogram = _histogram(bound, highest)
    nearest, best, low, size = 0, _FAR, bounds.min(), _FIRST_ROUND
    while low <= highest and low < best:
        high = min(_reach(histogram, low, size), best)
        candidates = _candidates(bound, bounds, low, high, room)
        nearest, best = _closest(candidates, nearest, best, ids, starts, bound, rows, masks, len(query))
        low, size = high, size * _GROWTH
    rows[query] = 0
    return nearest, best


@numba.njit(cache=True, nogil=True)
def _histogram(bound: Any, highest: int) -> Any:
    result = np.zeros(highest + 1, np.int64)
    for s in range(0, len(bound), _SAMPLED):
        result[bound[s]] += _SAMPLED
    return result


@numba.njit(cache=True, nogil=True)
def _reach(histogram: Any, low: int, size: int) -> int:
    high, total = low, 0
    while high < len(histogram) and (total == 0 or total + histogram[high] <= size):
        total += histogram[high]
        high += 1
    return high


@numba.njit(cache=True, nogil=True)
def _candidates(bound: Any, bounds: Any, low: int, high: int, room: Any) -> Any:
    size = 0
    for b in range(len(bounds)):
        if bounds[b] < high:
            for s in range(b * _BLOCK, min((b + 1) * _BLOCK, len(bound))):
                room[size] = s  # stays where it counts
                size += (bound[s] >= low) & (bound[s] < high)
    slot = np.zeros(high - low + 1, np.int64)
    for s in room[:size]:
        slot[bound[s] - low + 1] += 1
    slot = np.cumsum(slot)
    result = np.empty(size, np.int32)
    for s in room[:size]:
        result[slot[bound[s] - low]] = s
        slot[bound[s] - low] += 1
    return result


@numba.njit(cache=True, nogil=True)
def _closest(
    candidates: Any, nearest: int, best: int, ids: Any, starts: Any, bound: Any, rows: Any, masks: Any,
    size: int,
) -> Any:  # fmt: skip
    distances, state = np.empty(_LANES, np.int64), np.empty((2, masks.shape[1]), np.uint64)
    for first in range(0, len(candidates), _LANES):
        group = candidates[first : first + _LANES]
        if bound[group[0]] >= best:
            break
        if masks.shape[1] == 1 and len(group) == _LANES:
            _four_distances(group, ids, starts, rows, masks[:, 0], size, distances)
        else:
            for k in range(len(group)):
                text = ids[starts[group[k]] : starts[group[k] + 1]]
                distances[k] = _distance(text, rows, masks, size, best, state)
        for k in range(len(group)):
            if distances[k] < best:
                nearest, best = group[k], distances[k]
    return nearest, best


@numba.njit(cache=True, nogil=True)
def _four_distances(
    group: Any, ids: Any, starts: Any, rows: Any, masks: Any, size: int, distances: Any
) -> None:
    a, b = ids[starts[group[0]] : starts[group[0] + 1]], ids[starts[group[1]] : starts[group[1] + 1]]
    c, d = ids[starts[group[2]] : starts[group[2] + 1]], ids[starts[group[3]] : starts[group[3] + 1]]
    together = min(len(a), len(b), len(c), len(d))
    a_up = b_up = c_up = d_up = _ALL
    a_down = b_down = c_down = d_down = _NONE
    for i in range(together):
        a_up, a_down = _step(masks[rows[a[i]]], a_up, a_down)
        b_up, b_down = _step(masks[rows[b[i]]], b_up, b_down)
        c_up, c_down = _step(masks[rows[c[i]]], c_up, c_down)
        d_up, d_down = _step(masks[rows[d[i]]], d_up, d_down)
    distances[0] = _finished(a, together, a_up, a_down, rows, masks, size)
    distances[1] = _finished(b, together, b_up, b_down, rows, masks, size)
    distances[2] = _finished(c, together, c_up, c_down, rows, masks, size)
    distances[3] = _finished(d, together, d_up, d_down, rows, masks, size)


@numba.njit(cache=True, nogil=True)
def _masks(text: Any, rows: Any) -> Any:
    masks = np.zeros((len(text) + 1, (len(text) + 63) >> 6), np.uint64)
    n = 0
    for i in range(len(text)):
        if text[i] > 0:
            if rows[text[i]] == 0:
                n += 1
                rows[text[i]] = n
            masks[rows[text[i]], i >> 6] |= _ONE << np.uint64(i & 63)
    return masks


@numba.njit(cache=True, nogil=True)
def _distance(text: Any, rows: Any, masks: Any, size: int, limit: int, state: Any) -> Any:
    blocks = masks.shape[1]
    if blocks == 1:
        return _finished(text, 0, _ALL, _NONE, rows, masks[:, 0], size)
    above, below = state[0], state[1]
    above[:], below[:] = _ALL, _NONE
    last = _ONE << np.uint64((size - 1) & 63)
    cost: Any = size
    allowed = limit + len(text)
    for symbol in text:
        allowed -= 1
        plus, minus = _ONE, _ONE - _ONE
        for b in range(blocks):
            match, upper, down = masks[rows[symbol], b], above[b], below[b]
            vertical, match = match | down, match | minus
            zero = (((match & upper) + upper) ^ upper) | match
            rise, fall = down | ~(zero | upper), upper & zero
            if b == blocks - 1:
                cost += ((rise & last) != 0) - ((fall & last) != 0)
            next_plus, next_minus = rise >> _TOP, fall >> _TOP
            rise, fall = (rise << _ONE) | plus, (fall << _ONE) | minus
            above[b], below[b] = fall | ~(vertical | rise), rise & vertical
            plus, minus = next_plus, next_minus
        if cost > allowed:
            return limit + 1
    return cost


@numba.njit(cache=True, nogil=True)
def _finished(text: Any, completed: int, upper: Any, down: Any, rows: Any, masks: Any, size: int) -> Any:
    for i in range(completed, len(text)):
        upper, down = _step(masks[rows[text[i]]], upper, down)
    inside = _ALL >> np.uint64(64 - size)
    return len(text) + _count_bits(upper & inside) - _count_bits(down & inside)


@numba.njit(cache=True, nogil=True)
def _step(match: Any, upper: Any, down: Any) -> Any:
    zero = (((match & upper) + upper) ^ upper) | match | down
    rise, fall = down | ~(zero | upper), upper & zero
    rise = (rise << _ONE) | _ONE
    return (fall << _ONE) | ~(zero | rise), rise & zero


@numba.njit(cache=True, nogil=True)
def _count_bits(bits: Any) -> Any:
    bits -= (bits >> _ONE) & _PAIRS
    bits = (bits & _FOURS) + ((bits >> np.uint64(2)) & _FOURS)
    bits = (bits + (bits >> np.uint64(4))) & _BYTES
    return np.int64((bits * _EACH) >> np.uint64(56))


@numba.njit(cache=True, nogil=True)
def _spelled(ids: Any, letters: Any, offsets: Any) -> Any:
    size = len(ids) - 1
    for word in ids:
        size += offsets[word + 1] - offsets[word]
    result = np.full(size, BLANK, np.int32)
    to = 0
    for word in ids:
        for i in range(offsets[word], offsets[word + 1]):
            result[to] = letters[i]
            to += 1
        to += 1
    return result
