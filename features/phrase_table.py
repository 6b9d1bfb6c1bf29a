"""Phrases of source and target that the phrase table knows, and phrases that match."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.columns import Column, ColumnExtractor, ColumnGroups, without_empty
from features.core.configured import PartName
from features.core.segments import Segments
from features.resources.phrase_table import PhraseTable, part_of_units
from features.syntax.phrase_units import WHAT, Units, in_units
from features.text.tokens import Tokens, ratio, segment_mean, segment_sum

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


_MEHDAD = "Mehdad et al. 2012 (adequacy, WMT12), section 3: phrase table matching"
_DCU = "DCU-SYMC at WMT12, section 2.1"
_PRHLT = "PRHLT-UPV at WMT12, section 2.2"
_OWN = "this project: cover of the segment by matching phrase pairs"
_KNOWN = "this project: n-grams that the phrase table knows"
_PT = "Mehdad et al. 2012 (adequacy, WMT12), section 3.1: phrase table matching (PT)"
_SPT = "Mehdad et al. 2012 (adequacy, WMT12), section 3.1: semantic phrase tables (SPT)"
_ORIGINS: Mapping[Units, str] = {
    "lemma": f"{_PT}, lemmas",
    "stem": f"{_PT}, stems",
    "name": f"{_SPT}, entities by form",
    "entity": _SPT,
}


@dataclass(frozen=True, eq=False)
class PhraseTableFeatures(ColumnExtractor):
    """Shares of known and of matching n-grams, and segmentations into fewest phrases.

    An n-gram is known where it is a phrase of its side of the table, and matches where one of its
    translations in the table occurs in the other side's text. Everything is NaN if the source or the target
    has no tokens; shares of n-grams even if the text is shorter than n.

    units  what n-grams are made of. Other units than `word` have shares of matching n-grams alone, by
           the part of that name (`lemma_phrase_table`): base forms by simplemma (`lemma`); the first five
           letters (`stem`); types of entities in their place, a word with a digit a number (`entity`); or
           labels for words with a capital that begin no text and for words with a digit (`name`). Several
           labels of a type in a row are one token.

    options  with the number of translations that the table has for all n-grams of the source, at most the 20
             likeliest of each, and their mean size, as a decoder looks at; of units `word`

    Raises InputError for a language without base forms (`lemma`), words without an entity tag (`entity`), and
    a table of other units.
    """

    plain: ClassVar[str] = "how well known phrases explain the {text}"

    variants: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"units": "lemma"},
        {"units": "stem"},
        {"units": "name"},
        {"units": "entity"},
    )

    phrase_table: Annotated[PhraseTable, PartName(part_of_units)]
    units: Units = "word"
    options: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.phrase_table.units != self.units:
            raise InputError(
                f"units are `{self.units}`, but the phrases of the table are of `{self.phrase_table.units}`",
                location="extractor 'phrase_table'",
                remedy="leave out `phrase_table`, or name a part with phrases of such units",
            )
        if self.options and self.units != "word":
            raise InputError(
                f"`options` are of words, but units are `{self.units}`",
                location="extractor 'phrase_table'",
                remedy="leave out one of the two",
            )

    def column_groups(self) -> ColumnGroups:
        if self.units == "word":
            return [((*COLUMNS, *OF_OPTIONS) if self.options else COLUMNS, self._matches)]
        columns, origin = [], _ORIGINS[self.units]
        for side, other in (("source", "target"), ("target", "source")):
            for n in range(1, LONGEST + 1):
                name = f"{self.units}_phrases_{side}_matching_{n}"
                what = f"{n}-grams of {WHAT[self.units]} with a translation in the {other}; NaN without any"
                share = partial(_matching_share, n)
                columns.append(_column(name, f"share of {side} {what}", origin, "share", share, side))
        return [(columns, self._matches)]

    def requires(self) -> tuple[str, ...]:
        return ("annotation_source", "annotation_target") if self.units == "entity" else ()

    def _matches(self, segments: Segments) -> Matches:
        source_tags = target_tags = None
        if self.units == "entity":
            source_tags = segments.source_annotated.entity_tags
            target_tags = segments.target_annotated.entity_tags
        source = in_units(segments.source_tokens, self.units, segments.source_tokenizer.language, source_tags)
        target = in_units(segments.target_tokens, self.units, segments.target_tokenizer.language, target_tags)
        return Matches(self.phrase_table, source.tokens, target.tokens)

    def extract(self, segments: Segments) -> FloatArray:
        return without_empty(super().extract(segments), segments.source_tokens, segments.target_tokens)


def _matching_share(n: int, phrases: MatchedSide) -> FloatArray:
    return phrases.share(phrases.matching, n)


def _matching_of_known(phrases: MatchedSide) -> FloatArray:
    matching = segment_sum(phrases.matching.sum(axis=1), phrases.tokens.offsets)
    return ratio(matching, segment_sum(phrases.has_phrase.sum(axis=1), phrases.tokens.offsets))


def _phrase_length(phrases: MatchedSide) -> FloatArray:
    return ratio(phrases.tokens.lengths, phrases.known_phrases)


def _longest_match(phrases: MatchedSide) -> FloatArray:
    longest = (phrases.matching * np.arange(1, LONGEST + 1)).max(axis=1)
    return segment_mean(longest, phrases.tokens.offsets)


def _column(
    name: str,
    description: str,
    origin: str,
    unit: str,
    function: Callable[[MatchedSide], FloatArray],
    side: str,
) -> Column[Matches]:
    column = Column(name, description, origin, unit, function)
    return column.with_preparation(lambda matches: matches.sides[side])


def _columns_of_side(side: str) -> Iterator[Column[Matches]]:
    other = "target" if side == "source" else "source"
    for n in range(1, LONGEST + 1):
        yield _column(f"phrases_{side}_matching_{n}",
            f"share of {side} {n}-grams with a translation in the {other}; NaN without {n}-grams", _MEHDAD,
            "share", partial(_matching_share, n), side)  # fmt: skip
    for n in range(1, LONGEST + 1):
        yield _column(f"phrases_{side}_known_{n}",
            f"share of {side} {n}-grams that the phrase table knows; NaN without {n}-grams", _KNOWN,
            "share", partial(lambda n, phrases: phrases.share(phrases.has_phrase, n), n), side)  # fmt: skip
    yield _column(f"phrases_{side}_matching_of_known",
        f"matching / known {side} n-grams of all lengths; NaN if none is known", _OWN, "share",
        _matching_of_known, side)  # fmt: skip
    yield _column(f"phrases_{side}_count",
        f"fewest known phrases that make up the {side}; an unknown word is one", _DCU, "phrases",
        lambda phrases: phrases.known_phrases, side)  # fmt: skip
    yield _column(f"phrases_{side}_length", f"{side} tokens / fewest known phrases", _DCU, "tokens",
        _phrase_length, side)  # fmt: skip
    yield _column(f"phrases_{side}_cover_count",
        f"fewest matching phrases that cover the {side} as far as possible, words outside included", _OWN,
        "phrases", lambda phrases: phrases.cover[0], side)  # fmt: skip
    yield _column(f"phrases_{side}_uncovered", f"share of {side} tokens in no matching phrase of that cover",
        _OWN, "share", lambda phrases: ratio(phrases.cover[1], phrases.tokens.lengths), side)  # fmt: skip
    yield _column(f"phrases_{side}_cover_log",
        f"log p({other} phrase | {side} phrase) of that cover / {side} tokens", _OWN,
        "natural logarithm per token", lambda phrases: ratio(phrases.cover[2], phrases.tokens.lengths),
        side)  # fmt: skip
    yield _column(f"phrases_{side}_longest_match",
        f"mean length of the longest matching phrase from each {side} token", _OWN, "tokens", _longest_match,
        side)  # fmt: skip


COLUMNS = (
    *_columns_of_side("source"),
    *_columns_of_side("target"),
    Column("phrases_length_ratio", "mean source phrase length / mean target phrase length", _DCU, "ratio",
        lambda g: ratio(_phrase_length(g.sides["source"]), _phrase_length(g.sides["target"]))),
)  # fmt: skip
OF_OPTIONS = (
    Column[Matches]("phrases_options",
        "translations in the table of all n-grams of the source, at most the 20 likeliest of each", _PRHLT,
        "phrases", lambda g: g.options[0]),
    Column[Matches]("phrases_options_size", "mean words of the translations; NaN without any", _PRHLT,
        "words", lambda g: ratio(g.options[1], g.options[0])),
)  # fmt: skip
