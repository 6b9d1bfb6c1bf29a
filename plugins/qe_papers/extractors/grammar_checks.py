"""Errors found by rules for neighbouring words in Spanish or English text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import ClassVar, Final, Literal

import numpy as np
import regex

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.columns import Column, block, features_of
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.text.corpus import Side
from qe_papers.syntax import Word, is_finite, tagged

_DFKI: Final = "Avramidis 2012 (DFKI), table 5 (there the rules of LanguageTool)"
_TABLE_1: Final = "Avramidis 2012 (DFKI), table 1"
_OWN: Final = "this project: rules in addition to those of Avramidis 2012"

Words = Sequence[Word]
Mistakes = list[tuple[int, int]]  # (first word, end) of every match

# Feminine nouns with a stressed first syllable: `el agua`, `del agua`.
_STRESSED_NOUNS: Final = """
agua águila ala alba alga alma ama ancla ánfora ansia ánima anca arca área arma arpa asa ascua aspa asta
aula ave habla hacha hada hambre haya haz álgebra ágora áncora arte
"""
_STRESSED: Final = frozenset(_STRESSED_NOUNS.split())
_SUBJECT_PRONOUNS: Final = "yo tú él ella ello usted nosotros nosotras vosotros vosotras ellos ellas ustedes"
_SUBJECTS: Final = frozenset(_SUBJECT_PRONOUNS.split())
_DOUBLES: Final = frozenset({",", ";", ":", ".", "!", "?", "¿", "¡"})
_WORD: Final = regex.compile(r"[\p{L}\p{M}'’-]+")
_TWICE_AS_ONE: Final = frozenset({"had", "that", "nos", "se"})  # may be repeated: `had had`, `se se`
_E_BEGINS: Final = regex.compile(r"h?[ií](?![aeoáéó])")  # `e hijos`, but `y hierro`
_U_BEGINS: Final = regex.compile(r"h?[oó]")
_VOWEL: Final = regex.compile(r"[aeiou]")
_NOT_A_VOWEL: Final = regex.compile(r"(?:uni|use|usu|util|eur|one\b|once\b|u\b|ubi)")
_MISPLACED_SPACE: Final = regex.compile(r"\s+[,)\]}]|[(\[{]\s+")
_SILENT: Final = regex.compile(r"(?:hour|honest|honou?r|heir)")


@dataclass(frozen=True)
class GrammarChecks(Extractor):
    """Rule matches in the translation, by rule, and the number of matched characters.

    sides       `target`, or `both`: the source too, in columns that end in `_source`
    characters  whether to add each rule's matched characters

    Rules for determiners, nouns, adjectives, pronouns and verbs compare the Spanish morphology (FEATS) of
    neighbouring words: `det_nom_sing` is a singular determiner before a noun that is not, `pp_v_plural` a
    plural personal pronoun before a finite verb that is not, and so on. Unknown morphology matches nothing.

    `comma_parenthesis_space` finds white space before a comma or inside brackets of the raw text. The total
    excludes it, because tokenized text has such spaces everywhere.

    Raises InputError for a language that is neither English nor Spanish, and words without a part of speech.
    """

    plain: ClassVar[str] = "what the grammar checker marks"

    sides: Literal["target", "both"] = "target"
    characters: bool = False

    @property
    def columns(self) -> Sequence[Column[Sequence["_Checked"]]]:
        return [*_columns(), *(_character_columns() if self.characters else ())]

    @property
    def features(self) -> Sequence[Feature]:
        own = features_of(self.columns)
        return [replace(f, name=f.name + ending) for ending in self._endings.values() for f in own]

    def requires(self) -> tuple[str, ...]:
        return tuple(f"annotation_{side}" for side in self._endings)

    def extract(self, segments: Segments) -> FloatArray:
        columns = self.columns
        return np.hstack([block(columns, _checked(segments, side)) for side in self._endings])

    @property
    def _endings(self) -> Mapping[Side, str]:
        return {"target": "", "source": "_source"} if self.sides == "both" else {"target": ""}


def _checked(segments: Segments, side: Side) -> list["_Checked"]:
    language = getattr(segments, f"{side}_tokenizer").language
    if language not in ("en", "es"):
        raise InputError(
            f"no rules of grammar for the language '{language}'",
            location="extractor 'grammar_checks'",
            remedy="known: en, es",
        )
    texts = zip(tagged(getattr(segments, f"{side}_annotated")), getattr(segments, side), strict=True)
    return [_Checked(words, text, language) for words, text in texts]


class _Checked:
    def __init__(self, words: Words, text: str, language: str) -> None:
        self.words = words
        self.spaces = [match.group() for match in _MISPLACED_SPACE.finditer(text)]
        self.mistakes = {
            rule.name: rule.matches(words) if language in rule.languages else [] for rule in RULES
        }

    def touched(self, *names: str) -> int:
        spans = [span for name in names or self.mistakes for span in self.mistakes[name]]
        return sum(len(self.words[k].form) for k in {k for low, high in spans for k in range(low, high)})


@dataclass(frozen=True)
class Rule:
    name: str
    description: str
    origin: str
    languages: tuple[str, ...]
    matches: Callable[[Words], Mistakes]


def _neighbours(words: Words, wrong: Callable[[Word, Word], bool]) -> Mistakes:
    return [
        (k, k + 2)
        for k, (first_word, second_word) in enumerate(pairwise(words))
        if wrong(first_word, second_word)
    ]


def _has_category(word: Word, category: str, value: str) -> bool:
    return word.feats.get(category) == frozenset((value,))


def _differs(word: Word, category: str, value: str) -> bool:
    return category in word.feats and value not in word.feats[category]


def _noun_differs(noun: Word, category: str, value: str) -> bool:
    stressed = value == "Masc" and is_stressed(noun)
    return noun.upos == "NOUN" and _differs(noun, category, value) and not stressed


def _determiner_noun(first_word: Word, second_word: Word, category: str, value: str) -> bool:
    determiner = first_word.upos == "DET" and _has_category(first_word, category, value)
    return determiner and _noun_differs(second_word, category, value)


def _contraction_noun(first_word: Word, second_word: Word, category: str, value: str) -> bool:
    contraction = first_word.form.lower() in ("del", "al")
    return contraction and _noun_differs(second_word, category, value)


def is_stressed(noun: Word) -> bool:
    """Whether a feminine noun requires `el` in the singular.

    >>> is_stressed(Word("agua", "agua", "NOUN")), is_stressed(Word("casa", "casa", "NOUN"))
    (True, False)
    """
    return noun.form.lower() in _STRESSED


def _noun_adjective(first_word: Word, second_word: Word, category: str, value: str) -> bool:
    pair = first_word.upos == "NOUN" and second_word.upos == "ADJ"
    return pair and _has_category(first_word, category, value) and _differs(second_word, category, value)


def _pronoun_verb(first_word: Word, second_word: Word, category: str, value: str) -> bool:
    nominative = first_word.has("Case", "Nom") or first_word.form.lower() in _SUBJECTS
    personal = first_word.upos == "PRON" and _has_category(first_word, "PronType", "Prs") and nominative
    agrees = not _has_category(first_word, category, value) or not _differs(second_word, category, value)
    return personal and is_finite(second_word) and not agrees


def _preposition_verb(first_word: Word, second_word: Word) -> bool:
    return first_word.upos == "ADP" and is_finite(second_word)


def _y_before_i(first_word: Word, second_word: Word) -> bool:
    """Whether `y` precedes the sound of i, where `e` is required."""
    return first_word.form.lower() == "y" and bool(_E_BEGINS.match(second_word.form.lower()))


def _o_before_o(first_word: Word, second_word: Word) -> bool:
    return first_word.form.lower() == "o" and bool(_U_BEGINS.match(second_word.form.lower()))


def _a_before_vowel(first_word: Word, second_word: Word) -> bool:
    """Whether the article `a` precedes a vowel sound, where `an` is required."""
    word = second_word.form.lower()
    sounds = (_VOWEL.match(word) and not _NOT_A_VOWEL.match(word)) or _SILENT.match(word)
    return first_word.form.lower() == "a" and first_word.upos == "DET" and bool(sounds)


def _repeated(first_word: Word, second_word: Word) -> bool:
    word = first_word.form.lower()
    return word == second_word.form.lower() and bool(_WORD.fullmatch(word)) and word not in _TWICE_AS_ONE


def _double_punctuation(first_word: Word, second_word: Word) -> bool:
    pair = first_word.form, second_word.form
    return (
        set(pair) <= _DOUBLES and (first_word.form == second_word.form or "," in pair) and pair[0] not in "¿¡"
    )


def _rules() -> Iterator[Rule]:
    def near(
        name: str, label: str, wrong: Callable[[Word, Word], bool], *languages: str, origin: str = _DFKI
    ) -> Rule:
        return Rule(name, label, origin, languages, partial(_neighbours, wrong=wrong))

    values: Mapping[str, tuple[str, str]] = {
        "sing": ("Number", "Sing"), "plur": ("Number", "Plur"), "masc": ("Gender", "Masc"),
        "fem": ("Gender", "Fem"),
    }  # fmt: skip
    for value, (category, code) in values.items():
        label = f"a determiner of {category.lower()} {code} before a noun that is not"
        yield near(f"det_nom_{value}", label, partial(_determiner_noun, category=category, value=code), "es")
        label = f"a noun of {category.lower()} {code} before an adjective that is not"
        yield near(f"nom_adj_{value}", label, partial(_noun_adjective, category=category, value=code), "es")
    for value in ("sing", "masc"):
        category, code = values[value]
        label = f"`del` or `al` before a noun that is not {code}"
        yield near(f"del_nom_{value}", label, partial(_contraction_noun, category=category, value=code), "es")
    for value in ("sing", "plur"):
        category, code = values[value]
        label = f"a personal pronoun of number {code} before a finite verb that is not"
        yield near(f"pp_v_{value}", label, partial(_pronoun_verb, category=category, value=code), "es")
    yield near("preposition_verb", "an adposition before a finite verb", _preposition_verb, "es", origin=_OWN)
    yield near("y_e", "`y` before a word that begins with the sound i", _y_before_i, "es", origin=_TABLE_1)
    yield near("o_u", "`o` before a word that begins with the sound o", _o_before_o, "es", origin=_OWN)
    yield near("a_an", "`a` before a word that begins with a vowel", _a_before_vowel, "en", origin=_OWN)
    yield near("word_repeat", "a word twice in a row", _repeated, "en", "es")
    yield near("double_punct", "punctuation twice in a row", _double_punctuation, "en", "es")


RULES: Final = tuple(_rules())


def _column(
    name: str, description: str, origin: str, unit: str, measure: Callable[[_Checked], float]
) -> Column[Sequence[_Checked]]:
    def values(texts: Sequence[_Checked]) -> FloatArray:
        return np.array([measure(text) for text in texts], np.float64)

    return Column(f"check_{name}", description, origin, unit, values)


def _columns() -> Iterator[Column[Sequence[_Checked]]]:
    for rule in RULES:
        count = partial(_count, name=rule.name)
        yield _column(rule.name, rule.description, rule.origin, "patterns", count)
    what = "white space before a comma or a closing bracket, or behind an opening one"
    yield _column("comma_parenthesis_space", what, _DFKI, "patterns", lambda text: len(text.spaces))
    matches = "matches of all rules"
    yield _column("all", matches, _DFKI, "patterns", lambda text: sum(map(len, text.mistakes.values())))
    words = "characters of the words that rules match"
    yield _column("characters", words, _DFKI, "characters", lambda text: text.touched())


def _count(text: _Checked, name: str) -> int:
    return len(text.mistakes[name])


def _touched(text: _Checked, name: str) -> int:
    return text.touched(name)


def _character_columns() -> Iterator[Column[Sequence[_Checked]]]:
    section = "section 2.2.1: characters of every rule"
    for rule in RULES:
        name, what = f"{rule.name}_characters", f"characters of the words of {rule.description}"
        touched = partial(_touched, name=rule.name)
        yield _column(name, what, f"{rule.origin}; {section}", "characters", touched)
    name, what = "comma_parenthesis_space_characters", "characters of misplaced white space and its marks"
    yield _column(name, what, f"{_DFKI}; {section}", "characters", lambda text: sum(map(len, text.spaces)))
