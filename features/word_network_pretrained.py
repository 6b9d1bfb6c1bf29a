"""Pooled words that also know what parallel text alone says of every word of the translation."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from features._word_quality.pretrained import with_synthetic
from features._word_quality.tokens import TokenTable
from features.core.extractor import Feature
from features.core.segments import Segments
from features.resources.synthetic_word_quality import SyntheticWordQuality
from features.word_network import WordNetwork


@dataclass(frozen=True, eq=False)
class PretrainedWordNetwork(WordNetwork):
    """Predictions as `word_network` gives them; its words of the translation have the log-odds of
    `synthetic_word_quality` beside their other columns.

    A side without tokens has NaN.
    """

    synthetic_word_quality: SyntheticWordQuality = field(kw_only=True)

    @property
    def features(self) -> Sequence[Feature]:
        return [
            replace(f, name=f.name.replace("word_network_", "word_network_pretrained_", 1))
            for f in super().features
        ]

    def _described(self, segments: Segments) -> TokenTable:
        return with_synthetic(super()._described(segments), self.synthetic_word_quality)
