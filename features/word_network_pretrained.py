"""Pooled words that also know what parallel text alone says of every word of the translation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from features._word_quality.network import Matrix
from features._word_quality.pooling import Parameters
from features._word_quality.tokens import TokenTable
from features._word_quality.two_sides import Side
from features.core.segments import Segments
from features.learned._pretrained import with_synthetic
from features.learned.synthetic_word_quality import SyntheticWordQuality
from features.word_network import WordNetwork


@dataclass(frozen=True, eq=False)
class PretrainedWordNetwork(WordNetwork):
    """Predictions as `word_network` gives them, helped by `synthetic_word_quality`: words of the translation
    have its log-odds beside their other columns, and networks begin as it taught them.

    A side without tokens has NaN.
    """

    stem: ClassVar[str] = "word_network_pretrained"

    synthetic_word_quality: SyntheticWordQuality = field(kw_only=True)

    def _described(self, segments: Segments) -> TokenTable:
        return with_synthetic(super()._described(segments), self.synthetic_word_quality)

    def _beginnings(self, name: str, side: Side, outcomes: Matrix) -> Sequence[Parameters]:
        return self.synthetic_word_quality.texts[name].parameters(side.names, side.inputs.width, outcomes)
