"""Word-level quality that also sees what parallel text alone says of every word and gap."""

from dataclasses import dataclass, field
from typing import ClassVar

from features._word_quality.tokens import TokenTable
from features.core.segments import Segments
from features.learned._pretrained import with_synthetic
from features.learned.synthetic_word_quality import SyntheticWordQuality
from features.word_quality import WordQuality


@dataclass(frozen=True, eq=False)
class PretrainedWordQuality(WordQuality):
    """P(BAD) as `word_quality` gives it, from its columns and the log-odds of `synthetic_word_quality`: those
    of the word and its neighbours, or of the gap.

    Everything is NaN for an empty translation.
    """

    stem: ClassVar[str] = "word_quality_pretrained"

    synthetic_word_quality: SyntheticWordQuality = field(kw_only=True)

    def _described(self, segments: Segments, used: frozenset[str]) -> TokenTable:
        return with_synthetic(super()._described(segments, used), self.synthetic_word_quality)
