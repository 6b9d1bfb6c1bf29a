"""Word-level quality that sees what every unit of a predicting network says for each word."""

from dataclasses import dataclass
from typing import ClassVar

from features.word_level.predicted import PredictorVectorsKnowledge
from features.word_quality import WordQuality


@dataclass(frozen=True, eq=False)
class PredictorVectorsWordQuality(PredictorVectorsKnowledge, WordQuality):
    """P(BAD) as `word_quality_predictor` gives it, from the hidden vector of `predictor`, too: each unit
    times the weight by which it speaks for the word.

    Everything is NaN for an empty translation.
    """

    stem: ClassVar[str] = "word_quality_predictor_vectors"
