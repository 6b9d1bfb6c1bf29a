"""Which phrases of source and target the phrase table knows, and which of them translate each other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.core.array_types import FloatArray
from features.core.columns import Column, block, features_of
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.core.tokens import Tokens, ratio, segment_mean, segment_sum
from features.resources.phrase_table import PhraseTable

_MEHDAD = "Mehdad et al. 2012 (adequacy, WMT12), section 3: phrase table matching"
_DCU = "DCU-SYMC at WMT12, section 2.1"
_OWN = "this project: cover of the segment by matching phrase pairs"
_KNOWN = "this project: n-grams that the phrase table knows"

LONGEST = 5
_SHORT = 8  # translations, per phrase of the other side, up to which they are gone through one by one
_MARKS = 4096  # places in the filter that tells phrases of the other side from all others; a power of 2


@dataclass(frozen=True, eq=False)
class PhraseTableFeatures(Extractor):
    """Shares of known and of matching n-grams, and segmentations into as few phrases as possible.

    An n-gram is known where it is a phrase of its side of the table, and matches where one of its
    translations in the table occurs in the other side's text. Mehdad et al. match lemmas and stems beside
    tokens; here it is tokens alone, those of the table. Everything is NaN if the source or the target has
    no tokens; shares of n-grams even if the text is shorter than n.
    """

    phrase_table: PhraseTable

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(COLUMNS)

    def extract(self, segments: Segments) -> FloatArray:
        values = block(COLUMNS, _Given(self.phrase_table, segments))
        values[(segments.source_tokens.lengths == 0) | (segments.target_tokens.lengths == 0)] = np.nan
        return values


@dataclass(frozen=True, eq=False)
class _Side:
    """One side: the n-grams from each token (n_tokens, LONGEST): known, matching, best log probability."""

    tokens: Tokens
    known: NDArray[np.bool_]
    best: FloatArray

    @property
    def matching(self) -> NDArray[np.bool_]:
        return np.isfinite(self.best)

    def share(self, mask: NDArray[np.bool_], n: int) -> FloatArray:
        """(n_segments,) share of the n-grams; NaN if there is none."""
        ngrams = np.maximum(self.tokens.lengths - n + 1, 0)
        return ratio(segment_sum(mask[:, n - 1], self.tokens.offsets), ngrams)

    @cached_property
    def known_phrases(self) -> FloatArray:
        """Fewest known phrases (or single unknown words) that make up each segment."""
        return _segmented(self.tokens, np.where(self.known, 0.0, -np.inf))[0]

    @cached_property
    def cover(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of the segmentation into fewest matching phrases: phrases, uncovered words, log probability."""
        return _segmented(self.tokens, self.best)


@dataclass(frozen=True, eq=False)
class _Given:
    table: PhraseTable
    segments: Segments

    @cached_property
    def sides(self) -> dict[str, _Side]:
        source, target = self.segments.source_tokens, self.segments.target_tokens
        left, right = self.table.phrases(source, "source"), self.table.phrases(target, "target")
        left_best, right_best = np.full(left.shape, -np.inf), np.full(right.shape, -np.inf)
        _match(
            source.offsets,
            target.offsets,
            left,
            right,
            self.table.offsets,
            self.table.target,
            self.table.forward,
            self.table.backward,
            left_best,
            right_best,
        )
        return {
            "source": _Side(source, _padded(left >= 0, False), _padded(left_best, -np.inf)),
            "target": _Side(target, _padded(right >= 0, False), _padded(right_best, -np.inf)),
        }


def _padded(values: NDArray[Any], missing: Any) -> NDArray[Any]:
    """Exactly LONGEST columns, whatever the table's longest phrases."""
    wide = np.full((len(values), LONGEST), missing, values.dtype)
    n = min(LONGEST, values.shape[1])
    wide[:, :n] = values[:, :n]
    return wide


@numba.njit(cache=True, nogil=True)
def _match(
    source_offsets: Any, target_offsets: Any, left: Any, right: Any, offsets: Any, columns: Any,
    forward: Any, backward: Any, left_best: Any, right_best: Any,
) -> None:  # fmt: skip
    """The best log p(target | source) of each source n-gram whose translation occurs, and the reverse."""
    marks = np.zeros(_MARKS, np.bool_)
    for k in range(len(source_offsets) - 1):
        there = right[target_offsets[k] : target_offsets[k + 1]].ravel()
        order = np.argsort(there)
        there = there[order]
        first = np.searchsorted(there, 0)
        marks[there[first:] & (_MARKS - 1)] = True
        best = right_best[target_offsets[k] : target_offsets[k + 1]].reshape(len(there))
        for i in range(source_offsets[k], source_offsets[k + 1]):
            for n in range(left.shape[1]):
                row = left[i, n]
                if row < 0:
                    continue
                low, end = offsets[row], offsets[row + 1]
                if end - low > _SHORT * (len(there) - first):
                    _match_long(
                        there, first, order, columns, low, end, forward, backward, left_best[i], n, best
                    )
                    continue
                for e in range(low, end):
                    if marks[columns[e] & (_MARKS - 1)]:
                        place = np.searchsorted(there, columns[e])
                        while place < len(there) and there[place] == columns[e]:
                            _keep(forward, backward, e, left_best[i], n, best, order[place])
                            place += 1
        marks[there[first:] & (_MARKS - 1)] = False


@numba.njit(cache=True, nogil=True)
def _match_long(
    there: Any, first: int, order: Any, columns: Any, low: int, end: int, forward: Any, backward: Any,
    left_best: Any, n: int, best: Any,
) -> None:  # fmt: skip
    """Of a phrase with very many translations: searches them for the phrases of the other side."""
    for place in range(first, len(there)):
        low = _first_at_least(columns, low, end, there[place])
        if low == end:
            break
        if columns[low] == there[place]:
            _keep(forward, backward, low, left_best, n, best, order[place])


@numba.njit(cache=True, nogil=True)
def _keep(forward: Any, backward: Any, e: int, left_best: Any, n: int, best: Any, cell: int) -> None:
    """The larger log probabilities, of entry `e` or of those before."""
    left_best[n] = max(left_best[n], np.log(forward[e]))
    best[cell] = max(best[cell], np.log(backward[e]))


@numba.njit(cache=True, nogil=True)
def _first_at_least(columns: Any, low: Any, high: Any, wanted: Any) -> Any:
    """Galloping search: the first place from `low` on that holds `wanted` or more."""
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
    """(phrases, words in none, log probability of the phrases) of the segmentation with fewest pieces."""
    result = np.zeros((3, len(tokens)))
    _segment(tokens.offsets, best, result)
    return result[0], result[1], result[2]


@numba.njit(cache=True, nogil=True)
def _segment(offsets: Any, best: Any, result: Any) -> None:
    """Dynamic programming: fewest uncovered words, then fewest pieces, then the largest log probability."""
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


def _known_share(given: _Given, side: str, n: int) -> FloatArray:
    own = given.sides[side]
    return own.share(own.known, n)


def _matching_share(given: _Given, side: str, n: int) -> FloatArray:
    own = given.sides[side]
    return own.share(own.matching, n)


def _matching_of_known(given: _Given, side: str) -> FloatArray:
    own = given.sides[side]
    matching = segment_sum(own.matching.sum(axis=1), own.tokens.offsets)
    return ratio(matching, segment_sum(own.known.sum(axis=1), own.tokens.offsets))


def _phrase_length(given: _Given, side: str) -> FloatArray:
    own = given.sides[side]
    return ratio(own.tokens.lengths, own.known_phrases)


def _longest_match(given: _Given, side: str) -> FloatArray:
    """Mean over the tokens of the longest matching phrase that starts there."""
    own = given.sides[side]
    longest = (own.matching * np.arange(1, LONGEST + 1)).max(axis=1)
    return segment_mean(longest, own.tokens.offsets)


def _column(
    name: str, description: str, origin: str, unit: str, function: Callable[[_Given], FloatArray]
) -> Column[_Given]:
    return Column(f"phrases_{name}", description, origin, unit, function)


def _columns_of_side(side: str) -> list[Column[_Given]]:
    other = "target" if side == "source" else "source"
    return [
        *(
            _column(
                f"{side}_matching_{n}",
                f"share of {side} {n}-grams with a translation in the {other}; NaN without {n}-grams",
                _MEHDAD, "share", partial(_matching_share, side=side, n=n),
            )
            for n in range(1, LONGEST + 1)
        ),
        *(
            _column(
                f"{side}_known_{n}",
                f"share of {side} {n}-grams that the phrase table knows; NaN without {n}-grams",
                _KNOWN, "share", partial(_known_share, side=side, n=n),
            )
            for n in range(1, LONGEST + 1)
        ),
        _column(
            f"{side}_matching_of_known",
            f"matching / known {side} n-grams of all lengths; NaN if none is known", _OWN, "share",
            partial(_matching_of_known, side=side),
        ),
        _column(
            f"{side}_count", f"fewest known phrases that make up the {side}; an unknown word is one", _DCU,
            "phrases", lambda g: g.sides[side].known_phrases,
        ),
        _column(
            f"{side}_length", f"{side} tokens / fewest known phrases", _DCU, "tokens",
            partial(_phrase_length, side=side),
        ),
        _column(
            f"{side}_cover_count", f"fewest matching phrases that cover the {side} as far as possible, words "
            "outside included", _OWN, "phrases", lambda g: g.sides[side].cover[0],
        ),
        _column(
            f"{side}_uncovered", f"share of {side} tokens in no matching phrase of that cover", _OWN, "share",
            lambda g: ratio(g.sides[side].cover[1], g.sides[side].tokens.lengths),
        ),
        _column(
            f"{side}_cover_log", f"log p({other} phrase | {side} phrase) of that cover / {side} tokens", _OWN,
            "natural logarithm per token",
            lambda g: ratio(g.sides[side].cover[2], g.sides[side].tokens.lengths),
        ),
        _column(
            f"{side}_longest_match", f"mean length of the longest matching phrase from each {side} token",
            _OWN, "tokens", partial(_longest_match, side=side),
        ),
    ]  # fmt: skip


COLUMNS = (
    *_columns_of_side("source"),
    *_columns_of_side("target"),
    _column(
        "length_ratio",
        "mean source phrase length / mean target phrase length",
        _DCU,
        "ratio",
        lambda g: ratio(_phrase_length(g, "source"), _phrase_length(g, "target")),
    ),
)
