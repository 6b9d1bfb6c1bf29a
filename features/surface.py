"""Surface features: what the two texts look like, without any resource."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar, Final, Literal, get_args

import numpy as np
import regex
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray
from features.core.columns import Column, ColumnExtractor, ColumnGroups
from features.core.extractor import TEXTS, VALUE
from features.text.corpus import Side
from features.text.tokens import Tokens, ratio, segment_mean, segment_sum

Rule = Callable[[str], bool]
Key = Callable[[str], str | None]

UU: Final = "Hardmeier et al. 2012 (UU), section 2.1"
WLV: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.2"
WLV_LINGUISTIC: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1"
LORIA: Final = "Langlois et al. 2012 (LORIA), section 4"
UEDIN: Final = "Buck 2012 (UEdin), section 3.1"
DCU: Final = "Rubino et al. 2012 (DCU-SYMC), section 2.1"
QUEST: Final = "QuEst feature {} (Specia et al. 2013)"
OWN: Final = "this project: differences, capitals, repetitions and characters"
NOTES: Final = "QUALITY-NOTES, first study: untranslated words among the first fifteen selected"

COUNTED: Final = frozenset({"tokens", "words", "characters"})  # units that a translator counts, too
CLOSING_OF: Final[Mapping[str, str]] = {"(": ")", "[": "]", "{": "}"}
CLOSING: Final = frozenset(CLOSING_OF.values())
SINGLE_QUOTES: Final = frozenset("'‘’‚‛`´")
DOUBLE_QUOTES: Final = frozenset('"“”„‟«»') | {"''", "``"}
FINAL_MARKS: Final = frozenset(".:;?!,)…") | SINGLE_QUOTES | DOUBLE_QUOTES | {"...", "¿", "¡"}
SPLIT_CONTRACTIONS: Final = frozenset({("a", "el"), ("de", "el")})

_WORD: Final = regex.compile(r"[\p{L}\p{M}]+(?:[-'’][\p{L}\p{M}]+)*")
_NUMBER: Final = regex.compile(r"\p{N}+(?:[.,:/-]\p{N}+)*")
_PUNCTUATION: Final = regex.compile(r"[\p{P}`´]+")
_LETTER_OR_MARK: Final = regex.compile(r"[\p{L}\p{M}]")


@dataclass(frozen=True)
class Surface(ColumnExtractor):
    """Lengths, token patterns, punctuation, type/token ratios, brackets, copies, numbers.

    `COLUMNS` lists them. Everything is counted on tokens. A ratio without anything to divide by is NaN.
    """

    plain: ClassVar[str] = "lengths, punctuation and capitals"

    def column_groups(self) -> ColumnGroups:
        return [(COLUMNS, lambda segments: Pair(Text(segments.source_tokens), Text(segments.target_tokens)))]


@dataclass(frozen=True, eq=False)
class Text:
    tokens: Tokens
    _counts: dict[Rule, FloatArray] = field(default_factory=dict, repr=False)

    def location(self, rule: Rule) -> BoolArray:
        by_type = np.fromiter(map(rule, self.tokens.types), bool, len(self.tokens.types))
        return by_type[self.tokens.ids]

    def count(self, rule: Rule) -> FloatArray:
        if rule not in self._counts:
            self._counts[rule] = segment_sum(self.location(rule), self.tokens.offsets)
        return self._counts[rule]

    def share(self, rule: Rule) -> FloatArray:
        return segment_mean(self.location(rule), self.tokens.offsets)

    @cached_property
    def lengths(self) -> FloatArray:
        return self.tokens.lengths.astype(np.float64)

    @cached_property
    def characters(self) -> FloatArray:
        return self.sum(len)

    def sum(self, measure: Callable[[str], int]) -> FloatArray:
        by_type = np.fromiter(map(measure, self.tokens.types), np.int64, len(self.tokens.types))
        return segment_sum(by_type[self.tokens.ids], self.tokens.offsets)

    @cached_property
    def occurrences(self) -> NDArray[np.int64]:
        """Number (n_tokens,) of occurrences of the token's word (lower-cased) in its text."""
        words = self.tokens.lower()
        keys = words.text_index * max(len(words.types), 1) + words.ids
        _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return np.asarray(counts[inverse], np.int64)

    @cached_property
    def types(self) -> FloatArray:
        return np.rint(segment_sum(1.0 / self.occurrences, self.tokens.offsets))

    @cached_property
    def is_followed(self) -> BoolArray:
        follows = np.ones(len(self.tokens.ids), bool)
        follows[self.tokens.offsets[1:][self.tokens.lengths > 0] - 1] = False
        return follows

    def edge(self, rule: Rule, position: Literal["first", "last"]) -> FloatArray:
        """1 if the rule holds for the first or last token, else 0 (n,); NaN for an empty text."""
        full = self.tokens.lengths > 0
        at = self.tokens.offsets[:-1] if position == "first" else self.tokens.offsets[1:] - 1
        result = np.full(len(self.tokens), np.nan)
        result[full] = self.location(rule)[at[full]]
        return result


@dataclass(frozen=True, eq=False)
class Pair:
    source: Text
    target: Text
    _overlaps: dict[Key, "Overlap"] = field(default_factory=dict, repr=False)

    def side(self, name: Side) -> Text:
        return self.source if name == "source" else self.target

    def overlap(self, key: Key) -> "Overlap":
        """Tokens that both sides share, by `key` of a token (None: ignored); computed once."""
        if key in self._overlaps:
            return self._overlaps[key]
        index: dict[str, int] = {}
        rows, ids = [], []
        for tokens in (self.source.tokens, self.target.tokens):
            keys = [key(token) for token in tokens.types]
            by_type = np.array([-1 if k is None else index.setdefault(k, len(index)) for k in keys], np.int64)
            by_token = by_type[tokens.ids] if keys else np.empty(0, np.int64)
            rows.append(tokens.text_index[by_token >= 0])
            ids.append(by_token[by_token >= 0])
        width = max(len(index), 1)
        codes = np.concatenate(rows) * width + np.concatenate(ids)
        distinct, location = np.unique(codes, return_inverse=True)
        left = np.bincount(location[: len(rows[0])], minlength=len(distinct))
        right = np.bincount(location[len(rows[0]) :], minlength=len(distinct))
        missing, added, shared = (
            np.bincount(distinct // width, values, minlength=len(self.source.tokens)).astype(np.float64)
            for values in (np.maximum(left - right, 0), np.maximum(right - left, 0), np.minimum(left, right))
        )
        self._overlaps[key] = Overlap(missing, added, shared)
        return self._overlaps[key]


@dataclass(frozen=True, eq=False)
class Overlap:
    """Tokens (n,) of two texts as multisets: missing in the target, added in the target, shared."""

    missing: FloatArray
    added: FloatArray
    shared: FloatArray


Columns = Iterator[Column[Pair]]
OfText = Callable[[Text], FloatArray]


def is_word(token: str) -> bool:
    """Letters, with hyphens and apostrophes between them."""
    return token.isalpha() or _WORD.fullmatch(token) is not None


def is_number(token: str) -> bool:
    return _NUMBER.fullmatch(token) is not None


def is_punctuation(token: str) -> bool:
    return _PUNCTUATION.fullmatch(token) is not None


def is_quote(token: str) -> bool:
    return token in SINGLE_QUOTES or token in DOUBLE_QUOTES


def is_ellipsis(token: str) -> bool:
    return token == "…" or (len(token) > 1 and not token.strip("."))


def has_capital(token: str) -> bool:
    return token != token.lower()


def is_upper(token: str) -> bool:
    """A word of two letters or more, all capitals."""
    return len(token) > 1 and token.isupper() and is_word(token)


def letters(token: str) -> int:
    return len(token) if token.isalpha() else len(_LETTER_OR_MARK.findall(token))


# name -> (what the tokens are, rule): the patterns of UU, with the squared difference of the two sides
UU_PATTERNS: Final[Mapping[str, tuple[str, Rule]]] = {
    "numbers": ("numbers", is_number),
    "opening_brackets": ("opening brackets", CLOSING_OF.__contains__),
    "closing_brackets": ("closing brackets", CLOSING.__contains__),
    "strong_punctuation": ("full stops, question and exclamation marks", frozenset(".?!").__contains__),
    "weak_punctuation": ("commas, colons and semicolons", frozenset(",:;").__contains__),
    "ellipses": ("ellipses", is_ellipsis),
    "hyphens": ("hyphens and dashes", lambda t: not t.strip("-–—‐")),
    "quotes": ("single and double quotation marks", is_quote),
    "apostrophe_s": ("`'s`", lambda t: t.lower() in ("'s", "’s")),
    "short_words": ("words of up to 3 letters", lambda t: is_word(t) and letters(t) <= 3),
    "long_words": ("words of 4 letters or more", lambda t: is_word(t) and letters(t) >= 4),
}

# name -> (what the tokens are, rule, origin): with the difference of the two sides
OTHER_PATTERNS: Final[Mapping[str, tuple[str, Rule, str]]] = {
    "full_stops": ("full stops", lambda t: t == ".", WLV),
    "commas": ("commas", lambda t: t == ",", WLV),
    "colons": ("colons", lambda t: t == ":", WLV),
    "semicolons": ("semicolons", lambda t: t == ";", WLV),
    "question_marks": ("question marks", lambda t: t == "?", WLV),
    "exclamation_marks": ("exclamation marks", lambda t: t == "!", WLV),
    "punctuation": ("punctuation marks", is_punctuation, WLV),
    "non_alphabetic": ("tokens that are not words", lambda t: not is_word(t), WLV),
    "capitalised": ("words that begin with a capital", lambda t: is_word(t) and has_capital(t[0]), OWN),
    "upper_case": ("words in capitals", is_upper, UEDIN),
    "with_digits": ("tokens with letters and digits", lambda t: has_digit(t) and letters(t) > 0, OWN),
}

# name -> number of the QuEst feature that is the difference by target tokens
MARK_KINDS: Final[Mapping[str, int]] = {
    "full_stops": 1063,
    "commas": 1065,
    "colons": 1067,
    "semicolons": 1069,
    "question_marks": 1071,
    "exclamation_marks": 1073,
}


def has_digit(token: str) -> bool:
    return not token.isalpha() and any(c.isdigit() for c in token)


def counted(noun: str, side: Side) -> str:
    """A count in the words of translators.

    >>> counted("full stops", "target")
    'full stops in the translation {}'
    """
    return f"{noun.replace('token', 'word')} in the {TEXTS[side]} {VALUE}"


def _sides(name: str, description: str, origin: str, unit: str, function: OfText) -> Columns:
    for side in get_args(Side):
        plain = counted(description, side) if unit in COUNTED else ""
        yield Column(f"{name}_{side}", f"{description}, {side}", origin, unit,
            partial(lambda side, pair: function(pair.side(side)), side), plain=plain)  # fmt: skip


def _difference(name: str, description: str, origin: str, unit: str, function: OfText) -> Columns:
    yield Column(f"{name}_difference", f"{description}, target minus source", origin, unit,
        lambda pair: function(pair.target) - function(pair.source))  # fmt: skip


def _squared(name: str, description: str, origin: str, unit: str, function: OfText) -> Columns:
    yield Column(f"{name}_squared_difference", f"{description}, squared difference of target and source",
        origin, f"{unit}^2", lambda pair: (function(pair.target) - function(pair.source)) ** 2)  # fmt: skip


def _ratio(name: str, description: str, origin: str, function: OfText) -> Columns:
    yield Column(f"{name}_ratio", f"{description}, target by source; NaN if the source has none", origin,
        "ratio", lambda pair: ratio(function(pair.target), function(pair.source)))  # fmt: skip


def _lengths() -> Columns:
    for name, what, unit, origin, of_ratio, function in (
        ("tokens", "tokens", "tokens", UU, LORIA, lambda text: text.lengths),
        ("characters", "characters of the tokens", "characters", OWN, OWN, lambda text: text.characters),
    ):
        yield from _sides(name, what, origin, unit, function)
        yield from _difference(name, what, OWN, unit, function)
        yield from _squared(name, what, origin, unit, function)
        yield from _ratio(name, what, of_ratio, function)
    yield from _sides("token_length", "mean token length", QUEST.format("1006, of the source"), "characters",
        lambda text: ratio(text.characters, text.lengths))  # fmt: skip
    yield Column("tokens_inverse_ratio", "tokens, source by target; NaN if the target has none", DCU, "ratio",
        lambda pair: ratio(pair.source.lengths, pair.target.lengths))  # fmt: skip
    yield Column("many_more_words", "1 if the target has more than three times as many words as the source",
        UU, "0 or 1", lambda pair: pair.target.count(is_word) > 3 * pair.source.count(is_word))  # fmt: skip


def _patterns() -> Columns:
    for name, (what, rule) in UU_PATTERNS.items():
        function = partial(Text.count, rule=rule)
        yield from _sides(name, what, UU, "tokens", function)
        yield from _squared(name, what, UU, "tokens", function)
    for name, (what, rule, origin) in OTHER_PATTERNS.items():
        function = partial(Text.count, rule=rule)
        yield from _sides(name, what, origin, "tokens", function)
        yield from _difference(name, what, origin, "tokens", function)
    for name, number in MARK_KINDS.items():
        what, rule, _ = OTHER_PATTERNS[name]
        yield Column(f"{name}_difference_per_token", f"{what}, absolute difference by target tokens",
            QUEST.format(number), "ratio", partial(lambda rule, pair: ratio(
                np.abs(pair.target.count(rule) - pair.source.count(rule)), pair.target.lengths),
                rule))  # fmt: skip
    for name in ("punctuation", "non_alphabetic"):
        what, rule, _ = OTHER_PATTERNS[name]
        yield from _sides(f"{name}_share", f"share of {what}", WLV, "ratio", partial(Text.share, rule=rule))
    what, rule, _ = OTHER_PATTERNS["non_alphabetic"]
    yield from _ratio("non_alphabetic", what, WLV, partial(Text.count, rule=rule))
    yield from _sides("numbers_share", "share of numbers", WLV, "ratio", partial(Text.share, rule=is_number))
    yield from _sides("capital_letters_share", "share of characters that are capitals", OWN, "ratio",
        lambda text: ratio(text.sum(_capitals), text.characters))  # fmt: skip
    for name, rule in (
        ("quotes", is_quote),
        ("hyphens", lambda token: "-" in token),
        ("commas", ",".__eq__),
        ("numbers", has_digit),
        ("upper_case", is_upper),
    ):
        yield Column(f"has_{name}", f"1 if the source has {name.replace('_', ' ')}", UEDIN, "0 or 1",
            partial(lambda rule, pair: pair.source.count(rule) > 0, rule))  # fmt: skip


def _capitals(token: str) -> int:
    return sum(map(str.isupper, token)) if has_capital(token) else 0


def _log(values: FloatArray) -> FloatArray:
    return np.log(np.maximum(values, 1.0))


def _once(text: Text) -> FloatArray:
    return segment_sum(text.occurrences == 1, text.tokens.offsets)


def _doubled(text: Text) -> FloatArray:
    ids = text.tokens.lower().ids
    again = np.zeros(len(ids), bool)
    again[:-1] = ids[:-1] == ids[1:]
    return segment_sum(again & text.is_followed & text.location(is_word), text.tokens.offsets)


def _types() -> Columns:
    for name, what, origin, unit, function in (
        ("ttr", "distinct words by tokens", UU, "ratio", lambda t: ratio(t.types, t.lengths)),
        ("corrected_ttr", "distinct words by the root of twice the tokens (Carroll 1964)", WLV, "ratio",
         lambda t: ratio(t.types, np.sqrt(2 * t.lengths))),
        ("guiraud", "distinct words by the root of tokens (Guiraud 1954)", WLV, "ratio",
         lambda t: ratio(t.types, np.sqrt(t.lengths))),
        ("log_ttr", "log distinct words by log tokens (Herdan 1960); NaN below 2 tokens", WLV, "ratio",
         lambda t: ratio(_log(t.types), _log(t.lengths))),
        ("uber", "log(tokens)^2 / log(tokens / distinct words) (Dugast 1980); NaN if no word repeats", WLV,
         "ratio", lambda t: ratio(_log(t.lengths) ** 2, _log(t.lengths) - _log(t.types))),
        ("once", "words that occur once", WLV, "tokens", _once),
        ("repeated", "tokens that repeat a word", OWN, "tokens", lambda t: t.lengths - t.types),
        ("doubled", "words directly repeated", OWN, "tokens", _doubled),
        ("once_share", "share of words that occur once", WLV, "ratio", lambda t: ratio(_once(t), t.lengths)),
    ):  # fmt: skip
        yield from _sides(name, what, origin, unit, function)


def _unpaired(text: Text, kinds: Iterable[tuple[str, str]]) -> FloatArray:
    total = np.zeros(len(text.tokens))
    for opening, closing in kinds:
        total += np.abs(text.count(opening.__eq__) - text.count(closing.__eq__))
    return total


def _nested(text: Text) -> FloatArray:
    brackets = text.count(CLOSING_OF.__contains__) + text.count(CLOSING.__contains__)
    result = np.ones(len(text.tokens))
    for i in np.flatnonzero(brackets > 0).tolist():
        result[i] = is_nested(text.tokens.words(i))
    return result


def is_nested(tokens: Iterable[str]) -> bool:
    """Whether every bracket closes the last one opened, and all are closed."""
    expected: list[str] = []
    for token in tokens:
        if token in CLOSING_OF:
            expected.append(CLOSING_OF[token])
        elif token in CLOSING and (not expected or expected.pop() != token):
            return False
    return not expected


def _same_end(pair: Pair) -> FloatArray:
    marks = []
    for tokens in (pair.source.tokens, pair.target.tokens):
        by_type = [token if token in FINAL_MARKS else "" for token in tokens.types]
        last = zip(tokens.lengths.tolist(), tokens.offsets[1:].tolist(), strict=True)
        marks.append([by_type[tokens.ids[end - 1]] if length else None for length, end in last])
    both = zip(*marks, strict=True)
    return np.array([np.nan if None in (a, b) else float(a == b) for a, b in both], np.float64)


def _split_contractions(text: Text) -> FloatArray:
    words = text.tokens.lower()
    index = {word: i for i, word in enumerate(words.types)}
    contracted = np.zeros(len(words.ids), bool)
    for left, right in SPLIT_CONTRACTIONS:
        if left in index and right in index:
            contracted[:-1] |= (words.ids[:-1] == index[left]) & (words.ids[1:] == index[right])
    return segment_sum(contracted & text.is_followed, words.offsets)


def _forms() -> Columns:
    for name, what, origin, unit, function in (
        ("bracket_mismatch", "brackets without partner", WLV, "tokens",
         lambda t: _unpaired(t, CLOSING_OF.items())),
        ("quote_mismatch", "quotation marks without partner", WLV, "tokens",
         lambda t: t.count('"'.__eq__) % 2 + _unpaired(t, [("“", "”"), ("«", "»"), ("``", "''")])),
        ("brackets_nested", "1 if brackets are properly nested", LORIA, "0 or 1", _nested),
        ("final_mark", "1 if the last token is a mark that ends sentences or quotations; NaN if empty",
         LORIA, "0 or 1", lambda t: t.edge(FINAL_MARKS.__contains__, "last")),
        ("initial_capital", "1 if the first token begins with a capital; NaN if empty",
         OWN, "0 or 1", lambda t: t.edge(lambda token: has_capital(token[0]), "first")),
    ):  # fmt: skip
        yield from _sides(name, what, origin, unit, function)
    yield Column("same_final_mark",
        "1 if both texts end with the same mark, or with none; NaN if one is empty", WLV, "0 or 1",
        _same_end)  # fmt: skip
    yield Column("split_contractions", "`a el` and `de el` in the target (in Spanish: al, del)",
        WLV_LINGUISTIC, "bigrams", lambda pair: _split_contractions(pair.target))  # fmt: skip


def _digits(token: str) -> str | None:
    return "".join(filter(str.isdigit, token)) or None


def _long_word(token: str) -> str | None:
    return token.lower() if is_word(token) and letters(token) >= 4 else None


def _copies() -> Columns:
    yield Column("numbers_missing",
        "source tokens with digits that the target lacks (separators do not count)", WLV, "tokens",
        lambda pair: pair.overlap(_digits).missing,
        plain="numbers of the source that the translation lacks {}")  # fmt: skip
    yield Column("numbers_added", "target tokens with digits that the source lacks (separators do not count)",
        WLV, "tokens", lambda pair: pair.overlap(_digits).added,
        plain="numbers of the translation that the source lacks {}")  # fmt: skip
    yield Column("copied", "words of 4 letters or more that occur in both texts", NOTES, "tokens",
        lambda pair: pair.overlap(_long_word).shared,
        plain="words that are the same in both texts {}")  # fmt: skip
    yield Column("copied_share", "the same by target words of 4 letters or more; NaN if there is none", NOTES,
        "ratio",
        lambda pair: ratio(pair.overlap(_long_word).shared,
                           pair.target.count(UU_PATTERNS["long_words"][1])))  # fmt: skip
    yield Column("punctuation_ratio", "punctuation marks, source by target; NaN if the target has none", DCU,
        "ratio",
        lambda pair: ratio(pair.source.count(is_punctuation), pair.target.count(is_punctuation)))  # fmt: skip


COLUMNS: Final = (*_lengths(), *_patterns(), *_types(), *_forms(), *_copies())
