"""Word-level quality that sees what synthetic examples say of a word, and how well the word is predicted."""

from dataclasses import dataclass
from typing import ClassVar

from features.knowledge.pretrained import PretrainedKnowledge
from features.word_level.predicted import PredictorKnowledge
from features.word_quality import WordQuality


@dataclass(frozen=True, eq=False)
class PretrainedPredictorWordQuality(PretrainedKnowledge, PredictorKnowledge, WordQuality):
    """P(BAD) as `word_quality` gives it, from its columns, the log-odds of `synthetic_word_quality` and the
    predictions of `predictor`.

    Everything is NaN for an empty translation.
    """

    stem: ClassVar[str] = "word_quality_pretrained_predictor"
