"""Numbers in text from others (`float` and `int` accept slips), and the longest text processed."""

import math
import re
from collections.abc import Iterable
from typing import Final

from features.basics.errors import InputError

MAX_VALUE: Final = 1e100  # labels and scores: the squares of what is larger, summed, are no numbers any more


def real(text: str) -> float:
    """Number by `float`, of ASCII digits without underscores, NaN and infinities too; else raises ValueError.

    >>> real(" -1.5e3 "), real("nan")
    (-1500.0, nan)
    >>> real("1_0")
    Traceback (most recent call last):
    ValueError: not a number: '1_0'
    """
    try:
        return float(_plain(text))
    except ValueError:
        raise ValueError(f"not a number: {text!r}") from None


def is_real(text: str) -> bool:
    """Whether `real` reads it, of any size: the user of the number checks its size.

    >>> is_real("1e999"), is_real("1_0")
    (True, False)
    """
    try:
        real(text)
    except ValueError:
        return False
    return True


def is_finite(text: str) -> bool:
    return is_real(text) and math.isfinite(real(text))


def integer(text: str) -> int:
    """Number by `int`, of ASCII digits without underscores; else, or with thousands of digits, ValueError.

    >>> integer("-7")
    -7
    >>> integer("\u0663")
    Traceback (most recent call last):
    ValueError: not a whole number: '\u0663'
    """
    try:
        return int(_plain(text))
    except ValueError:
        raise ValueError(f"not a whole number: {text!r}") from None


def _plain(text: str) -> str:
    if not text.isascii() or "_" in text:
        raise ValueError
    return text


_DIGITS = 18  # of numbers that every 64-bit integer holds


def natural(text: str) -> int | None:
    """The number that at most 18 ASCII digits write; None for any other text.

    >>> natural("12"), natural("007"), natural("-1"), natural("1_0"), natural("٣"), natural("9" * 19)
    (12, 7, None, None, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def finite_or_none(value: float) -> float | None:
    """The number as JSON can hold it: None for NaN, and for what is not finite.

    >>> finite_or_none(0.5), finite_or_none(float("nan")), finite_or_none(float("inf"))
    (0.5, None, None)
    """
    return float(value) if math.isfinite(value) else None


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
