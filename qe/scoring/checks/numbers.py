"""Numbers that one side has and the other has not."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import regex

from qe.scoring.check import Check, Pair

_NUMBER = regex.compile(r"\p{Nd}+(?:[.,'’\u00a0\u202f ]\p{Nd}{3}(?!\p{Nd}))*(?:[.,]\p{Nd}+)?")


@dataclass(frozen=True, eq=False)
class Numbers(Check):
    """More than `most` numbers are on one side alone.

    Digits are compared, whatever separates thousands and decimals.

    A number in words is none.
    """

    flag: ClassVar[Mapping[str, Any] | None] = {}
    filters = True
    cost = 6.0

    most: int = 0

    def words(self, pair: Pair) -> tuple[str, ...]:
        source, target = numbers_of(pair.source), numbers_of(pair.target)
        alone = (*_beyond(source, target), *_beyond(target, source))
        return alone if len(alone) > self.most else ()


def numbers_of(text: str) -> list[tuple[str, str]]:
    """The digits of each number, and how it is written.

    >>> numbers_of("1,250.5 of 12 000 in 2012-05-03")
    [('12505', '1,250.5'), ('12000', '12 000'), ('2012', '2012'), ('05', '05'), ('03', '03')]
    """
    return [(_digits(match), match) for match in _NUMBER.findall(text)]


def _digits(number: str) -> str:
    return "".join(str(int(letter)) for letter in number if letter.isdecimal())


def _beyond(these: list[tuple[str, str]], those: list[tuple[str, str]]) -> list[str]:
    left = Counter(digits for digits, _ in those)
    beyond = []
    for digits, written in these:
        if left[digits]:
            left[digits] -= 1
        else:
            beyond.append(written)
    return beyond
