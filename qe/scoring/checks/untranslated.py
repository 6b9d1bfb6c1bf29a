"""Source words that stand in the translation as they were."""

from collections.abc import Mapping
from typing import Any, ClassVar

from qe.scoring.check import Check, Pair

_LEAST = 0.1  # t(word | itself) from which a word is its own translation
_SHORTEST = 4


class Untranslated(Check):
    """Words without a capital, copied though the lexicon translates them otherwise."""

    flag: ClassVar[Mapping[str, Any] | None] = {}
    cost = 20.0

    @property
    def lacks(self) -> str:
        return "" if self.knowledge.lexicon is not None else "no lexicon among the resources"

    def words(self, pair: Pair) -> tuple[str, ...]:
        there = set(pair.source_words)
        copied = dict.fromkeys(word for word in pair.target_words if word in there)
        return tuple(word for word in copied if self._has_another(word))

    def _has_another(self, word: str) -> bool:
        lexicon = self.knowledge.lexicon
        if lexicon is None or not word[0].islower() or len(word) < _SHORTEST:
            return False
        known = int(lexicon.source.lookup([word])[0])
        return known > 0 and self.knowledge.translates(word, word) < _LEAST
