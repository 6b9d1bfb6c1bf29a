"""The longest text that is processed: alignment and edit rates compare every word with every other one."""

import re
from collections.abc import Iterable

from features.basics.errors import InputError

MAX_WORDS = 2_000  # words and signs of a text
_MAX_CHARACTERS = 20_000  # characters of a text: words without an end are no words
_WORD = re.compile(r"\w+|[^\w\s]")
REMEDY = "split it into sentences, or leave it out"


def too_long(text: str) -> str:
    """The length and the limit if a text is too long; else empty."""
    if len(text) > _MAX_CHARACTERS:
        return f"{len(text):,} characters, but a text has at most {_MAX_CHARACTERS:,}"
    if len(text) <= MAX_WORDS:  # characters: it cannot have more words
        return ""
    words = sum(1 for _ in _WORD.finditer(text))
    return f"{words:,} words, but a text has at most {MAX_WORDS:,}" if words > MAX_WORDS else ""


def refuse_long(texts: Iterable[str], noun: str) -> None:
    """Raises InputError for the first text that is too long, named by `noun` and its number from 1."""
    for number, text in enumerate(texts, start=1):
        reason = too_long(text)
        if reason:
            raise InputError(reason, location=f"{noun} {number}", remedy=REMEDY)
