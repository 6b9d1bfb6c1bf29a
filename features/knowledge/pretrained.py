"""What parallel text alone says of every word and gap, for models that learn from labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from features.learned.synthetic_word_quality import SyntheticWordQuality
from features.word_level.columns import Columns, Floats, shifted
from features.word_level.knowledge import DescribedSegments, TokenKnowledge
from features.word_level.pooling import Parameters
from features.word_level.scaling import Matrix
from features.word_level.tokens import TokenTable

_CERTAIN = 1e-6  # probabilities are kept this far from 0 and 1


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
