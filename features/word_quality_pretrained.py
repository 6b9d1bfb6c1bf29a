"""Word-level quality that also sees what parallel text alone says of every word and gap."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from features._word_quality.pretrained import with_synthetic
from features._word_quality.tokens import TokenTable
from features.core.extractor import Feature
from features.core.segments import Segments
from features.resources.synthetic_word_quality import SyntheticWordQuality
from features.word_quality import WordQuality


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
        return with_synthetic(super()._described(segments, used), self.synthetic_word_quality)
