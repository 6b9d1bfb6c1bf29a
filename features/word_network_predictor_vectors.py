"""Pooled words that know what every unit of a predicting network says for each word."""

from dataclasses import dataclass
from typing import ClassVar

from features.word_level.predicted import PredictorVectorsKnowledge
from features.word_network import WordNetwork


@dataclass(frozen=True, eq=False)
class PredictorVectorsWordNetwork(PredictorVectorsKnowledge, WordNetwork):
    """Predictions as `word_network_predictor` gives them, whose words also have the hidden vector of
    `predictor`: each unit times the weight by which it speaks for the word.

    A side without tokens has NaN.
    """

    stem: ClassVar[str] = "word_network_predictor_vectors"
