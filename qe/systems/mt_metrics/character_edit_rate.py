"""Character edit rate (character error rate)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from features.basics.array_types import FloatArray
from features.text.tokens import ratio
from qe.systems.mt_metrics._edits import least_edits
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts


@dataclass(frozen=True)
class CharacterEditRate(TextMetric):
    """Character insertions, deletions and substitutions per 100 reference characters.

    statistics   edits to the reference that needs fewest, mean reference length

    A run of white space counts as one character, none at the ends; `white_space=False` leaves it out.
    NaN if the references are empty.

    >>> CharacterEditRate().score(["the  cats"], [["the cat!"]])
    12.5
    """

    title: ClassVar[str] = "Character edit rate"
    higher_is_better: ClassVar[bool | None] = False
    lowercase: bool = False
    white_space: bool = True

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        return least_edits([[self._plain(line) for line in t.lines] for t in (hypotheses, *references)])

    def _plain(self, line: str) -> str:
        text = (" " if self.white_space else "").join(line.split())
        return text.lower() if self.lowercase else text

    def aggregate(self, sums: FloatArray) -> FloatArray:
        return 100 * ratio(sums[..., 0], sums[..., 1])
