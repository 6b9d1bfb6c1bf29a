"""Pooled words that also know how well each word is predicted by its source and its neighbours."""

from dataclasses import dataclass, field
from typing import ClassVar

from features._word_quality.predicted import with_predictions
from features._word_quality.tokens import TokenTable
from features.core.segments import Segments
from features.resources.predictor import Predictor
from features.word_network import WordNetwork


@dataclass(frozen=True, eq=False)
class PredictorWordNetwork(WordNetwork):
    """Predictions as `word_network` gives them, whose words have the predictions of `predictor` beside their
    other columns: log-probability, rank, margin to the best word, entropy.

    A side without tokens has NaN.
    """

    stem: ClassVar[str] = "word_network_predictor"

    predictor: Predictor = field(kw_only=True)

    def _described(self, segments: Segments) -> TokenTable:
        return with_predictions(super()._described(segments), segments, self.aligner, self.predictor)
