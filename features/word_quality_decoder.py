"""Word-level quality that also sees how sure the neural system was of every word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from numpy.typing import NDArray

from features.core.segments import Segments
from features.decoder_output.means import SubwordMeans
from features.decoder_output.tokens import DecoderTokens, Marker
from features.word_level.decoder_words import with_decoder
from features.word_level.tokens import TokenTable
from features.word_quality import WordQuality

_DECODER: Final = ("subwords", "token_log_probabilities")


@dataclass(frozen=True, eq=False)
class DecoderWordQuality(WordQuality):
    """P(BAD) as `word_quality` gives it, from its columns and the log-probabilities of a word's subwords.

    Beside the log-probabilities themselves: their difference from the mean of the subword's type over the
    training translations (each left out of its own mean while learning), neighbours, rank in the sentence.

    marker  how subwords join, as for `decoder`

    Everything is NaN for an empty translation.
    """

    stem: ClassVar[str] = "word_quality_decoder"

    marker: Marker = "bpe"
    _means: SubwordMeans | None = field(default=None, init=False, repr=False)

    def requires(self) -> tuple[str, ...]:
        return (*super().requires(), *_DECODER)

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        means = SubwordMeans.fit(DecoderTokens.of(segments, self.marker))
        return super(DecoderWordQuality, self.with_learned(_means=means)).fit(segments, labels)

    def save(self, path: Path) -> None:
        super().save(path)
        (path / "decoder").mkdir()
        self.learned(self._means).save(path / "decoder")

    def restore(self, path: Path) -> Self:
        return super().restore(path).with_learned(_means=SubwordMeans.load(path / "decoder"))

    def _table(self, segments: Segments, used: frozenset[str]) -> TokenTable:
        """What `word_quality` knows of the tokens, and beside it what the decoder said."""
        table = super()._table(segments, used)
        decoder, means = DecoderTokens.of(segments, self.marker), self.learned(self._means)
        return with_decoder(table, segments, decoder, means, own=self._learning)
