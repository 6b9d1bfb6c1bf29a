"""Agreement columns: words that another translation of the same source has too."""

from typing import Any

import numba
import numpy as np

from features.text.tokens import Tokens, segment_mean
from features.word_level.columns import Columns, prefixed, shifted
from features.word_level.labels import common_ids, edit_costs, trace

_BEGINNING = 4  # letters: enough for most stems


def agreement_columns(prefix: str, target: Tokens, translation: Tokens) -> Columns:
    """Every target word against another translation, letters alike; NaN if that is empty.

    there         the other has the word
    stem          it has a word that begins with the same letters
    equal         the word stands opposite itself in a cheapest edit (no shifts)
    inserted      words of the other that the edit inserts before the word
    order         longest n-gram (up to 4) ending in the word that the other has
    segment       share of words of the segment that the other has
    """
    left_ids, right_ids = common_ids(target.lower(), translation.lower())
    stems = common_ids(_beginnings(target), _beginnings(translation))
    values = np.full((len(left_ids), 5), np.nan)
    _compare(left_ids, target.offsets, right_ids, translation.offsets, *stems, values)
    names = ("there", "stem", "equal", "inserted", "order")
    columns: Columns = {name: values[:, k] for k, name in enumerate(names)}
    equal = columns["equal"]
    neighbours: Columns = {
        "equal_next": shifted(equal, target.offsets, 1),
        "equal_previous": shifted(equal, target.offsets, -1),
        "segment": segment_mean(columns["there"], target.offsets)[target.text_index],
        "segment_equal": segment_mean(equal, target.offsets)[target.text_index],
    }
    return prefixed(prefix, {**columns, **neighbours})


def _beginnings(tokens: Tokens) -> Tokens:
    return Tokens(tuple(t.lower()[:_BEGINNING] for t in tokens.types), tokens.ids, tokens.offsets).lower()


@numba.njit(cache=True, nogil=True)
def _compare(
    left_ids: Any,
    left_offsets: Any,
    right_ids: Any,
    right_offsets: Any,
    left_stems: Any,
    right_stems: Any,
    values: Any,
) -> None:
    for k in range(len(left_offsets) - 1):
        start, end = left_offsets[k], left_offsets[k + 1]
        first, last = right_offsets[k], right_offsets[k + 1]
        if first == last:
            continue
        words, translation = left_ids[start:end], right_ids[first:last]
        partner = np.empty(len(words), np.int64)
        trace(words, translation, edit_costs(words, translation), partner)
        done = 0
        for i in range(len(words)):
            values[start + i, 0] = _longest(words, i, translation, 1)
            values[start + i, 1] = _longest(left_stems[start:end], i, right_stems[first:last], 1)
            values[start + i, 2] = partner[i] >= 0 and words[i] == translation[partner[i]]
            values[start + i, 3] = max(partner[i] - done, 0)
            values[start + i, 4] = _longest(words, i, translation, 4)
            done = max(done, partner[i] + 1)


@numba.njit(cache=True, nogil=True)
def _longest(words: Any, i: int, translation: Any, limit: int) -> int:
    best = 0
    for j in range(len(translation)):
        run = 0
        while run < limit and run <= min(i, j) and words[i - run] == translation[j - run]:
            run += 1
        best = max(best, run)
    return best
