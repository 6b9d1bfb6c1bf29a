"""Sides in another language."""

from collections.abc import Iterator
from dataclasses import dataclass

from simplemma import in_target_language
from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

from qe.display.numbers import percent
from qe.scoring.check import Check, Pair


@dataclass(frozen=True, eq=False)
class Language(Check):
    """A side seems to be in another language than its own.

    It has too few words in the dictionary of its language, or more in that of the other side.

    Dictionaries: simplemma.

    Parameters
    ----------
    share : float, default=0.4
        Least share of a side's words in its own dictionary.
    margin : float, default=0.1
        How much larger the share in the other dictionary may be.
    fewest : int, default=4
        A side with fewer words is not judged.
    """

    filters = True
    cost = 150.0

    share: float = 0.4
    margin: float = 0.1
    fewest: int = 4

    @property
    def lacks(self) -> str:
        missing = [code for code in self.knowledge.languages if code not in SUPPORTED_LANGUAGES]
        return f"no dictionary of {' and '.join(missing)}" if missing else ""

    def words(self, pair: Pair) -> tuple[str, ...]:
        return next(self._wrong(pair), ())

    def _wrong(self, pair: Pair) -> Iterator[tuple[str]]:
        languages = self.knowledge.languages
        sides = (("source", pair.source, *languages), ("target", pair.target, *languages[::-1]))
        for side, text, own, other in sides:
            if len(text.split()) < self.fewest or not any(map(str.isalpha, text)):
                continue
            known = in_target_language(text, lang=own)
            if known < self.share:
                yield (f"the {side} is not in '{own}' ({percent(known, 0)} of its words are known)",)
            elif own != other and in_target_language(text, lang=other) > known + self.margin:
                yield (f"the {side} is in '{other}'",)
