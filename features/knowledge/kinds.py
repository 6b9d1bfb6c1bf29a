"""Knowledge from resources of the bundle alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from features.basics.array_types import FloatArray
from features.learned.synthetic_word_quality import SyntheticWordQuality
from features.resources.predictor import Predictor
from features.word_level.columns import Columns, Floats, shifted
from features.word_level.knowledge import DescribedSegments, Judgement, TokenKnowledge, knowledge
from features.word_level.network import Matrix
from features.word_level.pooling import Parameters
from features.word_level.tokens import TokenTable
from features.word_level.training_text import predicted, with_predictions


@knowledge("predictor")
@dataclass(frozen=True, eq=False)
class PredictorKnowledge(TokenKnowledge):
    """Log-probability of each word by `predictor`, rank, margin, entropy; and its neighbours'."""

    predictor: Predictor

    def extended(self, table: TokenTable, described: DescribedSegments) -> TokenTable:
        return with_predictions(table, described.segments, described.aligner, self.predictor)


@knowledge("vectors")
@dataclass(frozen=True, eq=False)
class VectorsKnowledge(TokenKnowledge):
    """The hidden vector of `predictor` at each word. Each unit times its output weight for the word."""

    predictor: Predictor

    def extended(self, table: TokenTable, described: DescribedSegments) -> TokenTable:
        said = predicted(described.segments, described.aligner, self.predictor)
        vectors = self.predictor.evidence(described.segments.target_tokens, said)
        names = (f"predicted_vector_{k}" for k in range(vectors.shape[1]))
        return replace(table, word_names=(*table.word_names, *names), words=np.hstack([table.words, vectors]))


_CERTAIN = 1e-6  # probabilities are kept this far from 0 and 1


@knowledge("pretrained")
@dataclass(frozen=True, eq=False)
class PretrainedKnowledge(TokenKnowledge):
    """Log-odds of BAD by `synthetic_word_quality`: of a word and its neighbours, and of a gap. Pooling
    networks begin as parallel text taught them.
    """

    synthetic_word_quality: SyntheticWordQuality

    def extended(self, table: TokenTable, described: DescribedSegments) -> TokenTable:
        words, gaps = map(_log_odds, self.synthetic_word_quality.probabilities(table))
        of_words: Columns = {
            "synthetic": words,
            "synthetic_previous": shifted(words, table.offsets, -1),
            "synthetic_next": shifted(words, table.offsets, 1),
        }
        return table.with_columns(of_words, {"synthetic": gaps})

    def beginnings(
        self, side: str, names: Sequence[str], width: int, outcomes: Matrix
    ) -> Sequence[Parameters]:
        return self.synthetic_word_quality.texts[side].parameters(names, width, outcomes)


def _log_odds(probability: Floats) -> Floats:
    kept = np.clip(probability, _CERTAIN, 1 - _CERTAIN)
    return np.asarray(np.log(kept / (1 - kept)), np.float64)


@knowledge("synthetic")
@dataclass(frozen=True, eq=False)
class SyntheticKnowledge(Judgement):
    """P(BAD) by `synthetic_word_quality` itself: nothing is learned from the labels of the task. Synthetic
    data as in Tuan et al. 2021, section 3.
    """

    synthetic_word_quality: SyntheticWordQuality

    def judged(self, table: TokenTable) -> tuple[FloatArray, FloatArray]:
        return self.synthetic_word_quality.probabilities(table)
