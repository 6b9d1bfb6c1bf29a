"""Text in lines of a width, broken at blanks, then after punctuation, never inside a number."""

import re
from itertools import pairwise

from rich.cells import cell_len

from qe.display.numbers import NumberText

_NUMBER = re.compile(r"[-+]?\d+(?:[.,:]\d+)*(?:[eE][-+]?\d+)?")
_AFTER = "_-/\\=:;,|.+&?"
_LONGEST = (
    24  # a word without a place to break it is broken wherever it may be, rather than be wider than that
)


def wrapped(text: str, width: int, whole_words: bool = False) -> list[str]:
    """The lines of a text; its own line ends are kept.

    whole_words  whether a word that is wider than a line stays whole, such as a path

    >>> wrapped("ridge regression [0.125, 0.250]", 10)
    ['ridge', 'regression', '[0.125,', '0.250]']
    >>> wrapped("learning_rate=0.001234", 8)
    ['learning', '_rate=', '0.001234']
    """
    if isinstance(text, NumberText):
        return _filled(list(text.pieces), width, whole_words)
    return [line for own in text.split("\n") for line in _filled(own.split(" "), width, whole_words)]


def narrowest(text: str) -> int:
    words = text.pieces if isinstance(text, NumberText) else text.split()
    return max((_needed(word, isinstance(text, NumberText)) for word in words), default=0)


def natural(text: str) -> int:
    return max(map(cell_len, text.split("\n")))


def _needed(word: str, unbroken: bool) -> int:
    if unbroken or not word:
        return cell_len(word)
    longest = max(map(cell_len, _parts(word)))
    return longest if longest <= _LONGEST else max(_LONGEST, max(map(cell_len, _pieces(word))))


def _filled(words: list[str], width: int, whole_words: bool) -> list[str]:
    lines = [""]
    for number, word in enumerate(words):
        joined = f"{lines[-1]} {word}" if number else word
        if cell_len(joined) <= width:
            lines[-1] = joined
            continue
        first, *others = [word] if whole_words else _folded(word, width)
        lines = [*lines, first] if lines[-1] else [first]
        lines += others
    return lines


def _folded(word: str, width: int) -> list[str]:
    if cell_len(word) <= width:
        return [word]
    lines = [""]
    for part in _parts(word):
        for piece in [part] if cell_len(part) <= width else _pieces(part):
            if lines[-1] and cell_len(lines[-1] + piece) > width:
                lines.append("")
            lines[-1] += piece
    return lines


def _parts(word: str) -> list[str]:
    inside = _inside_numbers(word)
    ends = [i for i in range(1, len(word)) if word[i - 1] in _AFTER and i not in inside]
    return [word[a:b] for a, b in pairwise([0, *ends, len(word)])]


def _pieces(word: str) -> list[str]:
    inside = _inside_numbers(word)
    ends = [i for i in range(len(word) + 1) if i not in inside]
    return [word[a:b] for a, b in pairwise(ends)]


def _inside_numbers(word: str) -> set[int]:
    return {i for found in _NUMBER.finditer(word) for i in range(found.start() + 1, found.end())}
