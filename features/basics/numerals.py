"""Numbers in text from others: `float` and `int` accept forms that are slips, or no numbers."""

from typing import Final

LARGEST: Final = 1e100  # labels and scores: the squares of what is larger, summed, are no numbers any more


def real(text: str) -> float:
    """Number by `float`, of ASCII digits without underscores. The caller refuses NaN and infinities.

    >>> real(" -1.5e3 "), real("nan")
    (-1500.0, nan)
    >>> real("1_0")
    Traceback (most recent call last):
    ValueError: not a number: '1_0'

    Raises ValueError for any other text.
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


def integer(text: str) -> int:
    """Number by `int`, of ASCII digits without underscores.

    >>> integer("-7")
    -7
    >>> integer("\u0663")
    Traceback (most recent call last):
    ValueError: not a whole number: '\u0663'

    Raises ValueError for any other text, and for thousands of digits.
    """
    try:
        return int(_plain(text))
    except ValueError:
        raise ValueError(f"not a whole number: {text!r}") from None


def _plain(text: str) -> str:
    if not text.isascii() or "_" in text:
        raise ValueError
    return text
