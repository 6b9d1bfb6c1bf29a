"""A negation on one side alone."""

from collections.abc import Mapping
from typing import Any, ClassVar

import regex

from features.text.languages import NEGATORS
from qe.scoring.check import Check, Pair


class Negation(Check):
    """Words that negate, on the side that has some while the other has none.

    A negation may be put otherwise ("unable" for "not able"): then this is wrong.
    """

    flag: ClassVar[Mapping[str, Any] | None] = {}
    cost = 20.0

    @property
    def lacks(self) -> str:
        missing = [code for code in self.knowledge.languages if code not in NEGATORS]
        if not missing:
            return ""
        return f"no list of negators for {' and '.join(missing)} (there are {', '.join(NEGATORS)})"

    def words(self, pair: Pair) -> tuple[str, ...]:
        sides = zip((pair.source, pair.target), self.knowledge.languages, strict=True)
        source, target = (negators(text, code) for text, code in sides)
        return () if bool(source) == bool(target) else (*source, *target)


def negators(text: str, language: str) -> tuple[str, ...]:
    """The words of a text that negate.

    >>> negators("Don't! I have no idea", "en"), negators("N-am văzut", "ro")
    (("don't", 'no'), ('n',))
    """
    pattern = regex.compile(rf"(?<![\w'’])(?:{NEGATORS[language]})(?!\w|['’]\w)")
    return tuple(pattern.findall(text.lower()))
