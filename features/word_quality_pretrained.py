"""Word-level quality that also sees what parallel text alone says of every word and gap."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from features._word_quality.columns import Columns, Floats, matrix, shifted
from features._word_quality.tokens import TokenTable
from features.core.extractor import Feature
from features.core.segments import Segments
from features.resources.synthetic_word_quality import SyntheticWordQuality
from features.word_quality import WordQuality

_CERTAIN = 1e-6  # probabilities are kept this far from 0 and 1


@dataclass(frozen=True, eq=False)
class PretrainedWordQuality(WordQuality):
    """P(BAD) as `word_quality` gives it, from its columns and the log-odds of `synthetic_word_quality`: those
    of the word and its neighbours, or of the gap.

    Everything is NaN for an empty translation.
    """

    synthetic_word_quality: SyntheticWordQuality = field(kw_only=True)

    @property
    def features(self) -> Sequence[Feature]:
        return [
            replace(f, name=f.name.replace("word_quality_", "word_quality_pretrained_", 1))
            for f in super().features
        ]

    def _described(self, segments: Segments, used: frozenset[str]) -> TokenTable:
        """What `word_quality` knows of the tokens, and beside it the log-odds."""
        table = super()._described(segments, used)
        words, gaps = map(_log_odds, self.synthetic_word_quality.probabilities(table))
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
