"""Token counts as defined in the papers, if `surface` defines them otherwise."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, get_args

import numpy as np
import regex

from features.basics.array_types import FloatArray
from features.basics.distinct import distinct
from features.core.columns import Column
from features.core.segments import Segments
from features.surface import COUNTED, MARK_KINDS, OTHER_PATTERNS, counted, is_punctuation, is_quote
from features.text.corpus import Side
from features.text.tokens import Tokens, ratio, segment_sum
from qe_papers.families import ColumnFamily

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


@dataclass(frozen=True)
class TokenCounts(ColumnFamily):
    """Distinct words, bigrams, brackets, genitives, inner capitalised words, on both sides.

    Also ratios of punctuation marks, quotation marks and brackets, NaN for a denominator of 0; absolute
    differences in single marks; the D of lexical diversity.
    """

    plain: ClassVar[str] = "lengths, punctuation and capitals"

    @property
    def columns(self) -> Sequence[Column[dict[str, Tokens]]]:
        return tuple(_columns())

    def prepared(self, segments: Segments) -> dict[str, Tokens]:
        return {"source": segments.source_tokens, "target": segments.target_tokens}


def _types(tokens: Tokens) -> FloatArray:
    words = tokens.lower()
    pairs = distinct(words.text_index * max(len(words.types), 1) + words.ids)
    counts = np.bincount(pairs // max(len(words.types), 1), minlength=len(tokens))
    return counts.astype(np.float64)


def _diversity(tokens: Tokens) -> FloatArray:
    return diversity(tokens.lengths.astype(np.float64), _types(tokens))


def diversity(tokens: FloatArray, types: FloatArray) -> FloatArray:
    """D of Malvern and Richards: types^2 / (2 (tokens - types)); NaN (infinite) if no word repeats.

    >>> diversity(np.array([12.0, 3.0]), np.array([8.0, 3.0]))
    array([ 8., nan])
    """
    return ratio(types**2, 2 * (tokens - types))


def _bigrams(tokens: Tokens) -> FloatArray:
    return np.maximum(tokens.lengths - 1, 0).astype(np.float64)


def _brackets(tokens: Tokens) -> FloatArray:
    return _by_text(tokens, lambda words: sum(word in _BRACKETS for word in words))


def _genitives(tokens: Tokens) -> FloatArray:
    return _by_text(tokens, genitives)


def _inner_capitals(tokens: Tokens) -> FloatArray:
    return _by_text(tokens, inner_capitals)


def _quotes(tokens: Tokens) -> FloatArray:
    return _count_tokens(tokens, is_quote)


def _count_tokens(tokens: Tokens, rule: Callable[[str], bool]) -> FloatArray:
    by_type = np.array([rule(token) for token in tokens.types], bool)
    return segment_sum(by_type[tokens.ids], tokens.offsets)


def _by_text(tokens: Tokens, count: Callable[[Sequence[str]], int]) -> FloatArray:
    return np.array([count(tokens.words(i)) for i in range(len(tokens))], np.float64)


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


def _values(side: Side, function: OfTokens, sides: dict[str, Tokens]) -> FloatArray:
    return function(sides[side])


def _has(function: OfTokens, sides: dict[str, Tokens]) -> FloatArray:
    return (function(sides["source"]) > 0).astype(np.float64)


def _ratio(function: OfTokens, above: Side, below: Side, sides: dict[str, Tokens]) -> FloatArray:
    return ratio(function(sides[above]), function(sides[below]))


def _ratios() -> Iterator[Column[dict[str, Tokens]]]:
    both: tuple[tuple[Side, Side], ...] = (("target", "source"), ("source", "target"))
    for name, what, function, names in (
        ("punctuation", "punctuation marks", partial(_count_tokens, rule=is_punctuation), ("inverse_ratio",)),
        ("quote", "single and double quotation marks", _quotes, ("ratio", "inverse_ratio")),
        ("bracket", "opening and closing brackets", _brackets, ("ratio", "inverse_ratio")),
    ):
        for kind, (above, below) in zip(names, both, strict=False):
            yield Column(
                f"{name}_{kind}",
                f"{what}, {above} by {below}; NaN if the {below} has none",
                _ADEQUACY,
                "ratio",
                partial(_ratio, function, above, below),
            )


def _absolute(rule: Callable[[str], bool], sides: dict[str, Tokens]) -> FloatArray:
    return np.abs(_count_tokens(sides["target"], rule) - _count_tokens(sides["source"], rule))


def _marks() -> Iterator[Column[dict[str, Tokens]]]:
    for name in MARK_KINDS:
        what, rule, _ = OTHER_PATTERNS[name]
        yield Column(
            f"{name}_absolute_difference",
            f"{what}, absolute difference of target and source",
            _MARKS,
            "tokens",
            partial(_absolute, rule),
        )


def _columns() -> Iterator[Column[dict[str, Tokens]]]:
    for name, what, origin, unit, function in (
        ("types", "distinct words", _WLV, "words", _types),
        ("bigrams", "tokens less one, at least 0", _BIGRAMS, "bigrams", _bigrams),
        ("brackets", "opening and closing brackets", _UU, "tokens", _brackets),
        ("genitives", "`'s` and `s'`", _UEDIN, "tokens", _genitives),
        ("inner_capitals", "capitalised words that do not begin a sentence", _SJTU, "words", _inner_capitals),
    ):
        for side in get_args(Side):
            of_side = partial(_values, side, function)
            plain = counted(what, side) if unit in COUNTED else ""
            yield Column(f"{name}_{side}", f"{what}, {side}", origin, unit, of_side, plain=plain)
    yield Column(
        "brackets_squared_difference",
        "opening and closing brackets, squared difference of target and source",
        _UU,
        "tokens^2",
        lambda sides: (_brackets(sides["target"]) - _brackets(sides["source"])) ** 2,
    )
    for name, what, has in (
        ("genitives", "`'s` or `s'`", _genitives), ("brackets", "opening or closing brackets", _brackets),
    ):  # fmt: skip
        yield Column(f"has_{name}", f"1 if the source has {what}", _UEDIN, "0 or 1", partial(_has, has))
    yield from _ratios()
    for side in get_args(Side):
        description = f"D of types and tokens: types^2 / (2 (tokens - types)); NaN if no word repeats, {side}"
        yield Column(f"diversity_d_{side}", description, _D, "ratio", partial(_values, side, _diversity))
    yield from _marks()
