"""How well each word is predicted by its source and its neighbours."""

from dataclasses import dataclass

from features.resources.predictor import Predictor
from features.word_level.knowledge import DescribedSegments, TokenKnowledge
from features.word_level.predicted import with_predictions
from features.word_level.tokens import TokenTable


@dataclass(frozen=True, eq=False)
class PredictorKnowledge(TokenKnowledge):
    """Log-probability of each word by `predictor`, rank, margin, entropy; and its neighbours'."""

    predictor: Predictor

    def extended(self, table: TokenTable, described: DescribedSegments) -> TokenTable:
        return with_predictions(table, described.segments, described.aligner, self.predictor)
