"""Moses tokenization rules on one line. Character classes and prefix lists are those of sacremoses."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What follows a chunk decides whether its final full stop stays: another token, one that begins with a
# lower-case letter, one that begins with an ASCII digit, or nothing.
OTHER, LOWER, DIGIT, END = range(4)
_NEUTRAL = "|"  # always a token of its own, and neither lower-case nor a digit
_FOLLOWER = {OTHER: " |", LOWER: " a", DIGIT: " 0", END: ""}

Substitution = tuple[re.Pattern[str], str]


@dataclass(frozen=True)
class MosesRules:
    """Rules of one language: substitutions in order, full stops, then the line's end.

    pad             `line` works on the text between blanks (Perl: `$text = " $text "`)
    opening          substitutions before the commas: blanks around all other signs
    multidots       marks runs of full stops, `restore` turns the marks back
    commas, quotes  substitutions that only text with a comma / an apostrophe can need
    ending          the substitution at the end of the line
    """

    pad: bool
    opening: tuple[Substitution, ...]
    multidots: Callable[[str], str]
    restore: Callable[[str], str]
    commas: tuple[Substitution, ...]
    quotes: tuple[Substitution, ...]
    ending: tuple[Substitution, ...]
    word: re.Pattern[str]
    alpha: frozenset[str]
    lower: frozenset[str]
    prefixes: frozenset[str]
    numeric_prefixes: frozenset[str]

    def line(self, text: str) -> list[str]:
        """The tokens of a line without control characters, its white space blanks, none at the ends."""
        if self.pad:
            text = f" {text} "
        text = _apply(self.opening, text)
        dots = ".." in text or "MULTI" in text
        if dots:
            text = self.multidots(text)
        if "," in text:
            text = _apply(self.commas, text)
        if "'" in text:
            text = _apply(self.quotes, text)
        tokens = self._full_stops(text.split())
        if "'" in text:
            tokens = _apply(self.ending, " ".join(tokens)).split()
        return [self.restore(token) for token in tokens] if dots else tokens

    def _full_stops(self, tokens: list[str]) -> list[str]:
        result: list[str] = []
        last = len(tokens) - 1
        for i, token in enumerate(tokens):
            following = tokens[i + 1] if i < last else ""
            if token[-1] == "." and len(token) > 1 and not self._keeps_stop(token[:-1], following):
                result += (token[:-1], ".")
            else:
                result.append(token)
        return result

    def _keeps_stop(self, prefix: str, following: str) -> bool:
        if "." in prefix and not self.alpha.isdisjoint(prefix):
            return True
        if prefix in self.prefixes or (following and following[0] in self.lower):
            return True
        return prefix in self.numeric_prefixes and following[:1] in tuple("0123456789")

    def chunk(self, chunk: str, first: bool, following: int) -> tuple[str, ...]:
        """The tokens of a chunk (text between blanks) in its place in a line. `first` is set if no chunk goes
        before; `following` is OTHER, LOWER, DIGIT or END.
        """
        if self.word.fullmatch(chunk) and "MULTI" not in chunk:  # a mark of `multidots`
            return (chunk,)
        left = "" if first else _NEUTRAL + " "
        tokens = self.line(left + chunk + _FOLLOWER[following])
        return tuple(tokens[not first : len(tokens) - (following != END)])

    @property
    def classes(self) -> NDArray[np.uint8]:
        """(0x110000,) OTHER, LOWER or DIGIT of every character, by code point."""
        table = np.full(0x110000, OTHER, np.uint8)
        table[[ord(c) for c in self.lower]] = LOWER
        table[ord("0") : ord("9") + 1] = DIGIT
        return table


def _apply(substitutions: tuple[Substitution, ...], text: str) -> str:
    for pattern, replacement in substitutions:
        text = pattern.sub(replacement, text)
    return text


@lru_cache(maxsize=16)
def moses_rules(language: str) -> MosesRules:
    """The rules of sacremoses `MosesTokenizer(language).tokenize(text, escape=False)`."""
    from sacremoses import MosesTokenizer  # half a second, paid by those who tokenize

    moses: Any = MosesTokenizer(language)
    if language == "en":
        quotes = moses.ENGLISH_SPECIFIC_APOSTROPHE
    elif language in ("fr", "it"):
        quotes = moses.FR_IT_SPECIFIC_APOSTROPHE
    else:
        quotes = [moses.NON_SPECIFIC_APOSTROPHE]
    return MosesRules(
        pad=False,
        opening=(moses.PAD_NOT_ISALNUM,),
        multidots=moses.replace_multidots,
        restore=moses.restore_multidots,
        commas=(moses.COMMA_SEPARATE_1, moses.COMMA_SEPARATE_2, moses.COMMA_SEPARATE_3),
        quotes=tuple(quotes),
        ending=(moses.TRAILING_DOT_APOSTROPHE,),
        word=re.compile(f"[{moses.IsAlnum}]+"),
        alpha=frozenset(moses.IsAlpha),
        lower=frozenset(moses.IsLower),
        prefixes=frozenset(moses.NONBREAKING_PREFIXES) - frozenset(moses.NUMERIC_ONLY_PREFIXES),
        numeric_prefixes=frozenset(moses.NUMERIC_ONLY_PREFIXES),
    )


# Month names came to the English list of abbreviations after 2012.
_MONTHS = frozenset(["Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Nov", "Dec"])


@lru_cache(maxsize=16)
def moses_2012_rules(language: str) -> MosesRules:
    """The rules of `tokenizer.perl` as the organisers of WMT 2012 ran it. What differs today: a line was
    worked on between blanks; commas and apostrophes share the blank that one rule consumes; two apostrophes
    are a quotation mark; a hyphen before a capital letter is a token, and before other signs but digits ends
    its token; Spanish had no list of abbreviations and used the English one.
    """
    today = moses_rules(language)
    prefixes = moses_rules("en") if language == "es" else today
    number, capital = _set("IsN"), _set("IsUpper")
    hyphens = ((rf"-([{capital}])", r" - \1"), (rf"-([^{number}\s-])", r"- \1"))
    commas = (
        (rf"([^{number}]),([^{number}])", r"\1 , \2"),
        (rf"([{number}]),([^{number}])", r"\1 , \2"),
        (rf"([^{number}]),([{number}])", r"\1 , \2"),
    )
    return replace(
        today,
        pad=True,
        opening=(*today.opening, (re.compile("''"), ' " '), *_compiled(hyphens)),
        commas=_compiled(commas),
        ending=(),
        prefixes=prefixes.prefixes - _MONTHS,
        numeric_prefixes=prefixes.numeric_prefixes - _MONTHS,
    )


def _set(category: str) -> str:
    from sacremoses.corpus import Perluniprops

    return "".join(Perluniprops().chars(category))


def _compiled(substitutions: tuple[tuple[str, str], ...]) -> tuple[Substitution, ...]:
    return tuple((re.compile(pattern), replacement) for pattern, replacement in substitutions)
