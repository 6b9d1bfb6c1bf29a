"""What an encoder reads of a text: spellings that mean the same are one."""

import re

from features.text.tokenizer import composed, normalise

_APART = re.compile(r" +(?=[.,;:!?](?: |$))")  # blanks before a mark that closes


def as_read(text: str) -> str:
    """Straight quotes, single blanks, none before a mark that closes, letters composed (NFC).

    >>> as_read("“So” ,  he said . ")
    '"So", he said.'
    """
    return _APART.sub("", normalise(composed(text)))
