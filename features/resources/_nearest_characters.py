"""The least Levenshtein distance by characters to any segment of a corpus, exactly.

No bound on the distance helps much: the characters that two sentences of a language share leave the least one
far above every bound, so that most segments of a similar length must be compared. 512 of about equal length
are compared at a time, a bit each (`_lanes`): a cell of the matrix of distances is known by whether it is one
above or one below its neighbours (Myers 1999), which takes ten operations for all of them. Cells are left out
that no path as cheap as the best distance so far can visit (Ukkonen 1985), and so are other lengths.
"""

from dataclasses import dataclass
from typing import Any, Self

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.threads import for_each
from features.resources._lanes import LANES, WORDS, every, load, store
from features.resources._nearest import BLANK, Ints, Longs, _largest, _spelled

_SUMS = 34  # binary digits of a sum of lengths, at most, and lanes to compare with
_ONE, _ALL, _NONE = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0)


@dataclass(frozen=True, eq=False)
class CharacterBlocks:
    """The characters of the corpus segments, blocks of 512 segments of about equal length, bit by bit.

    lengths  (segments,) characters, ascending
    numbers  (largest character + 1,) number of each character, frequent ones first, from 1; 0: not there
    digits   bits that the numbers take
    starts   (blocks + 1,) columns of the blocks before: a block has as many as its longest segment
             characters, or one more, which makes them even
    bits     (columns, digits, WORDS) bit b of word w: that digit of the character, of segment 64 w + b of the
             block; 0 behind its end
    """

    lengths: Ints
    numbers: Ints
    digits: int
    starts: Longs
    bits: NDArray[np.uint64]

    @classmethod
    def of(cls, ids: Ints, starts: Longs, letters: tuple[Ints, Longs]) -> Self:
        """Blocks of segments of words `ids`; `letters` are all letters, and the offsets of each word's."""
        sizes = _character_lengths(ids, starts, letters[1])
        order = np.argsort(sizes, kind="stable").astype(np.int32)
        lengths = sizes[order]
        longest = lengths[np.minimum(np.arange(0, len(lengths), LANES) + LANES, len(lengths)) - 1]
        columns = np.concatenate(([0], np.cumsum(longest + longest % 2, dtype=np.int64)))
        numbers, digits = _numbered(_letter_counts(ids, starts, *letters))
        bits = np.zeros((columns[-1], digits, WORDS), np.uint64)

        def fill(block: int) -> None:
            here = order[block * LANES : (block + 1) * LANES]
            _fill(here, ids, starts, *letters, numbers, bits[columns[block] : columns[block + 1]])

        for_each(fill, range(len(longest)))
        return cls(lengths, numbers, digits, columns, bits)

    def lower(self, types: Ints, offsets: Longs, letters: tuple[Ints, Longs], distances: Longs) -> None:
        """Lowers `distances` from texts to some segments to the least of all; empty texts are left alone.

        types, offsets, letters  texts as in `nearest_batch`
        """
        for k in np.flatnonzero(np.diff(offsets)):
            text = _spelled(types[offsets[k] : offsets[k + 1]], *letters)
            known = np.where(text < len(self.numbers), text, 0)
            distances[k] = _least(
                self.numbers[known],
                int(distances[k]),
                self.lengths,
                self.digits,
                self.starts,
                self.bits.ravel(),
            )


def _numbered(counts: Longs) -> tuple[Ints, int]:
    """Numbers of the characters that occur, the most frequent first, and the bits they take."""
    order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    numbers = np.zeros(len(counts), np.int32)
    numbers[order] = np.arange(1, len(order) + 1)
    return numbers, len(order).bit_length()


@numba.njit(cache=True, nogil=True)
def _character_lengths(ids: Any, starts: Any, offsets: Any) -> Any:
    """(segments,) characters of each, words joined by blanks; `offsets` are those of the words' letters."""
    lengths = np.empty(len(starts) - 1, np.int32)
    for s in range(len(lengths)):
        size = max(starts[s + 1] - starts[s] - 1, 0)
        for word in ids[starts[s] : starts[s + 1]]:
            size += offsets[word + 1] - offsets[word]
        lengths[s] = size
    return lengths


@numba.njit(cache=True, nogil=True)
def _letter_counts(ids: Any, starts: Any, letters: Any, offsets: Any) -> Any:
    """(largest character + 1,) how often each occurs in the segments."""
    counts = np.zeros(max(_largest(letters), BLANK) + 1, np.int64)
    for word in ids:
        for i in range(offsets[word], offsets[word + 1]):
            counts[letters[i]] += 1
    counts[BLANK] += len(ids) - len(starts) + 1
    return counts


@numba.njit(cache=True, nogil=True)
def _fill(here: Any, ids: Any, starts: Any, letters: Any, offsets: Any, numbers: Any, bits: Any) -> None:
    """Sets the bits (columns, digits, WORDS) of one block."""
    for lane in range(len(here)):
        word, bit = lane >> 6, _ONE << np.uint64(lane & 63)
        text = _spelled(ids[starts[here[lane]] : starts[here[lane] + 1]], letters, offsets)
        for column in range(len(text)):
            number = numbers[text[column]]
            for digit in range(bits.shape[1]):
                if number >> digit & 1:
                    bits[column, digit, word] |= bit


@numba.njit(cache=True, nogil=True)
def _least(text: Any, best: int, lengths: Any, digits: int, starts: Any, bits: Any) -> Any:
    """The least distance of a text (numbers of its characters) to any segment, where it is below `best`."""
    size, blocks = len(text), len(starts) - 1
    rows, distinct = _rows(text)
    room = np.empty((2 * size + 2 * digits + 2 * len(distinct) + 2 + _SUMS) * WORDS, np.uint64)
    above = np.searchsorted(lengths, size) // LANES  # the first block that has a text as long, or longer
    below = above - 1
    while best > 0:
        further: Any = max(lengths[above * LANES] - size, 0) if above < blocks else best
        nearer: Any = max(size - lengths[(below + 1) * LANES - 1], 0) if below >= 0 else best
        if min(further, nearer) >= best:
            break
        if further <= nearer:
            block, above = above, above + 1
        else:
            block, below = below, below - 1
        here = lengths[block * LANES : (block + 1) * LANES]
        best = _compare(rows, distinct, best, here, digits, bits, starts[block], room)
    return best


@numba.njit(cache=True, nogil=True)
def _rows(text: Any) -> Any:
    """Which of the distinct known characters each of a text is, the number of those if none; and those."""
    distinct = np.unique(text[text > 0])
    rows = np.searchsorted(distinct, text)
    rows[text == 0] = len(distinct)
    return rows, distinct


@numba.njit(cache=True, nogil=True)
def _compare(
    rows: Any, distinct: Any, best: int, lengths: Any, digits: int, bits: Any, start: int, room: Any
) -> Any:
    """The least of `best` and the distances of the text and the segments of one block.

    A row of the matrix is a character of the text, a column one of each segment; two columns are taken at a
    time, which halves the loads and stores. `room` has, in lanes: of each row, whether its cell is one above,
    whether one below that of the row before; pairs of digits; which lanes have which of the distinct
    characters, and none, in each column; sums, a digit each.
    """
    size, longest = len(rows), lengths[-1]
    first, last = _band(size, lengths[0], longest, best - 1)
    pairs = 2 * size
    match = pairs + 2 * digits
    match_next = match + len(distinct) + 1
    sums, digits_of_sums = match_next + len(distinct) + 1, _digits(2 * longest + 2)
    yes, no = every(_ALL), every(_NONE)
    for row in range(size):
        store(room, 2 * row, yes)
        store(room, 2 * row + 1, no)
    for k in range(digits_of_sums):
        store(room, sums + k, no)
    store(room, match_next - 1, no)
    store(room, sums - 1, no)
    ended = 0
    for j in range(1, longest + 1, 2):
        _match(bits, (start + j - 1) * digits, digits, distinct, room, pairs, match)
        _match(bits, (start + j) * digits, digits, distinct, room, pairs, match_next)
        rise, fall, rise_next, fall_next = yes, no, yes, no
        for row in range(max(j - last, 1) - 1, min(j + 1 - first, size)):
            up, down = load(room, 2 * row), load(room, 2 * row + 1)
            level = load(room, match + rows[row]) | down | fall
            middle_up, middle_down = fall | ~(level | rise), level & rise
            rise, fall = down | ~(level | up), level & up
            level = load(room, match_next + rows[row]) | middle_down | fall_next
            store(room, 2 * row, fall_next | ~(level | rise_next))
            store(room, 2 * row + 1, level & rise_next)
            rise_next, fall_next = middle_down | ~(level | middle_up), level & middle_up
        _add(rise, ~fall, room, sums, digits_of_sums)
        if lengths[ended] == j:
            best, ended = _lowest(room, sums, digits_of_sums, lengths, ended, size, best)
        _add(rise_next, ~fall_next, room, sums, digits_of_sums)
        if ended < len(lengths) and lengths[ended] == j + 1:
            best, ended = _lowest(room, sums, digits_of_sums, lengths, ended, size, best)
        # Sums only grow: once the last row is reached, they tell whether any segment can still be nearer.
        far = j & 7 == 1 and j - first >= size
        if far and not _any_below(room, sums, digits_of_sums, best - size + longest):
            break
    return best


@numba.njit(cache=True, nogil=True)
def _band(size: int, shortest: int, longest: int, limit: int) -> tuple[int, int]:
    """The least and the largest j - i of cells (i, j) on paths that cost no more than `limit`.

    `size` rows; the columns of the texts are shortest .. longest.
    """
    least = max(shortest - size, -limit)
    largest = min(longest - size, limit)
    return -((limit - least) >> 1), (limit + largest) >> 1


@numba.njit(cache=True, nogil=True, inline="always")
def _match(bits: Any, place: int, digits: int, distinct: Any, room: Any, pairs: int, match: int) -> None:
    """Which lanes have which of the distinct characters in one column: digits, two at a time, then all."""
    for digit in range(0, digits, 2):
        low = load(bits, place + digit)
        high = load(bits, place + digit + 1) if digit + 1 < digits else every(_NONE)
        at = pairs + 2 * digit
        store(room, at, ~(low | high))
        store(room, at + 1, low & ~high)
        if digit + 1 < digits:
            store(room, at + 2, high & ~low)
            store(room, at + 3, low & high)
    for k in range(len(distinct)):
        number = distinct[k]
        matching = load(room, pairs + (number & 3))
        for digit in range(2, digits, 2):
            matching = matching & load(room, pairs + 2 * digit + (number >> digit & 3))
        store(room, match + k, matching)


@numba.njit(cache=True, nogil=True, inline="always")
def _add(rise: Any, no_fall: Any, room: Any, sums: int, digits: int) -> None:
    """Adds to the sums what the last row so far rises in a column, plus one: 0, 1 or 2."""
    before = load(room, sums)
    odd = before ^ rise
    store(room, sums, odd ^ no_fall)
    carried = (before & rise) | (odd & no_fall)
    for k in range(sums + 1, sums + digits):
        before = load(room, k)
        store(room, k, before ^ carried)
        carried = before & carried


@numba.njit(cache=True, nogil=True)
def _any_below(room: Any, sums: int, digits: int, limit: int) -> bool:
    """Whether any sum is below `limit`; which ones, in lanes behind the sums."""
    below, equal = every(_NONE), every(_ALL)
    if _digits(max(limit, 0)) > digits:
        below = equal
    for k in range(digits - 1, -1, -1):
        digit = load(room, sums + k)
        if limit >> k & 1:
            below = below | (equal & ~digit)
            equal = equal & digit
        else:
            equal = equal & ~digit
    store(room, sums + digits, below)
    lower = _NONE
    for word in range(WORDS):
        lower |= room[(sums + digits) * WORDS + word]
    return limit > 0 and lower != _NONE


@numba.njit(cache=True, nogil=True)
def _lowest(room: Any, sums: int, digits: int, lengths: Any, begun: int, size: int, best: int) -> Any:
    """The least of `best` and the distances of the segments as long as that of lane `begun`; their end."""
    ended = begun + 1
    while ended < len(lengths) and lengths[ended] == lengths[begun]:
        ended += 1
    more = size - lengths[begun]
    if abs(more) < best and _any_below(room, sums, digits, best - more):
        for lane in range(begun, ended):
            word, bit = lane >> 6, np.uint64(lane & 63)
            if (room[(sums + digits) * WORDS + word] >> bit) & _ONE:
                total: Any = more
                for k in range(digits):
                    total += np.int64((room[(sums + k) * WORDS + word] >> bit) & _ONE) << k
                best = min(best, total)
    return best, ended


@numba.njit(cache=True, nogil=True)
def _digits(number: int) -> int:
    """Binary digits of a number."""
    count = 0
    while number >> count:
        count += 1
    return count
