"""Names that one side has and the other has not."""

from collections.abc import Mapping
from typing import Any, ClassVar

import regex

from qe.scoring.check import Check, Pair, alike

_NAME = regex.compile(r"(?<=[\p{Ll}\p{N},;] )\p{Lu}[\p{L}\p{M}'’-]+")
_NOUNS = ("de", "lb")  # languages that write every noun with a capital
_LEAST = 0.02


class Names(Check):
    """Capitalised words within a sentence that the other side lacks.

    The other side has them neither alike nor translated.

    The side of a language that writes all nouns with capitals is not looked at. A text with capitals in more
    than half of its words is a title, in which they mark nothing. A lexicon knows names that are translated.
    """

    flag: ClassVar[Mapping[str, Any] | None] = {}
    cost = 60.0

    def words(self, pair: Pair) -> tuple[str, ...]:
        source, target = self.knowledge.languages
        missing = () if source in _NOUNS else names_of(pair.source, pair.source_words)
        added = () if target in _NOUNS else names_of(pair.target, pair.target_words)
        return (
            *(name for name in missing if not self._rendered(name, pair.target_words)),
            *(name for name in added if not self._renders(name, pair.source_words)),
        )

    def _rendered(self, name: str, words: tuple[str, ...]) -> bool:
        return any(alike(name, word) or self.knowledge.translates(name, word) >= _LEAST for word in words)

    def _renders(self, name: str, words: tuple[str, ...]) -> bool:
        return any(alike(name, word) or self.knowledge.translates(word, name) >= _LEAST for word in words)


def names_of(text: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Words with a capital after a word without one, a number or a comma; none in a title.

    >>> text = "The talks were in London last year. He met Obama"
    >>> names_of(text, tuple(text.split()))
    ('London', 'Obama')
    """
    if 2 * sum(word[0].isupper() for word in words) > len(words):
        return ()
    return tuple(_NAME.findall(text))
