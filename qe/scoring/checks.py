"""Checks of pairs of texts: `qe filter` refuses pairs by them, `qe score --flags` reports what they find."""

import html
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, Final, Self

import regex
from rapidfuzz.fuzz import ratio
from simplemma import in_target_language
from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

from features.basics.errors import known_name
from features.resources.lexicon import Lexicon
from features.text.languages import NEGATORS
from qe.display.numbers import percent
from qe.models.model import Model

_PART = "lexicon_source_to_target"
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}\p{N}]*(?:[-'’][\p{L}\p{M}\p{N}]+)*")
_NAME = regex.compile(r"(?<=[\p{Ll}\p{N},;] )\p{Lu}[\p{L}\p{M}'’-]+")
_NUMBER = regex.compile(
    r"""(?<sign>(?<![\p{L}\p{N}\p{P}])[-−–](?=\p{Nd}))?
    (?:(?<clock>\p{Nd}{1,2}:\p{Nd}{2})(?![\p{Nd}:])
    |(?<grouped>\p{Nd}{1,3}(?:(?<separator>[.,'’\u00a0\u202f\ ])\p{Nd}{3}(?:(?P=separator)\p{Nd}{3})*
        |(?:,\p{Nd}{2})+,\p{Nd}{3})(?!\p{Nd}))(?<fraction>(?!(?P=separator))[.,]\p{Nd}+)?
    |(?<dotted>\p{Nd}+(?:\.\p{Nd}+){2,})
    |(?<plain>\p{Nd}+(?:[.,]\p{Nd}+)?))""",
    regex.VERBOSE,
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", "01234567890123456789")
_JOINTS = regex.compile("[-'’]")  # tokenizers split words there
_NOUN_CAPITALS = ("de", "lb")  # languages that write every noun with a capital
_MIN_LETTERS = 4  # of words that a lexicon is asked about
_MIN_TRANSLATION = 0.02  # t(target | source) of a translated name
_CODES = {"no": "nb", "bs": "hbs", "hr": "hbs", "sr": "hbs"}  # of py3langid -> of simplemma's dictionaries
_MIN_SELF_TRANSLATION = 0.1  # t(word | itself) from which a word is its own translation


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Languages (source, target) and an optional lexicon that checks may use."""

    languages: tuple[str, str]
    lexicon: Lexicon | None = None

    @classmethod
    def from_model(cls, model: Model) -> Self:
        bundle = model.bundle
        part = bundle.part(_PART) if bundle is not None and _PART in bundle.manifest["parts"] else None
        source, target = (tokenizer.language for tokenizer in model.tokenizers)
        return cls((source, target), part if isinstance(part, Lexicon) else None)

    def translates(self, source: str, target: str) -> float:
        if self.lexicon is None:
            return 0.0
        pair = self.lexicon.source.lookup([source.lower()]), self.lexicon.target.lookup([target.lower()])
        return float(self.lexicon.probability(*pair)[0])


@dataclass(frozen=True, eq=False)
class Pair:
    """A source text and its translation."""

    source: str
    target: str

    @cached_property
    def source_words(self) -> tuple[str, ...]:
        return tuple(_WORD.findall(self.source))

    @cached_property
    def target_words(self) -> tuple[str, ...]:
        return tuple(_WORD.findall(self.target))


def is_similar(word: str, candidate: str, minimum: float = 70.0) -> bool:
    """Whether two words are spelt alike, case aside, so that one may be a form of the other."""
    return ratio(word.lower(), candidate.lower()) >= minimum


@dataclass(frozen=True, eq=False)
class Check(ABC):
    """One thing that can be wrong with a pair; the fields of a check are its settings.

    Attributes
    ----------
    flag : mapping of str to Any or None
        Settings for `qe score --flags`; None: not a flag.
    filters : bool
        Whether `qe filter` runs it without `--with`.
    cost : float
        Microseconds per pair, roughly: `qe filter` runs cheap checks first.
    """

    flag: ClassVar[Mapping[str, Any] | None] = None
    filters: ClassVar[bool] = False
    cost: ClassVar[float] = 10.0

    knowledge: Knowledge

    @property
    def lacks(self) -> str:
        """Why the check cannot run with this knowledge; empty if it can."""
        return ""

    @abstractmethod
    def words(self, pair: Pair) -> tuple[str, ...]:
        """The words concerned, source words first, or one phrase; empty if nothing is wrong."""


@dataclass(frozen=True, eq=False)
class Copy(Check):
    """The sides are at least `alike` percent equal by edit distance of characters, case aside."""

    filters = True
    cost = 3.0

    alike: float = 90.0

    def words(self, pair: Pair) -> tuple[str, ...]:
        if not any(map(str.isalpha, pair.source)):
            return ()
        similarity = ratio(pair.source.lower(), pair.target.lower())
        return (f"the sides are {percent(similarity / 100, 0)} alike",) if similarity >= self.alike else ()


@dataclass(frozen=True, eq=False)
class Length(Check):
    """A side has fewer than `minimum` words or more than `maximum`, split at whitespace."""

    filters = True
    cost = 2.0

    minimum: int = 1
    maximum: int = 200

    def words(self, pair: Pair) -> tuple[str, ...]:
        for side, text in (("source", pair.source), ("target", pair.target)):
            count = len(text.split())
            if not self.minimum <= count <= self.maximum:
                return (f"{count} words in the {side}",)
        return ()


@dataclass(frozen=True, eq=False)
class Ratio(Check):
    """One side has more than `maximum` times the characters of the other, and over `allowance` more."""

    flag: ClassVar[Mapping[str, Any] | None] = {"maximum": 2.0, "allowance": 19}
    filters = True
    cost = 1.0

    maximum: float = 2.5
    allowance: int = 20

    def words(self, pair: Pair) -> tuple[str, ...]:
        source, target = len(pair.source.strip()), len(pair.target.strip())
        shorter, longer = sorted((source, target))
        if longer <= self.maximum * shorter or longer - shorter <= self.allowance:
            return ()
        return (f"{target} characters for {source}",)


@dataclass(frozen=True, eq=False)
class Language(Check):
    """A side is in another language.

    It has too few words in the dictionary of its language, or more in that of the other side (simplemma), or
    a third language is much more probable (py3langid, 139 languages).

    Parameters
    ----------
    share : float, default=0.4
        Minimum share of a side's words in its own dictionary.
    margin : float, default=0.1
        How much larger the share in the other dictionary may be.
    odds : float, default=10.0
        How many times as probable as its language another one must be.
    minimum : int, default=4
        Number of words that a side must have to be checked.
    """

    filters = True
    cost = 500.0

    share: float = 0.4
    margin: float = 0.1
    odds: float = 10.0
    minimum: int = 4

    @property
    def lacks(self) -> str:
        missing = [code for code in self.knowledge.languages if code not in SUPPORTED_LANGUAGES]
        return f"no dictionary of {' and '.join(missing)}" if missing else ""

    def words(self, pair: Pair) -> tuple[str, ...]:
        languages = self.knowledge.languages
        sides = (("source", pair.source, *languages), ("target", pair.target, *languages[::-1]))
        for side, text, language, opposite in sides:
            if len(text.split()) < self.minimum or not any(map(str.isalpha, text)):
                continue
            share = in_target_language(text, lang=language)
            if share < self.share:
                return (f"the {side} is not in '{language}' ({percent(share, 0)} of its words are known)",)
            if language != opposite and in_target_language(text, lang=opposite) > share + self.margin:
                return (f"the {side} is in '{opposite}'",)
            probabilities = language_probabilities(text)
            third = max(probabilities, key=probabilities.__getitem__)
            own = probabilities.get(language)
            if own is not None and third != language and probabilities[third] >= self.odds * own:
                return (f"the {side} is in '{third}'",)
        return ()


def language_probabilities(text: str) -> dict[str, float]:
    """The probability of each language by the code of its dictionary (py3langid); no pidgins or dialects."""
    probabilities: dict[str, float] = {}
    for label, probability in _identifier().rank(text):
        if len(label) == 2:
            code = _CODES.get(label, label)
            probabilities[code] = max(probabilities.get(code, 0.0), probability)
    return probabilities


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # a second: its model is read

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@dataclass(frozen=True, eq=False)
class Numbers(Check):
    """More than `maximum` numbers are on one side only; the notation does not count (2.50 and 2,5; 007 and 7;
    1,00,000 and 100.000; 3:30 and 3.30), the sign does. Number words are ignored.
    """

    flag: ClassVar[Mapping[str, Any] | None] = {}
    filters = True
    cost = 12.0

    maximum: int = 0

    def words(self, pair: Pair) -> tuple[str, ...]:
        source, target = numbers_of(pair.source), numbers_of(pair.target)
        unmatched = (*_unmatched(source, target), *_unmatched(target, source))
        return unmatched if len(unmatched) > self.maximum else ()


def numbers_of(text: str) -> list[tuple[frozenset[str], str]]:
    """The values that each number may have, and its text; entities and raised digits are characters.

    >>> [(sorted(values), number) for values, number in numbers_of("12 000 of 2.500 m² on 03.05.")]
    [(['12000'], '12 000'), (['2.5', '2500'], '2.500'), (['2'], '2'), (['3.05', '3:05'], '03.05')]
    """
    numbers: list[tuple[frozenset[str], str]] = []
    for match in _NUMBER.finditer(html.unescape(text).translate(_RAISED)):
        if match["dotted"]:
            numbers += [(frozenset({_value(part)}), part) for part in match["dotted"].split(".")]
        else:
            numbers.append((frozenset(_values(match)), match[0]))
    return numbers


def _values(match: regex.Match[str]) -> set[str]:
    """The values of a number: 2.500 may be 2500 or 2.5, and 3.30 a time."""
    sign = "-" if match["sign"] else ""
    if match["clock"]:
        hours, minutes = match["clock"].split(":")
        return {f"{int(hours)}:{int(minutes):02}"}
    if grouped := match["grouped"]:
        integer = "".join(letter for letter in grouped if letter.isdecimal())
        values = {sign + _value(integer, (match["fraction"] or "")[1:])}
        if (
            match["separator"] in (".", ",")
            and grouped.count(match["separator"]) == 1
            and not match["fraction"]
        ):
            values.add(sign + _value(*grouped.split(match["separator"])))
        return values
    integer, _, fraction = match["plain"].replace(",", ".").partition(".")
    values = {sign + _value(integer, fraction)}
    if len(fraction) == 2 and int(integer) < 24 and int(fraction) < 60:  # hours and minutes
        values.add(f"{int(integer)}:{int(fraction):02}")
    return values


def _value(integer: str, fraction: str = "") -> str:
    digits = "".join(str(int(digit)) for digit in integer).lstrip("0") or "0"
    decimals = "".join(str(int(digit)) for digit in fraction).rstrip("0")
    return f"{digits}.{decimals}" if decimals else digits


def _unmatched(
    numbers: list[tuple[frozenset[str], str]], opposite: list[tuple[frozenset[str], str]]
) -> list[str]:
    remaining = [values for values, _ in opposite]
    unmatched = []
    for values, number in numbers:
        match = next((index for index, others in enumerate(remaining) if values & others), None)
        if match is None:
            unmatched.append(number)
        else:
            del remaining[match]
    return unmatched


class Names(Check):
    """Capitalised words within a sentence that the other side has neither similar nor translated.

    Skipped on the side of a language that writes all nouns with capitals, and for titles (capitals in more
    than half of the words).
    """

    flag: ClassVar[Mapping[str, Any] | None] = {}
    cost = 60.0

    def words(self, pair: Pair) -> tuple[str, ...]:
        source, target = self.knowledge.languages
        missing = () if source in _NOUN_CAPITALS else names_of(pair.source, pair.source_words)
        added = () if target in _NOUN_CAPITALS else names_of(pair.target, pair.target_words)
        return (
            *(name for name in missing if not any(self._match(name, word) for word in pair.target_words)),
            *(name for name in added if not any(self._match(word, name) for word in pair.source_words)),
        )

    def _match(self, source: str, target: str) -> bool:
        return is_similar(source, target) or self.knowledge.translates(source, target) >= _MIN_TRANSLATION


def names_of(text: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Words with a capital after a word without one, a number or a comma; none in a title.

    >>> text = "The talks were in London last year. He met Obama"
    >>> names_of(text, tuple(text.split()))
    ('London', 'Obama')
    """
    if 2 * sum(word[0].isupper() for word in words) > len(words):
        return ()
    return tuple(_NAME.findall(text))


class Negation(Check):
    """Negating words on the one side that has any; wrong if the other side paraphrases ("unable")."""

    flag: ClassVar[Mapping[str, Any] | None] = {}
    cost = 20.0

    @property
    def lacks(self) -> str:
        missing = [code for code in self.knowledge.languages if code not in NEGATORS]
        if not missing:
            return ""
        return f"no list of negators for {' and '.join(missing)} (there are {', '.join(NEGATORS)})"

    def words(self, pair: Pair) -> tuple[str, ...]:
        sides = zip((pair.source, pair.target), self.knowledge.languages, strict=True)
        source, target = (negators(text, code) for text, code in sides)
        return () if bool(source) == bool(target) else (*source, *target)


def negators(text: str, language: str) -> tuple[str, ...]:
    """The words of a text that negate."""
    pattern = regex.compile(rf"(?<![\w'’])(?:{NEGATORS[language]})(?!\w|['’]\w)")
    return tuple(pattern.findall(text.lower()))


class _LexiconCheck(Check):
    flag: ClassVar[Mapping[str, Any] | None] = {}
    cost = 20.0

    @property
    def lacks(self) -> str:
        return "" if self.knowledge.lexicon is not None else "no lexicon among the resources"


class Untranslated(_LexiconCheck):
    """Words without a capital, copied though the lexicon translates them otherwise."""

    def words(self, pair: Pair) -> tuple[str, ...]:
        lexicon, source_words, copied = self.knowledge.lexicon, {*pair.source_words}, []
        for word in dict.fromkeys(word for word in pair.target_words if word in source_words):
            if lexicon is None or not word[0].islower() or len(word) < _MIN_LETTERS:
                continue
            is_known = int(lexicon.source.lookup([word])[0]) > 0
            if is_known and self.knowledge.translates(word, word) < _MIN_SELF_TRANSLATION:
                copied.append(word)
        return tuple(copied)


class Invented(_LexiconCheck):
    """Words without a capital that the lexicon's corpus lacks and no source word resembles.

    With a small corpus, compounds and rare words are reported as invented.
    """

    def words(self, pair: Pair) -> tuple[str, ...]:
        lexicon, invented = self.knowledge.lexicon, []
        for word in dict.fromkeys(pair.target_words):
            if lexicon is None or not word[0].islower() or len(word) < _MIN_LETTERS:
                continue
            parts = [part for part in _JOINTS.split(word.lower()) if len(part) >= _MIN_LETTERS]
            if not parts or lexicon.target.lookup([word.lower()])[0] or all(lexicon.target.lookup(parts)):
                continue
            if not any(is_similar(word, each, 75.0) for each in pair.source_words):
                invented.append(word)
        return tuple(invented)


CHECKS: Final[Mapping[str, type[Check]]] = {
    check.__name__.lower(): check
    for check in (Copy, Invented, Language, Length, Names, Negation, Numbers, Ratio, Untranslated)
}


@dataclass(frozen=True, eq=False)
class Checks:
    """Checks by name, in the order in which they run; `lacking` has the reasons why others cannot run."""

    checks: Mapping[str, Check]
    lacking: Mapping[str, str]

    @classmethod
    def make(cls, knowledge: Knowledge, settings: Mapping[str, Mapping[str, Any]]) -> Self:
        checks = {}
        for name, values in settings.items():
            known_name("check", name, CHECKS)
            checks[name] = CHECKS[name](knowledge, **values)
        lacking = {name: check.lacks for name, check in checks.items() if check.lacks}
        return cls({name: check for name, check in checks.items() if name not in lacking}, lacking)

    def words(self, source: str, target: str) -> dict[str, tuple[str, ...]]:
        pair = Pair(source, target)
        return {name: words for name, check in self.checks.items() if (words := check.words(pair))}

    def first(self, source: str, target: str) -> tuple[str, str]:
        """(name, words concerned) of the first check that finds something wrong; empty if none does."""
        pair = Pair(source, target)
        for name, check in self.checks.items():
            if words := check.words(pair):
                return name, ", ".join(words)
        return "", ""


class Flags(Checks):
    """The checks that are flags; the text of a row's column `flags`."""

    @classmethod
    def from_model(cls, model: Model) -> Self:
        return cls.from_knowledge(Knowledge.from_model(model))

    @classmethod
    def from_knowledge(cls, knowledge: Knowledge) -> Self:
        return cls.make(
            knowledge, {name: kind.flag for name, kind in CHECKS.items() if kind.flag is not None}
        )

    def text(self, source: str, target: str) -> str:
        """Such as `negation: nicht; numbers: 15, 50`; empty if nothing is found."""
        return "; ".join(f"{name}: {', '.join(words)}" for name, words in self.words(source, target).items())


def kinds_of(text: str | None) -> tuple[str, ...]:
    if not text:
        return ()
    parts = (part.partition(": ")[0] for part in text.split("; "))
    return tuple(part for part in parts if part in CHECKS)
