"""P(BAD) of words and gaps from parallel text alone, without a model of labels."""

from dataclasses import dataclass

from features.basics.array_types import FloatArray
from features.learned.synthetic_word_quality import SyntheticWordQuality
from features.word_level.knowledge import Judgement
from features.word_level.tokens import TokenTable


@dataclass(frozen=True, eq=False)
class SyntheticKnowledge(Judgement):
    """P(BAD) by `synthetic_word_quality` itself: nothing is learned from the labels of the task. Synthetic
    data as in Tuan et al. 2021, section 3.
    """

    synthetic_word_quality: SyntheticWordQuality

    def judged(self, table: TokenTable) -> tuple[FloatArray, FloatArray]:
        return self.synthetic_word_quality.probabilities(table)
