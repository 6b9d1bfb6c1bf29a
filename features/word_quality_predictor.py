"""Word-level quality that also sees how well each word is predicted by its source and its neighbours."""

from dataclasses import dataclass
from typing import ClassVar

from features.word_level.predicted import PredictorKnowledge
from features.word_quality import WordQuality


@dataclass(frozen=True, eq=False)
class PredictorWordQuality(PredictorKnowledge, WordQuality):
    """P(BAD) as `word_quality` gives it, from its columns and the predictions of `predictor` for every word:
    log-probability, rank, margin to the best word, entropy.

    Everything is NaN for an empty translation.
    """

    stem: ClassVar[str] = "word_quality_predictor"
