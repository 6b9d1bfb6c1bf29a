"""Stems of words by truncation: their first letters."""

from typing import Final

import numpy as np

from features.text.tokens import Tokens

LETTERS: Final = 5


def truncated(tokens: Tokens, letters: int = LETTERS) -> Tokens:
    """The same texts with every token replaced by its first letters, lower-cased.

    No stemmer of a language is at hand; the first five letters are a stem in any alphabetic language. Source:
    McNamee, Nicholas and Mayfield 2009, Addressing morphological variation in alphabetic languages (trunc-5).

    >>> truncated(Tokens.from_lists([["Traducciones", "traducidas", "de", "1234567"]])).types
    ('tradu', 'de', '1234567')
    """
    index: dict[str, int] = {}
    mapping = [index.setdefault(_stem(word.lower(), letters), len(index)) for word in tokens.types]
    ids = np.array(mapping, np.int32)[tokens.ids] if mapping else tokens.ids
    return Tokens(tuple(index), ids, tokens.offsets)


def _stem(word: str, letters: int) -> str:
    """Words with other characters than letters stay whole: two long numbers are not one."""
    return word[:letters] if word.isalpha() else word
