"""Word-level quality that also sees how well each word is predicted by its source and its neighbours."""

from dataclasses import dataclass, field
from typing import ClassVar

from features._word_quality.predicted import with_predictions
from features._word_quality.tokens import TokenTable
from features.core.segments import Segments
from features.resources.predictor import Predictor
from features.word_quality import WordQuality


@dataclass(frozen=True, eq=False)
class PredictorWordQuality(WordQuality):
    """P(BAD) as `word_quality` gives it, from its columns and the predictions of `predictor` for every word:
    log-probability, rank, margin to the best word, entropy.

    Everything is NaN for an empty translation.
    """

    stem: ClassVar[str] = "word_quality_predictor"

    predictor: Predictor = field(kw_only=True)

    def _described(self, segments: Segments, used: frozenset[str]) -> TokenTable:
        table = super()._described(segments, used)
        return with_predictions(table, segments, self.aligner, self.predictor)
