"""Word-level quality that also sees how sure the neural system was of every word."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from features._decoder_means import SubwordMeans
from features._decoder_tokens import DecoderTokens, Marker
from features._decoder_words import GAP_COLUMNS, decoder_columns
from features._word_quality.columns import Columns, matrix
from features._word_quality.keys import gap_sides
from features._word_quality.tokens import TokenTable
from features.core.errors import InputError
from features.core.extractor import Feature
from features.core.segments import Segments
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

    marker: Marker = "bpe"
    _means: SubwordMeans | None = field(default=None, init=False, repr=False)
    _learning: bool = field(default=False, init=False, repr=False)

    @property
    def features(self) -> Sequence[Feature]:
        return [
            replace(f, name=f.name.replace("word_quality_", "word_quality_decoder_", 1))
            for f in super().features
        ]

    def requires(self) -> tuple[str, ...]:
        return (*super().requires(), *_DECODER)

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        means = SubwordMeans.fit(DecoderTokens.of(segments, self.marker))
        fitted = super(DecoderWordQuality, self._with(means, learning=True)).fit(segments, labels)
        return fitted._with(means)

    def save(self, path: Any) -> None:
        if self._means is None:
            raise InputError("word_quality_decoder must be fitted before it is saved")
        super().save(path)
        (Path(path) / "decoder").mkdir()
        self._means.save(Path(path) / "decoder")

    def restore(self, path: Any) -> Self:
        return super().restore(path)._with(SubwordMeans.load(Path(path) / "decoder"))

    def _table(self, segments: Segments, used: frozenset[str]) -> TokenTable:
        """What `word_quality` knows of the tokens, and beside it what the decoder said."""
        table = super()._table(segments, used)
        if self._means is None:
            raise InputError(
                "word_quality_decoder must be fitted before it scores", remedy="train a model with it"
            )
        decoder = DecoderTokens.of(segments, self.marker)
        return with_decoder(table, segments, decoder, self._means, own=self._learning)

    def _with(self, means: SubwordMeans, *, learning: bool = False) -> Self:
        changed = copy(self)
        object.__setattr__(changed, "_means", means)
        object.__setattr__(changed, "_learning", learning)
        return changed


def with_decoder(
    table: TokenTable, segments: Segments, decoder: DecoderTokens, means: SubwordMeans, *, own: bool
) -> TokenTable:
    """The table and the decoder's columns beside its own; `own`: `means` were learned from these segments."""
    words = decoder_columns(segments.target_tokens, decoder, means, own=own)
    gaps: Columns = {}
    for name in GAP_COLUMNS:
        gaps[f"left_{name}"], gaps[f"right_{name}"] = gap_sides(
            np.asarray(words[name], np.float64), table.offsets, np.nan
        )
    return replace(
        table,
        word_names=(*table.word_names, *words),
        gap_names=(*table.gap_names, *gaps),
        words=np.hstack([table.words, matrix(words, len(table.words))]),
        gaps=np.hstack([table.gaps, matrix(gaps, len(table.gaps))]),
    )
