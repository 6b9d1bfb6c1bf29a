"""The least Levenshtein distance by characters to any segment of a corpus, exactly.

No bound helps much: the characters that two sentences of a language share leave the least distance far above
every bound, so that distances to nearly all segments of a similar length are computed. Those of other lengths
are left out by their length alone, and a distance is given up as soon as it must exceed the best so far.
"""

from typing import Any

import numba
import numpy as np

from features.resources._nearest import _distance, _largest, _masks, _spelled


@numba.njit(cache=True, nogil=True)
def character_lengths(ids: Any, starts: Any, offsets: Any) -> Any:
    """(segments,) characters of each, words joined by blanks; `offsets` are those of the words' letters."""
    lengths = np.empty(len(starts) - 1, np.int32)
    for s in range(len(lengths)):
        size = max(starts[s + 1] - starts[s] - 1, 0)
        for word in ids[starts[s] : starts[s + 1]]:
            size += offsets[word + 1] - offsets[word]
        lengths[s] = size
    return lengths


@numba.njit(cache=True, nogil=True)
def least_by_characters(
    types: Any,
    offsets: Any,
    letters: Any,
    ids: Any,
    starts: Any,
    corpus_letters: Any,
    order: Any,
    lengths: Any,
    found: Any,
) -> None:
    """Lowers found[:, 1], distances to some segments, to the least of all; texts as for `nearest_batch`.

    order, lengths  the segments by ascending number of characters, and these numbers in that order
    """
    rows = np.zeros(max(_largest(letters[0]), _largest(corpus_letters[0])) + 1, np.int32)
    for k in range(len(found)):
        if offsets[k] == offsets[k + 1]:
            continue
        text = _spelled(types[offsets[k] : offsets[k + 1]], letters[0], letters[1])
        masks = _masks(text, rows)
        state = np.empty((2, masks.shape[1]), np.uint64)
        best, size = found[k, 1], len(text)
        above = np.searchsorted(lengths, size)
        below = above - 1
        while best > 0:
            further = lengths[above] - size if above < len(lengths) else best
            nearer = size - lengths[below] if below >= 0 else best
            if min(further, nearer) >= best:
                break
            if further <= nearer:
                s, above = order[above], above + 1
            else:
                s, below = order[below], below - 1
            other = _spelled(ids[starts[s] : starts[s + 1]], corpus_letters[0], corpus_letters[1])
            best = min(best, _distance(other, rows, masks, size, best, state))
        found[k, 1] = best
        rows[text] = 0
