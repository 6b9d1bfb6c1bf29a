"""What every unit of a predicting network says for each word."""

from dataclasses import dataclass, replace

import numpy as np

from features.resources.predictor import Predictor
from features.word_level.knowledge import DescribedSegments, TokenKnowledge
from features.word_level.predicted import predicted
from features.word_level.tokens import TokenTable


@dataclass(frozen=True, eq=False)
class VectorsKnowledge(TokenKnowledge):
    """The hidden vector of `predictor` at each word. Each unit times its output weight for the word."""

    predictor: Predictor

    def extended(self, table: TokenTable, described: DescribedSegments) -> TokenTable:
        said = predicted(described.segments, described.aligner, self.predictor)
        vectors = self.predictor.evidence(described.segments.target_tokens, said)
        names = (f"predicted_vector_{k}" for k in range(vectors.shape[1]))
        return replace(table, word_names=(*table.word_names, *names), words=np.hstack([table.words, vectors]))
