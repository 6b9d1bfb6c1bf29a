"""N-grams of source and target that a phrase table knows, and n-grams that match."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.resources.phrase_table import PhraseTable
from features.text.tokens import Tokens, ratio, segment_sum

LONGEST = 5
OPTIONS = 20  # translations of a source phrase that Moses looks at, unless it is told otherwise
_SHORT = 8  # translations, per phrase of the other side, up to which they are gone through one by one
_MARKS = 4096  # places in the filter that tells phrases of the other side from all others; a power of 2


@dataclass(frozen=True, eq=False)
class MatchedSide:
    """N-grams from each token (n_tokens, LONGEST): whether known, whether matching, best log probability."""

    tokens: Tokens
    has_phrase: NDArray[np.bool_]
    best: FloatArray

    @property
    def matching(self) -> NDArray[np.bool_]:
        return np.isfinite(self.best)

    def share(self, mask: NDArray[np.bool_], n: int) -> FloatArray:
        ngrams = np.maximum(self.tokens.lengths - n + 1, 0)
        return ratio(segment_sum(mask[:, n - 1], self.tokens.offsets), ngrams)

    @cached_property
    def known_phrases(self) -> FloatArray:
        return _segmented(self.tokens, np.where(self.has_phrase, 0.0, -np.inf))[0]

    @cached_property
    def cover(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return _segmented(self.tokens, self.best)


@dataclass(frozen=True, eq=False)
class Matches:
    table: PhraseTable
    source: Tokens
    target: Tokens

    @cached_property
    def sides(self) -> dict[str, MatchedSide]:
        source, target = self.source, self.target
        left_phrases, right = self.table.phrases(source, "source"), self.table.phrases(target, "target")
        left_best, right_best = np.full(left_phrases.shape, -np.inf), np.full(right.shape, -np.inf)
        table = self.table.offsets, self.table.target, self.table.forward, self.table.backward
        source_side = source.offsets, left_phrases, left_best
        _match(source_side, (target.offsets, right, right_best), table)
        return {
            "source": MatchedSide(source, _padded(left_phrases >= 0, False), _padded(left_best, -np.inf)),
            "target": MatchedSide(target, _padded(right >= 0, False), _padded(right_best, -np.inf)),
        }

    @cached_property
    def options(self) -> tuple[FloatArray, FloatArray]:
        """Number (n,) of translations of all source n-grams, at most `OPTIONS` each, and their words."""
        rows = self.table.phrases(self.source, "source")
        distinct, places = np.unique(rows, return_inverse=True)
        has_phrase = np.array([self._translations(int(row)) for row in distinct], np.float64).reshape(-1, 2)
        each = has_phrase[places.reshape(rows.shape)].sum(axis=1)
        number, words = (segment_sum(column, self.source.offsets) for column in each.T)
        return number, words

    def _translations(self, row: int) -> tuple[int, int]:
        if row < 0:
            return 0, 0
        entries = slice(self.table.offsets[row], self.table.offsets[row + 1])
        likeliest = np.argsort(-self.table.forward[entries], kind="stable")[:OPTIONS]
        phrases = self.table.target[entries][likeliest]
        words = self.table.target_starts[phrases + 1] - self.table.target_starts[phrases]
        return len(phrases), int(words.sum())


def _padded(values: NDArray[Any], missing: Any) -> NDArray[Any]:
    wide = np.full((len(values), LONGEST), missing, values.dtype)
    n = min(LONGEST, values.shape[1])
    wide[:, :n] = values[:, :n]
    return wide


@numba.njit(cache=True, nogil=True)
def _match(source: Any, target: Any, table: Any) -> None:
    (source_offsets, left_phrases, left_best), (target_offsets, right, right_best) = source, target
    offsets, columns, forward, backward = table
    marks = np.zeros(_MARKS, np.bool_)
    for k in range(len(source_offsets) - 1):
        phrases_there = right[target_offsets[k] : target_offsets[k + 1]].ravel()
        order = np.argsort(phrases_there)
        phrases_there = phrases_there[order]
        first = np.searchsorted(phrases_there, 0)
        marks[phrases_there[first:] & (_MARKS - 1)] = True
        best = right_best[target_offsets[k] : target_offsets[k + 1]].reshape(len(phrases_there))
        for i in range(source_offsets[k], source_offsets[k + 1]):
            for n in range(left_phrases.shape[1]):
                row = left_phrases[i, n]
                if row < 0:
                    continue
                low, end = offsets[row], offsets[row + 1]
                if end - low > _SHORT * (len(phrases_there) - first):
                    _match_long((phrases_there, first, order), table, (low, end), left_best[i], n, best)
                    continue
                for e in range(low, end):
                    if marks[columns[e] & (_MARKS - 1)]:
                        place = np.searchsorted(phrases_there, columns[e])
                        while place < len(phrases_there) and phrases_there[place] == columns[e]:
                            _keep(forward, backward, e, left_best[i], n, best, order[place])
                            place += 1
        marks[phrases_there[first:] & (_MARKS - 1)] = False


@numba.njit(cache=True, nogil=True)
def _match_long(target_phrases: Any, table: Any, row: Any, left_best: Any, n: int, best: Any) -> None:
    phrases_there, first, order = target_phrases
    _, columns, forward, backward = table
    low, end = row
    for place in range(first, len(phrases_there)):
        low = _lower_bound(columns, low, end, phrases_there[place])
        if low == end:
            break
        if columns[low] == phrases_there[place]:
            _keep(forward, backward, low, left_best, n, best, order[place])


@numba.njit(cache=True, nogil=True)
def _keep(forward: Any, backward: Any, e: int, left_best: Any, n: int, best: Any, cell: int) -> None:
    left_best[n] = max(left_best[n], np.log(forward[e]))
    best[cell] = max(best[cell], np.log(backward[e]))


@numba.njit(cache=True, nogil=True)
def _lower_bound(columns: Any, low: Any, high: Any, wanted: Any) -> Any:
    step = 1
    while low + step < high and columns[low + step] < wanted:
        low += step
        step *= 2
    high = min(high, low + step)
    while low < high:
        middle = (low + high) >> 1
        if columns[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


def _segmented(tokens: Tokens, best: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    result = np.zeros((3, len(tokens)))
    _segment(tokens.offsets, best, result)
    return result[0], result[1], result[2]


@numba.njit(cache=True, nogil=True)
def _segment(offsets: Any, best: Any, result: Any) -> None:
    for k in range(len(offsets) - 1):
        m = offsets[k + 1] - offsets[k]
        pieces = np.full(m + 1, np.inf)
        uncovered, score = np.full(m + 1, np.inf), np.zeros(m + 1)
        pieces[0] = uncovered[0] = 0.0
        for j in range(m):
            for n in range(min(best.shape[1], m - j)):
                value = best[offsets[k] + j, n]
                alone = value == -np.inf
                if alone and n > 0:
                    continue
                new = (uncovered[j] + alone, pieces[j] + 1, -score[j] - (0.0 if alone else value))
                old = (uncovered[j + n + 1], pieces[j + n + 1], -score[j + n + 1])
                if new < old:
                    uncovered[j + n + 1], pieces[j + n + 1], score[j + n + 1] = new[0], new[1], -new[2]
        result[0, k], result[1, k], result[2, k] = pieces[m], uncovered[m], score[m]
