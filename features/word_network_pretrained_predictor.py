"""Pooled words that know what synthetic examples say of a word, and how well the word is predicted."""

from dataclasses import dataclass
from typing import ClassVar

from features.word_level.predicted import PredictorKnowledge
from features.word_network_pretrained import PretrainedWordNetwork


@dataclass(frozen=True, eq=False)
class PretrainedPredictorWordNetwork(PretrainedWordNetwork, PredictorKnowledge):
    """Predictions as `word_network_pretrained` gives them, whose words have the predictions of `predictor`
    beside their other columns.

    A side without tokens has NaN.
    """

    stem: ClassVar[str] = "word_network_pretrained_predictor"
