"""Pooled words that also know what parallel text alone says of every word of the translation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from features.knowledge.pretrained import PretrainedKnowledge
from features.word_level.pooling import Parameters
from features.word_level.scaling import Matrix
from features.word_level.two_sides import Side
from features.word_network import WordNetwork


@dataclass(frozen=True, eq=False)
class PretrainedWordNetwork(PretrainedKnowledge, WordNetwork):
    """Predictions as `word_network` gives them, helped by `synthetic_word_quality`: words of the translation
    have its log-odds beside their other columns, and networks begin as it taught them.

    A side without tokens has NaN.
    """

    stem: ClassVar[str] = "word_network_pretrained"

    def _beginnings(self, name: str, side: Side, outcomes: Matrix) -> Sequence[Parameters]:
        return self.synthetic_word_quality.texts[name].parameters(side.names, side.inputs.width, outcomes)
