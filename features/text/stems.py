"""Stems, base forms and synonyms of words."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

import numpy as np

from features.basics.errors import InputError
from features.storage.files import digest, read_lines, sha256
from features.text.annotation import NOTHING
from features.text.languages import without_blanks
from features.text.tokens import Tokens

LETTERS: Final = 5
# Languages with a stemmer in Snowball, by their codes.
SNOWBALL: Final[Mapping[str, str]] = MappingProxyType({
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish", "fr": "french",
    "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian",
    "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
    "yi": "yiddish",
})  # fmt: skip


def stemmed(tokens: Tokens, language: str) -> Tokens:
    """The texts with stems (Snowball, Porter 2001) as tokens; truncated tokens without a stemmer."""
    return tokens.with_types(map(_stemmer(language), tokens.types))


def stems(words: Iterable[str], language: str) -> list[str]:
    """The stem of each word, as `stemmed` has it.

    >>> stems(["casas", "convierte"], "es"), stems(["sanasta"], "mt")
    (['cas', 'conviert'], ['sanas'])
    """
    return list(map(_stemmer(language), words))


def truncated(tokens: Tokens) -> Tokens:
    """The texts with the first letters of every token (McNamee, Nicholas and Mayfield 2009, trunc-5)."""
    return tokens.with_types(map(_first_letters, tokens.types))


def _stemmer(language: str) -> Callable[[str], str]:
    name = SNOWBALL.get(language.lower().replace("_", "-").partition("-")[0])
    if name is None:
        return _first_letters
    import snowballstemmer

    stem: Callable[[str], str] = snowballstemmer.stemmer(name).stemWord
    return lambda word: stem(word.lower())


def _first_letters(word: str) -> str:
    lower = word.lower()
    return lower[:LETTERS] if lower.isalpha() else lower


def base_forms(words: Iterable[str], language: str) -> list[str]:
    """The lower-cased base form of each word; unknown words are unchanged.

    >>> base_forms(["convierte", "las", "horas", "xyz"], "es")
    ['convertir', 'el', 'hora', 'xyz']

    Raises InputError for a language without a dictionary.
    """
    if without_blanks(language):
        return [word.lower() for word in words]
    if language not in (known := _languages()):
        raise InputError(
            f"no base forms for the language '{language}'", remedy=f"known: {', '.join(sorted(known))}"
        )
    import simplemma

    return [str(simplemma.lemmatize(word, language)).lower() for word in words]


def has_base_forms(language: str) -> bool:
    """Whether `base_forms` knows a language.

    >>> has_base_forms("es"), has_base_forms("zh"), has_base_forms("gu")
    (True, True, False)
    """
    return without_blanks(language) or language in _languages()


def _languages() -> Collection[str]:
    from simplemma.strategies.dictionaries import dictionary_factory  # a tenth of a second: for those who ask

    languages: Collection[str] = dictionary_factory.SUPPORTED_LANGUAGES
    return languages


def annotated_lemmas(words: Tokens, lemmas: Tokens, language: str) -> Tokens:
    """Lemmas of an annotation, lower-cased; without one, the base form by simplemma, or the word itself."""
    lemmas, lower = lemmas.lower(), words.lower()
    known = language in _languages()
    instead = base_forms(lower.types, language) if known else list(lower.types)
    index = {form: i for i, form in enumerate(dict.fromkeys([*lemmas.types, *instead]))}
    own = np.array([index[form] for form in lemmas.types], np.int32)[lemmas.ids]
    other = np.array([index[form] for form in instead], np.int32)[lower.ids]
    absent = np.array([form == NOTHING for form in lemmas.types], bool)[lemmas.ids]
    return Tokens(tuple(index), np.where(absent, other, own).astype(np.int32), words.offsets)


def base_form_tokens(tokens: Tokens, language: str) -> Tokens:
    return tokens.with_types(base_forms(tokens.types, language))


FOLDER: Final = Path("/usr/share/wordnet")
_FILES: Final = ("noun", "verb", "adj", "adv")
# What endings become in base forms (morphy, part of WordNet): (ending, instead).
_ENDINGS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "noun": (("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
             ("men", "man"), ("ies", "y")),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"),
             ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip

Senses = frozenset[str]


@dataclass(frozen=True, eq=False)
class WordNet:
    """WordNet's synonym sets by word, and irregular forms (Fellbaum 1998; files as in wndb(5))."""

    sets: Mapping[str, Mapping[str, Sequence[str]]]
    irregular: Mapping[str, Mapping[str, Sequence[str]]]
    fingerprint: str

    @classmethod
    def read(cls, folder: Path = FOLDER) -> Self:
        files = [folder / name for pos in _FILES for name in (f"index.{pos}", f"{pos}.exc")]
        for file in files:
            if not file.is_file():
                raise InputError(
                    "no such file", location=file, remedy="on Debian: apt-get install wordnet-base"
                )
        return cls(
            {pos: dict(_sets(read_lines(folder / f"index.{pos}"), pos)) for pos in _FILES},
            {pos: dict(_forms(read_lines(folder / f"{pos}.exc"))) for pos in _FILES},
            digest(*map(sha256, files)),
        )

    def senses(self, word: str) -> Senses:
        return frozenset(
            sense
            for pos in _FILES
            for form in self._forms(word.lower(), pos)
            for sense in self.sets[pos].get(form, ())
        )

    def _forms(self, word: str, pos: str) -> Iterator[str]:
        yield word
        yield from self.irregular[pos].get(word, ())
        for ending, instead in _ENDINGS[pos]:
            if word.endswith(ending) and len(word) > len(ending):
                yield word.removesuffix(ending) + instead


@cache
def english() -> WordNet:
    """The WordNet that is installed, read once; raises InputError without one."""
    return WordNet.read()


def senses_of(words: Iterable[str], language: str) -> list[Senses]:
    """The sets of synonyms of each word; raises InputError for a language other than English."""
    if language.lower().replace("_", "-").partition("-")[0] != "en":
        raise InputError(
            f"synonyms are those of WordNet, which is English, but the language is '{language}'",
            remedy="leave out `synonyms`",
        )
    return [english().senses(word) for word in words]


def _sets(lines: Iterable[str], pos: str) -> Iterator[tuple[str, list[str]]]:
    for line in lines:
        if line and not line.startswith(" "):  # the licence
            word, _, sets, pointers, *rest = line.split()
            yield word, [f"{pos}{offset}" for offset in rest[int(pointers) + 2 :][: int(sets)]]


def _forms(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    for line in lines:
        word, *bases = line.split() or [""]
        if word:
            yield word, bases
