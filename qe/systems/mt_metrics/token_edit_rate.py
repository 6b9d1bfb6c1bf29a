"""Token edit rate (word error rate)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from features.basics.array_types import FloatArray
from features.text.scripts import without_blanks
from features.text.tokens import ratio
from qe.systems.mt_metrics._edits import least_edits
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts, Tokenization
from qe.systems.usual_tokens import usual_tokenization


@dataclass(frozen=True)
class TokenEditRate(TextMetric):
    """Insertions, deletions and substitutions per 100 reference words.

    It is the Levenshtein distance, without shifts.

    statistics   edits to the reference that needs fewest, mean reference length

    NaN if the references are empty.

    >>> TokenEditRate().score(["c a b"], [["a b c"]])
    66.6...
    """

    title: ClassVar[str] = "Token edit rate"
    higher_is_better: ClassVar[bool | None] = False
    tokenize: Tokenization = "none"
    lowercase: bool = False
    language: str = "en"

    @classmethod
    def usual(cls, language: str) -> Mapping[str, Any]:
        tokenize = usual_tokenization(language) if without_blanks(language) else "none"
        return {"tokenize": tokenize, "language": language}

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        tokens = [t.tokens(self.tokenize, self.lowercase, self.language) for t in (hypotheses, *references)]
        return least_edits([[column.words(i) for i in range(len(column))] for column in tokens])

    def aggregate(self, sums: FloatArray) -> FloatArray:
        return 100 * ratio(sums[..., 0], sums[..., 1])
