"""Stems of words: by the Snowball stemmer of their language, or by truncation."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

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
    """The texts with each token replaced by its stem, lower-cased. Truncated without a stemmer. Source:
    Porter 2001, Snowball: a language for stemming algorithms; the package `snowballstemmer`.

    >>> stemmed(Tokens.from_lists([["Parks", "park"]]), "en").types
    ('park',)
    """
    return _mapped(tokens, _stemmer(language))


def stems(words: Iterable[str], language: str) -> list[str]:
    """The stem of each word, as `stemmed` has it.

    >>> stems(["casas", "convierte"], "es"), stems(["sanasta"], "mt")
    (['cas', 'conviert'], ['sanas'])
    """
    return list(map(_stemmer(language), words))


def truncated(tokens: Tokens, letters: int = LETTERS) -> Tokens:
    """The same texts with every token replaced by its first letters, lower-cased. For languages without a
    stemmer: the first five letters are a stem in any alphabetic language. Source: McNamee, Nicholas and
    Mayfield 2009, Addressing morphological variation in alphabetic languages (trunc-5).

    >>> truncated(Tokens.from_lists([["Traducciones", "traducidas", "de", "1234567"]])).types
    ('tradu', 'de', '1234567')
    """
    return _mapped(tokens, lambda word: _stem(word.lower(), letters))


def _stemmer(language: str) -> Callable[[str], str]:
    name = SNOWBALL.get(language.lower().replace("_", "-").partition("-")[0])
    if name is None:
        return lambda word: _stem(word.lower(), LETTERS)
    import snowballstemmer

    stem: Callable[[str], str] = snowballstemmer.stemmer(name).stemWord
    return lambda word: stem(word.lower())


def _mapped(tokens: Tokens, stem: Callable[[str], str]) -> Tokens:
    index: dict[str, int] = {}
    mapping = [index.setdefault(stem(word), len(index)) for word in tokens.types]
    ids = np.array(mapping, np.int32)[tokens.ids] if mapping else tokens.ids
    return Tokens(tuple(index), ids, tokens.offsets)


def _stem(word: str, letters: int) -> str:
    return word[:letters] if word.isalpha() else word
