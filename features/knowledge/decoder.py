"""How sure the neural system was of every word."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from features.basics.errors import InputError
from features.core.segments import Segments
from features.decoder_output.means import SubwordMeans
from features.decoder_output.tokens import DecoderTokens, Marker
from features.resources.aligner import Aligner
from features.word_level.decoder_words import with_decoder
from features.word_level.knowledge import DescribedSegments, LearnedKnowledge
from features.word_level.optional import DECODER
from features.word_level.tokens import TokenTable


@dataclass(frozen=True, eq=False)
class DecoderKnowledge(LearnedKnowledge):
    """Log-probabilities of a word's subwords, neighbours' among them, and rank in the sentence. Their
    difference from the mean of the subword's type over the training translations is learned (leave-one-out
    means while learning).

    marker  how subwords join, as for `decoder`
    """

    marker: Marker = "bpe"
    _means: SubwordMeans | None = field(default=None, init=False, repr=False)

    def requires(self) -> tuple[str, ...]:
        return DECODER

    def fit(self, segments: Segments, aligner: Aligner) -> Self:
        return self._fitted(SubwordMeans.fit(DecoderTokens.from_segments(segments, self.marker)))

    def extended(self, table: TokenTable, described: DescribedSegments) -> TokenTable:
        decoder = DecoderTokens.from_segments(described.segments, self.marker)
        return with_decoder(
            table, described.segments, decoder, self._learned, is_training=described.is_training
        )

    def save(self, path: Path) -> None:
        self._learned.save(path)

    def restore(self, path: Path) -> Self:
        return self._fitted(SubwordMeans.load(path))

    @property
    def _learned(self) -> SubwordMeans:
        if self._means is None:
            raise InputError("knowledge of the decoder must be fitted first", remedy="train a model with it")
        return self._means

    def _fitted(self, means: SubwordMeans) -> Self:
        made = replace(self)
        vars(made)["_means"] = means
        return made
