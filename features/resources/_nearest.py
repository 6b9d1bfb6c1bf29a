"""The nearest segment of a corpus by Levenshtein distance, exactly: bounds first, distances for the rest.

The distance of two texts is at least the length of the longer one minus the words they share (as bags).
Shared words are counted for all segments at once: the 64 most frequent words by their counts in every
segment, the others by their lists of occurrences. Distances are computed in ascending order of that
bound, until it reaches the best.
"""

from typing import Any, Final

import numba
import numpy as np
from numpy.typing import NDArray

from features.core.vocabulary import MARKERS

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

COUNTED: Final = 64  # words counted in every segment: ids FIRST .. FIRST + COUNTED - 1
FIRST: Final = len(MARKERS)
BLANK: Final = ord(" ") + 1  # characters are code points plus one
RARE: Final = FIRST + COUNTED  # words from here on have lists of occurrences

_ONE = np.uint64(1)
_TOP = np.uint64(63)
_FAR = np.int64(1 << 30)
_FIRST_ROUND = 512  # segments whose distance is computed before looking at the bounds again
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def distinct_rows(ids: Ints, offsets: Longs) -> Longs:
    """One row for every distinct non-empty text, shortest first, then as they come."""
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
    """Whether a text, in the order of (length, hash), differs from those before it with the same hash."""
    kept = np.ones(len(order), np.bool_)
    for k in range(len(order)):
        kept[k] = offsets[order[k] + 1] > offsets[order[k]]
        before = k - 1
        while kept[k] and before >= 0 and keys[order[before]] == keys[order[k]]:
            if kept[before] and _same(ids, offsets, order[before], order[k]):
                kept[k] = False
            before -= 1
    return kept


@numba.njit(cache=True, nogil=True)
def _same(ids: Any, offsets: Any, left: int, right: int) -> bool:
    size = offsets[left + 1] - offsets[left]
    if offsets[right + 1] - offsets[right] != size:
        return False
    for i in range(size):  # noqa: SIM110
        if ids[offsets[left] + i] != ids[offsets[right] + i]:
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
    """The lists without the room that repeated words left."""
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
    found: Any,
) -> None:
    """Fills found (n, 3) for the texts at `offsets`: word edits, character edits, characters.

    queries, types  ids of the tokens in the corpus's vocabulary, and in that of `letters`
    shared          (segments,) room to work in, of a type that holds the length of any text
    """
    ids, starts, counted, places, segments, counts = corpus
    lengths = (starts[1:] - starts[:-1]).astype(np.int32)
    bound = np.zeros(len(lengths), np.int32)
    rows = np.zeros(len(places) + RARE, np.int32)
    letter_rows = np.zeros(max(_largest(letters[0]), _largest(corpus_letters[0])) + 1, np.int32)
    for k in range(len(found)):
        query = queries[offsets[k] : offsets[k + 1]]
        if len(query) == 0:
            continue
        _bounds(query, lengths, counted, places, segments, counts, shared, bound)
        nearest, found[k, 0] = _search(query, rows, ids, starts, bound)
        text = _spelled(types[offsets[k] : offsets[k + 1]], letters[0], letters[1])
        other = _spelled(ids[starts[nearest] : starts[nearest + 1]], corpus_letters[0], corpus_letters[1])
        masks = _masks(text, letter_rows)
        found[k, 1] = _distance(other, letter_rows, masks, len(text), _FAR)
        found[k, 2] = len(text)
        letter_rows[text] = 0


@numba.njit(cache=True, nogil=True)
def _largest(symbols: Any) -> Any:
    return np.int64(symbols.max()) if len(symbols) else BLANK


@numba.njit(cache=True, nogil=True)
def _bounds(
    query: Any, lengths: Any, counted: Any, places: Any, segments: Any, counts: Any, shared: Any, bound: Any
) -> None:
    """Fills `bound` with the longer length minus the shared words (`shared`), for each segment."""
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
    size = np.int32(len(query))
    for s in range(len(lengths)):
        bound[s] = max(size, lengths[s]) - shared[s]


@numba.njit(cache=True, nogil=True)
def _add_shared(counted: Any, n: int, shared: Any) -> None:
    """A word that the query has n times; 255 stands for that many or more."""
    if n >= 255:
        for s in range(len(counted)):
            shared[s] += n if counted[s] == 255 else counted[s]
    else:
        most = np.uint8(n)
        for s in range(len(counted)):
            shared[s] += min(counted[s], most)


@numba.njit(cache=True, nogil=True)
def _search(query: Any, rows: Any, ids: Any, starts: Any, bound: Any) -> Any:
    """The nearest segment and its distance; of several the one with the lowest bound, then the first."""
    masks = _masks(query, rows)
    histogram = _histogram(bound)
    nearest, best, low, room = 0, _FAR, 0, _FIRST_ROUND
    while low < len(histogram) and low < best:
        high, candidates = _candidates(bound, histogram, low, room)
        for s in candidates:
            if bound[s] >= best:
                break
            distance = _distance(ids[starts[s] : starts[s + 1]], rows, masks, len(query), best)
            if distance < best:
                nearest, best = s, distance
        low, room = high, room * 8
    rows[query] = 0
    return nearest, best


@numba.njit(cache=True, nogil=True)
def _histogram(bound: Any) -> Any:
    result = np.zeros(bound.max() + 1, np.int64)
    for value in bound:
        result[value] += 1
    return result


@numba.njit(cache=True, nogil=True)
def _candidates(bound: Any, histogram: Any, low: int, room: int) -> Any:
    """The segments whose bound is in low .. high - 1, ascending: values as long as they fit `room`, but
    at least one."""
    high, size = low, 0
    while high < len(histogram) and (size == 0 or size + histogram[high] <= room):
        size += histogram[high]
        high += 1
    slot = np.zeros(high - low + 1, np.int64)
    slot[1:] = np.cumsum(histogram[low:high])
    result = np.empty(size, np.int32)
    for s in range(len(bound)):
        if low <= bound[s] < high:
            result[slot[bound[s] - low]] = s
            slot[bound[s] - low] += 1
    return high, result


@numba.njit(cache=True, nogil=True)
def _masks(text: Any, rows: Any) -> Any:
    """(distinct symbols + 1, blocks) uint64: the places of each symbol; rows[symbol] is its row.

    Row 0 has no places: it is that of all other symbols, and of symbol 0, which equals nothing.
    """
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
def _distance(text: Any, rows: Any, masks: Any, size: int, limit: int) -> Any:
    """Levenshtein distance of `text` and the text of `masks` (Myers 1999, in blocks as Hyyro 2003).

    Anything above `limit` where the distance is.
    """
    blocks = masks.shape[1]
    if blocks == 1:
        return _distance_one_block(text, rows, masks[:, 0], size, limit)
    above, below = np.full(blocks, _ALL, np.uint64), np.zeros(blocks, np.uint64)
    last = _ONE << np.uint64((size - 1) & 63)
    cost: Any = size
    allowed = limit + len(text)
    for symbol in text:
        allowed -= 1
        plus, minus = _ONE, _ONE - _ONE
        for b in range(blocks):
            match, up, down = masks[rows[symbol], b], above[b], below[b]
            vertical, match = match | down, match | minus
            zero = (((match & up) + up) ^ up) | match
            rise, fall = down | ~(zero | up), up & zero
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
def _distance_one_block(text: Any, rows: Any, masks: Any, size: int, limit: int) -> Any:
    up, down, last = _ALL, _ONE - _ONE, np.uint64(size - 1)
    cost: Any = size
    allowed = limit + len(text)  # each further word can save one edit
    for symbol in text:
        match = masks[rows[symbol]]
        allowed -= 1
        zero = (((match & up) + up) ^ up) | match | down
        rise, fall = down | ~(zero | up), up & zero
        cost += np.int64((rise >> last) & _ONE) - np.int64((fall >> last) & _ONE)
        rise = (rise << _ONE) | _ONE
        up, down = (fall << _ONE) | ~(zero | rise), rise & zero
        if cost > allowed:
            return limit + 1
    return cost


@numba.njit(cache=True, nogil=True)
def _spelled(ids: Any, letters: Any, offsets: Any) -> Any:
    """The characters of words joined by blanks."""
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
