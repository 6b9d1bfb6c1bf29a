"""Natural numbers in text that others wrote: counts, positions, ranks."""

_DIGITS = 18  # of numbers that every 64-bit integer holds


def natural(text: str) -> int | None:
    """The number that ASCII digits write; None for any other text, and for more than 18 digits. `int` reads
    more (signs, blanks, underscores, digits of other scripts), and fails from 4,300 digits on.

    >>> natural("12"), natural("007"), natural("-1"), natural("1_0"), natural("٣"), natural("9" * 19)
    (12, 7, None, None, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
