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
    def features(self) -> Sequence[Feature]:
        own = [feature for feature, _ in self._measures]
        return [replace(f, name=f.name + ending) for ending in self._endings.values() for f in own]

    def requires(self) -> tuple[str, ...]:
        return tuple(f"annotation_{side}" for side in self._endings)

    def extract(self, segments: Segments) -> FloatArray:
        measures = [measure for _, measure in self._measures]
        texts = [_checked(segments, side) for side in self._endings]
        sides = [[[measure(text) for measure in measures] for text in of_side] for of_side in texts]
        return np.hstack([np.array(rows, np.float64).reshape(-1, len(measures)) for rows in sides])

    @property
    def _endings(self) -> Mapping[Side, str]:
        return {"target": "", "source": "_source"} if self.sides == "both" else {"target": ""}

    @property
    def _measures(self) -> list[tuple[Feature, Callable[["_Checked"], float]]]:
        return [*_matches(), *(_characters() if self.characters else ())]


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
    """A rule for two neighbouring words, of which `wrong` says whether they break it."""

    name: str
    description: str
    origin: str
    languages: tuple[str, ...]
    wrong: Callable[[Word, Word], bool]

    def matches(self, words: Words) -> Mistakes:
        return [(k, k + 2) for k, pair in enumerate(pairwise(words)) if self.wrong(*pair)]


def _has_category(word: Word, category: str, value: str) -> bool:
    return word.feats.get(category) == frozenset((value,))


def _differs(word: Word, category: str, value: str) -> bool:
    return category in word.feats and value not in word.feats[category]


def _noun_differs(noun: Word, category: str, value: str) -> bool:
    stressed = value == "Masc" and is_stressed(noun)
    return noun.upos == "NOUN" and _differs(noun, category, value) and not stressed


def is_stressed(noun: Word) -> bool:
    """Whether a feminine noun requires `el` in the singular.

    >>> is_stressed(Word("agua", "agua", "NOUN")), is_stressed(Word("casa", "casa", "NOUN"))
    (True, False)
    """
    return noun.form.lower() in _STRESSED


def _of_category(value: str, category: str, code: str) -> Iterator[Rule]:
    """The rules for determiners, nouns, adjectives and pronouns of one number or gender."""

    def determiner(first: Word, second: Word) -> bool:
        determines = first.upos == "DET" and _has_category(first, category, code)
        return determines and _noun_differs(second, category, code)

    def adjective(first: Word, second: Word) -> bool:
        pair = first.upos == "NOUN" and second.upos == "ADJ"
        return pair and _has_category(first, category, code) and _differs(second, category, code)

    def contraction(first: Word, second: Word) -> bool:
        return first.form.lower() in ("del", "al") and _noun_differs(second, category, code)

    def pronoun(first: Word, second: Word) -> bool:
        nominative = first.has("Case", "Nom") or first.form.lower() in _SUBJECTS
        personal = first.upos == "PRON" and _has_category(first, "PronType", "Prs") and nominative
        agrees = not _has_category(first, category, code) or not _differs(second, category, code)
        return personal and is_finite(second) and not agrees

    kind = f"{category.lower()} {code}"
    for name, what, wrong in (
        ("det_nom", f"a determiner of {kind} before a noun that is not", determiner),
        ("nom_adj", f"a noun of {kind} before an adjective that is not", adjective),
        ("del_nom", f"`del` or `al` before a noun that is not {code}", contraction),
        ("pp_v", f"a personal pronoun of {kind} before a finite verb that is not", pronoun),
    ):
        yield Rule(f"{name}_{value}", what, _DFKI, ("es",), wrong)


def _a_before_vowel(first: Word, second: Word) -> bool:
    """Whether the article `a` precedes a vowel sound, where `an` is required."""
    word = second.form.lower()
    sounds = (_VOWEL.match(word) and not _NOT_A_VOWEL.match(word)) or _SILENT.match(word)
    return first.form.lower() == "a" and first.upos == "DET" and bool(sounds)


def _repeated(first: Word, second: Word) -> bool:
    word = first.form.lower()
    return word == second.form.lower() and bool(_WORD.fullmatch(word)) and word not in _TWICE_AS_ONE


def _double_punctuation(first: Word, second: Word) -> bool:
    pair = first.form, second.form
    same = first.form == second.form or "," in pair
    return set(pair) <= _DOUBLES and same and pair[0] not in "¿¡"


def _rules() -> Iterator[Rule]:
    values: Mapping[str, tuple[str, str]] = {
        "sing": ("Number", "Sing"), "plur": ("Number", "Plur"), "masc": ("Gender", "Masc"),
        "fem": ("Gender", "Fem"),
    }  # fmt: skip
    of_category = {rule.name: rule for value, kind in values.items() for rule in _of_category(value, *kind)}
    names = [f"{name}_{value}" for value in values for name in ("det_nom", "nom_adj")]
    for name in (*names, "del_nom_sing", "del_nom_masc", "pp_v_sing", "pp_v_plur"):
        yield of_category[name]
    rows: Sequence[tuple[str, str, str, str, Callable[[Word, Word], bool]]] = (
        ("preposition_verb", "an adposition before a finite verb", _OWN, "es",
         lambda first, second: first.upos == "ADP" and is_finite(second)),
        ("y_e", "`y` before a word that begins with the sound i", _TABLE_1, "es",
         lambda first, second: first.form.lower() == "y" and bool(_E_BEGINS.match(second.form.lower()))),
        ("o_u", "`o` before a word that begins with the sound o", _OWN, "es",
         lambda first, second: first.form.lower() == "o" and bool(_U_BEGINS.match(second.form.lower()))),
        ("a_an", "`a` before a word that begins with a vowel", _OWN, "en", _a_before_vowel),
        ("word_repeat", "a word twice in a row", _DFKI, "en es", _repeated),
        ("double_punct", "punctuation twice in a row", _DFKI, "en es", _double_punctuation),
    )  # fmt: skip
    for name, description, origin, languages, wrong in rows:
        yield Rule(name, description, origin, tuple(languages.split()), wrong)


RULES: Final = tuple(_rules())
Measures = Iterator[tuple[Feature, Callable[[_Checked], float]]]


def _matches() -> Measures:
    for rule in RULES:
        count = partial(lambda text, name: len(text.mistakes[name]), name=rule.name)
        yield Feature(f"check_{rule.name}", rule.description, rule.origin, "patterns"), count
    what = "white space before a comma or a closing bracket, or behind an opening one"
    spaces = Feature("check_comma_parenthesis_space", what, _DFKI, "patterns")
    yield spaces, lambda text: len(text.spaces)
    matches = Feature("check_all", "matches of all rules", _DFKI, "patterns")
    yield matches, lambda text: sum(map(len, text.mistakes.values()))
    words = "characters of the words that rules match"
    yield Feature("check_characters", words, _DFKI, "characters"), lambda text: text.touched()


def _characters() -> Measures:
    section = "section 2.2.1: characters of every rule"
    for rule in RULES:
        name, what = f"check_{rule.name}_characters", f"characters of the words of {rule.description}"
        touched = partial(lambda text, name: text.touched(name), name=rule.name)
        yield Feature(name, what, f"{rule.origin}; {section}", "characters"), touched
    name, what = (
        "check_comma_parenthesis_space_characters",
        "characters of misplaced white space and its marks",
    )
    spaces = Feature(name, what, f"{_DFKI}; {section}", "characters")
    yield spaces, lambda text: sum(map(len, text.spaces))
