"""Token edit rate (word error rate)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from features.basics.array_types import FloatArray
from features.text.tokens import ratio
from qe.systems.mt_metrics._edits import least_edits
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts, Tokenization


@dataclass(frozen=True)
class TokenEditRate(TextMetric):
    """Insertions, deletions and substitutions per 100 reference words (Levenshtein distance; no shifts).

    statistics   edits to the reference that needs fewest, mean reference length

    NaN if the references are empty.

    >>> TokenEditRate().score(["c a b"], [["a b c"]])
    66.6...
    """

    higher_is_better: ClassVar[bool | None] = False
    tokenize: Tokenization = "none"
    lowercase: bool = False
    language: str = "en"

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        tokens = [t.tokens(self.tokenize, self.lowercase, self.language) for t in (hypotheses, *references)]
        return least_edits([[column.words(i) for i in range(len(column))] for column in tokens])

    def aggregate(self, sums: FloatArray) -> FloatArray:
        return 100 * ratio(sums[..., 0], sums[..., 1])
