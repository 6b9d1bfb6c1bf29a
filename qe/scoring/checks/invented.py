"""Words of the translation that nobody knows."""

from collections.abc import Mapping
from typing import Any, ClassVar

import regex

from qe.scoring.check import Check, Pair, alike

_SHORTEST = 4
_ALIKE = 75.0
_JOINTS = regex.compile("[-'’]")  # tokenizers part words there


class Invented(Check):
    """Invented words: the lexicon's corpus lacks them, and no source word is like them.

    Only words without a capital are looked at.

    An invented statement made of known words is not seen. Compounds of languages that write them as one word,
    and rare words, are taken for invented if the corpus is small.
    """

    flag: ClassVar[Mapping[str, Any] | None] = {}
    cost = 20.0

    @property
    def lacks(self) -> str:
        return "" if self.knowledge.lexicon is not None else "no lexicon among the resources"

    def words(self, pair: Pair) -> tuple[str, ...]:
        candidates = dict.fromkeys(
            word for word in pair.target_words if word[0].islower() and len(word) >= _SHORTEST
        )
        return tuple(
            word
            for word in candidates
            if self._is_unknown(word) and not any(alike(word, other, _ALIKE) for other in pair.source_words)
        )

    def _is_unknown(self, word: str) -> bool:
        lexicon = self.knowledge.lexicon
        if lexicon is None or lexicon.target.lookup([word.lower()])[0]:
            return False
        parts = [part for part in _JOINTS.split(word.lower()) if len(part) >= _SHORTEST]
        return not all(lexicon.target.lookup(parts)) if parts else False
