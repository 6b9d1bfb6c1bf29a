"""Repeated sources: rows that agree apart from tokenization and punctuation."""

import html
import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_NO_LETTER = re.compile(r"[\W_]+")


def unrepeated(texts: Sequence[str], sources: Iterable[str]) -> NDArray[np.int64]:
    """The places of texts that are none of `sources`, letters and digits compared."""
    known = {letters(text) for text in sources}
    return np.array([i for i, text in enumerate(texts) if letters(text) not in known], np.int64)


def letters(text: str) -> str:
    """Letters and digits in lower case, which tokenization keeps; the text itself if none.

    >>> letters("It &apos;s Anna 's .") == letters("It's Anna's.")
    True
    """
    return _NO_LETTER.sub("", html.unescape(text)).casefold() or text.strip()
