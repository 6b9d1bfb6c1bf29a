"""Length ratio."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from features.text.scripts import without_blanks
from features.text.tokens import ratio
from qe.systems.mt_metrics._lengths import closest_lengths
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts, Tokenization
from qe.systems.usual_tokens import usual_tokenization


@dataclass(frozen=True)
class Length(TextMetric):
    """Hypothesis words per 100 words of the closest reference in length.

    Neither direction is better.

    statistics   hypothesis length, reference length

    NaN if the references are empty.

    >>> Length().score(["a b c"], [["a b", "a b c d e"][:1]])
    150.0
    """

    title: ClassVar[str] = "Length"
    higher_is_better: ClassVar[bool | None] = None
    tokenize: Tokenization = "none"
    language: str = "en"

    @classmethod
    def usual(cls, language: str) -> Mapping[str, Any]:
        tokenize = usual_tokenization(language) if without_blanks(language) else "none"
        return {"tokenize": tokenize, "language": language}

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        tokens = [t.tokens(self.tokenize, language=self.language) for t in (hypotheses, *references)]
        return np.stack([tokens[0].lengths, closest_lengths(tokens[0], tokens[1:])], axis=1).astype(
            np.float64
        )

    def aggregate(self, sums: FloatArray) -> FloatArray:
        return 100 * ratio(sums[..., 0], sums[..., 1])
