"""Word classes: universal parts of speech as wider classes. The classes are those of the EAGLES tags of
FreeLing.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from features.text.annotation import NOTHING
from features.text.tokens import Tokens

NOUN, VERB, ADJECTIVE, DETERMINER, PUNCTUATION = "noun", "verb", "adjective", "determiner", "punctuation"
UNKNOWN = "unknown"

_CLASSES: Final[Mapping[str, str]] = {
    "NOUN": NOUN, "PROPN": NOUN, "VERB": VERB, "AUX": VERB, "ADJ": ADJECTIVE, "DET": DETERMINER,
    "PUNCT": PUNCTUATION, "SYM": PUNCTUATION, "ADV": "adverb", "PRON": "pronoun", "ADP": "adposition",
    "CCONJ": "conjunction", "SCONJ": "conjunction", "NUM": "number", "INTJ": "interjection",
    "PART": "particle",
}  # fmt: skip


def word_class(word: str, part_of_speech: str) -> str:
    """The class of a word by its universal part of speech; `unknown` for X, and for none. Common and proper
    nouns are one class, so are full and auxiliary verbs, and both kinds of conjunction, as in the first
    letter of an EAGLES tag. Signs are punctuation, and so is a word without letters or digits whose part of
    speech is unknown.

    >>> word_class("Madrid", "PROPN"), word_class("»", "X"), word_class("bzw", "X")
    ('noun', 'punctuation', 'unknown')
    """
    word_kind = _CLASSES.get(part_of_speech, UNKNOWN)
    if word_kind == UNKNOWN and word != NOTHING and not any(c.isalnum() for c in word):
        return PUNCTUATION
    return word_kind


def word_class_tokens(words: Tokens, parts_of_speech: Tokens) -> Tokens:
    """The texts with classes in place of words. Each pair of word and tag is looked up once. Raises
    ValueError if the two differ in length.
    """
    if words.offsets.tolist() != parts_of_speech.offsets.tolist():
        raise ValueError("every word must have one part of speech")
    pairs = words.ids.astype(np.int64) * max(len(parts_of_speech.types), 1) + parts_of_speech.ids
    distinct, inverse = np.unique(pairs, return_inverse=True)
    index: dict[str, int] = {}
    mapping = [
        index.setdefault(word_class(words.types[w], parts_of_speech.types[p]), len(index))
        for w, p in zip(*np.divmod(distinct, max(len(parts_of_speech.types), 1)), strict=True)
    ]
    ids = np.array(mapping, np.int32)[inverse] if len(mapping) else words.ids
    return Tokens(tuple(index), ids.astype(np.int32), words.offsets)
