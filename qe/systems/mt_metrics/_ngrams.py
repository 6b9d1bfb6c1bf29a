"""Metrics of the n-grams that a translation shares with its references."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.edits.ngram_matches import Ids, matched_ngrams
from features.edits.ter import common_ids
from features.text.tokens import Tokens
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts, Tokenization
from qe.systems.usual_tokens import usual_tokenization


@dataclass(frozen=True, eq=False)
class Shared:
    """Hypotheses and references as tokens and ids.

    (order, n_tokens) flags say which n-grams of the hypotheses match.
    """

    tokens: Sequence[Tokens]
    ids: Sequence[Ids]
    matched: NDArray[np.uint8]


@dataclass(frozen=True)
class NgramMetric(TextMetric):
    """Options of every metric of n-grams up to `order`."""

    tokenize: Tokenization = "none"
    lowercase: bool = False
    order: int = 4
    language: str = "en"

    @classmethod
    def usual(cls, language: str) -> Mapping[str, Any]:
        return {"tokenize": usual_tokenization(language), "language": language}

    def shared(self, hypotheses: Texts, references: Sequence[Texts]) -> Shared:
        """What the n-grams of the hypotheses have in common with those of the references."""
        tokens = [t.tokens(self.tokenize, self.lowercase, self.language) for t in (hypotheses, *references)]
        ids = common_ids(*tokens)
        columns = list(zip(ids, (t.offsets for t in tokens), strict=True))
        return Shared(tokens, ids, matched_ngrams(columns[0], columns[1:], self.order))
