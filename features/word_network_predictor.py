"""Pooled words that also know how well each word is predicted by its source and its neighbours."""

from dataclasses import dataclass
from typing import ClassVar

from features.word_level.predicted import PredictorKnowledge
from features.word_network import WordNetwork


@dataclass(frozen=True, eq=False)
class PredictorWordNetwork(PredictorKnowledge, WordNetwork):
    """Predictions as `word_network` gives them, whose words have the predictions of `predictor` beside their
    other columns: log-probability, rank, margin to the best word, entropy.

    A side without tokens has NaN.
    """

    stem: ClassVar[str] = "word_network_predictor"
