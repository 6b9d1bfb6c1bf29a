"""PretrainedKnowledge: token tables with what parallel text alone says of every word and gap."""

from dataclasses import dataclass, field, replace

import numpy as np

from features.core.segments import Segments
from features.learned.synthetic_word_quality import SyntheticWordQuality
from features.word_level.columns import Columns, Floats, matrix, shifted
from features.word_level.tokens import Knowledge, TokenTable

_CERTAIN = 1e-6  # probabilities are kept this far from 0 and 1


@dataclass(frozen=True, eq=False)
class PretrainedKnowledge(Knowledge):
    """Resources that words are looked up in, and models of synthetic examples beside them."""

    synthetic_word_quality: SyntheticWordQuality = field(kw_only=True)

    def described(self, segments: Segments, use: frozenset[str]) -> TokenTable:
        return _with_synthetic(super().described(segments, use), self.synthetic_word_quality)


def _with_synthetic(table: TokenTable, model: SyntheticWordQuality) -> TokenTable:
    """The table with the log-odds of BAD by `model`: of a word and its neighbours, and of a gap."""
    words, gaps = map(_log_odds, model.probabilities(table))
    of_words: Columns = {
        "synthetic": words,
        "synthetic_previous": shifted(words, table.offsets, -1),
        "synthetic_next": shifted(words, table.offsets, 1),
    }
    return replace(
        table,
        word_names=(*table.word_names, *of_words),
        gap_names=(*table.gap_names, "synthetic"),
        words=np.hstack([table.words, matrix(of_words, len(words))]),
        gaps=np.hstack([table.gaps, matrix({"synthetic": gaps}, len(gaps))]),
    )


def _log_odds(probability: Floats) -> Floats:
    kept = np.clip(probability, _CERTAIN, 1 - _CERTAIN)
    return np.asarray(np.log(kept / (1 - kept)), np.float64)
