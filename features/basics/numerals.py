"""Numbers in text from others, and undefined numbers in JSON: `float` and `int` accept slips."""

import math
from typing import Final

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
