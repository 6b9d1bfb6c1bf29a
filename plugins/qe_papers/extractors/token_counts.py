"""Token counts as defined in the papers, if `surface` defines them otherwise."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

import numpy as np
import regex

from features.basics.array_types import FloatArray
from features.basics.distinct import distinct
from features.core.columns import Column
from features.core.segments import Segments
from features.surface import COUNTED, MARK_KINDS, OTHER_PATTERNS, counted, is_punctuation, is_quote
from features.text.corpus import Side
from features.text.tokens import Tokens, ratio, segment_sum
from qe_papers.families import SIDES, ColumnFamily

_WORD: Final = regex.compile(r"[\p{L}\p{M}]+(?:[-'’][\p{L}\p{M}]+)*")
_BRACKETS: Final = frozenset("()[]{}")
_APOSTROPHES: Final = frozenset("'’")
_GENITIVES: Final = frozenset({"'s", "’s"})

_UU: Final = "Hardmeier et al. 2012 (UU), section 2.1"
_WLV: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.2"
_BIGRAMS: Final = "Felice and Specia 2012 (WLV-SHEF), table 3"
_MARKS: Final = "Felice and Specia 2012 (WLV-SHEF), tables 3 and 4"
_D: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.2, for Jarvis 2002"
_UEDIN: Final = "Buck 2012 (UEdin), sections 3.1 and 4.2"
_SJTU: Final = "Wu and Zhao 2012 (SJTU), section 3.2 (for named entities)"
_ADEQUACY: Final = "Mehdad et al. 2012 (adequacy, WMT12), section 3.1: surface form (F)"

OfTokens = Callable[[Tokens], FloatArray]
Texts = dict[str, Tokens]  # of both sides


@dataclass(frozen=True)
class TokenCounts(ColumnFamily):
    """Distinct words, bigrams, brackets, genitives, inner capitalised words, on both sides.

    Also ratios of punctuation marks, quotation marks and brackets, NaN for a denominator of 0; absolute
    differences in single marks; the D of lexical diversity.
    """

    plain: ClassVar[str] = "lengths, punctuation and capitals"

    @property
    def columns(self) -> Sequence[Column[Texts]]:
        return [*_of_sides(), *_comparisons()]

    def prepared(self, segments: Segments) -> Texts:
        return {"source": segments.source_tokens, "target": segments.target_tokens}


def _types(tokens: Tokens) -> FloatArray:
    words = tokens.lower()
    pairs = distinct(words.text_index * max(len(words.types), 1) + words.ids)
    counts = np.bincount(pairs // max(len(words.types), 1), minlength=len(tokens))
    return counts.astype(np.float64)


def diversity(tokens: FloatArray, types: FloatArray) -> FloatArray:
    """D of Malvern and Richards: types^2 / (2 (tokens - types)); NaN (infinite) if no word repeats.

    >>> diversity(np.array([12.0, 3.0]), np.array([8.0, 3.0]))
    array([ 8., nan])
    """
    return ratio(types**2, 2 * (tokens - types))


def _marks(rule: Callable[[str], bool]) -> OfTokens:
    def count(tokens: Tokens) -> FloatArray:
        by_type = np.array([rule(token) for token in tokens.types], bool)
        return segment_sum(by_type[tokens.ids], tokens.offsets)

    return count


def _by_text(count: Callable[[Sequence[str]], int]) -> OfTokens:
    return lambda tokens: np.array([count(tokens.words(i)) for i in range(len(tokens))], np.float64)


def genitives(words: Sequence[str]) -> int:
    """Occurrences of `'s` and `s'` among the tokens of a text.

    An apostrophe after a word in s is no genitive if it closes a quotation.
    """
    total, quoted = 0, False
    for i, word in enumerate(words):
        before = words[i - 1].lower() if i else ""
        after = words[i + 1].lower() if i + 1 < len(words) else ""
        if word.lower() in _GENITIVES or word.lower().endswith(("s'", "s’")):
            total += 1
        elif word in _APOSTROPHES:
            if before and (after == "s" or (before.endswith("s") and not quoted)):
                total += 1
            else:
                quoted = not quoted
    return total


def inner_capitals(words: Sequence[str]) -> int:
    """Words that begin with a capital, except after `.`, `?`, `!` and at the start of the text."""
    total, begins = 0, True
    for word in words:
        if _WORD.fullmatch(word):
            total += word[0] != word[0].lower() and not begins
            begins = False
        else:
            begins = begins or word in (".", "?", "!")
    return total


_GENITIVE, _BRACKET = _by_text(genitives), _marks(_BRACKETS.__contains__)


def _side_values(side: Side, function: OfTokens) -> Callable[[Texts], FloatArray]:
    return lambda sides: function(sides[side])


def _compared(
    function: OfTokens, compare: Callable[[FloatArray, FloatArray], FloatArray]
) -> Callable[[Texts], FloatArray]:
    return lambda sides: compare(function(sides["target"]), function(sides["source"]))


def _of_sides() -> Iterator[Column[Texts]]:
    capitals = "capitalised words that do not begin a sentence"
    rows: Sequence[tuple[str, str, str, str, OfTokens]] = (
        ("types", "distinct words", _WLV, "words", _types),
        ("bigrams", "tokens less one, at least 0", _BIGRAMS, "bigrams",
         lambda tokens: np.maximum(tokens.lengths - 1, 0).astype(np.float64)),
        ("brackets", "opening and closing brackets", _UU, "tokens", _BRACKET),
        ("genitives", "`'s` and `s'`", _UEDIN, "tokens", _GENITIVE),
        ("inner_capitals", capitals, _SJTU, "words", _by_text(inner_capitals)),
    )  # fmt: skip
    for name, what, origin, unit, function in rows:
        for side in SIDES:
            plain = counted(what, side) if unit in COUNTED else ""
            yield Column(
                f"{name}_{side}", f"{what}, {side}", origin, unit, _side_values(side, function), plain=plain
            )


def _comparisons() -> Iterator[Column[Texts]]:
    text = "opening and closing brackets, squared difference of target and source"
    squares = _compared(_BRACKET, lambda target, source: (target - source) ** 2)
    yield Column("brackets_squared_difference", text, _UU, "tokens^2", squares)
    for name, what, has in (
        ("genitives", "`'s` or `s'`", _GENITIVE), ("brackets", "opening or closing brackets", _BRACKET),
    ):  # fmt: skip
        there = _compared(has, lambda _, source: (source > 0).astype(np.float64))
        yield Column(f"has_{name}", f"1 if the source has {what}", _UEDIN, "0 or 1", there)
    quotes = "single and double quotation marks"
    inverse = partial(_compared, compare=lambda target, source: ratio(source, target))
    for name, what, values, (above, below) in (
        ("punctuation_inverse", "punctuation marks", _compared(_marks(is_punctuation), ratio), SIDES[::-1]),
        ("quote", quotes, _compared(_marks(is_quote), ratio), SIDES[::-1]),
        ("quote_inverse", quotes, inverse(_marks(is_quote)), SIDES),
        ("bracket", "opening and closing brackets", _compared(_BRACKET, ratio), SIDES[::-1]),
        ("bracket_inverse", "opening and closing brackets", inverse(_BRACKET), SIDES),
    ):
        text = f"{what}, {above} by {below}; NaN if the {below} has none"
        yield Column(f"{name}_ratio", text, _ADEQUACY, "ratio", values)
    for side in SIDES:
        text = f"D of types and tokens: types^2 / (2 (tokens - types)); NaN if no word repeats, {side}"
        dispersed = _side_values(
            side, lambda tokens: diversity(tokens.lengths.astype(np.float64), _types(tokens))
        )
        yield Column(f"diversity_d_{side}", text, _D, "ratio", dispersed)
    for name in MARK_KINDS:
        what, rule, _ = OTHER_PATTERNS[name]
        gap = _compared(_marks(rule), lambda target, source: np.abs(target - source))
        text = f"{what}, absolute difference of target and source"
        yield Column(f"{name}_absolute_difference", text, _MARKS, "tokens", gap)
