"""How probable the MT system found each word, from its log-probabilities of subwords."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np

from features.basics.errors import InputError
from features.core.segments import Segments
from features.decoder_output.statistics import ascending
from features.decoder_output.tokens import DecoderTokens, Marker, SubwordMeans
from features.resources.aligner import Aligner
from features.text.tokens import Tokens, segment_mean, segment_min
from features.word_level.columns import Columns, Floats, Longs, shifted, spread
from features.word_level.knowledge import DescribedSegments, LearnedKnowledge, knowledge
from features.word_level.tokens import TokenTable
from features.word_level.training_text import DECODER

# What a gap sees of the words at its sides.
GAP_COLUMNS = (
    "decoder_sum",
    "decoder_first",
    "decoder_minimum",
    "decoder_residual",
    "decoder_residual_first",
)


def with_decoder(
    table: TokenTable, segments: Segments, decoder: DecoderTokens, means: SubwordMeans, *, is_training: bool
) -> TokenTable:
    """The table with the decoder's columns. `is_training`: `means` were learned from these segments."""
    words = decoder_columns(segments.target_tokens, decoder, means, is_training=is_training)
    return table.with_columns(words, table.beside_gaps({name: words[name] for name in GAP_COLUMNS}))


def decoder_columns(
    tokens: Tokens, decoder: DecoderTokens, means: SubwordMeans, *, is_training: bool
) -> Columns:
    """name -> (n_tokens,) decoder columns of the translations' tokens. NaN if no subword begins in a token.
    `is_training`: `means` were learned from the same translations.
    """
    index = decoder.token_index(tokens)
    residuals, seen = means.residuals(decoder, leave_one_out=is_training), means.log_counts(decoder)
    size, offsets = len(tokens.ids), tokens.offsets
    total = _total(decoder.log_probability, index, size)
    residual = _total(residuals, index, size)
    columns: Columns = {
        "decoder_sum": total,
        "decoder_first": _first(decoder.log_probability, index, size),
        "decoder_minimum": _lowest(decoder.log_probability, index, size),
        "decoder_pieces": np.bincount(index[index >= 0], minlength=size).astype(np.float64),
        "decoder_residual": residual,
        "decoder_residual_first": _first(residuals, index, size),
        "decoder_residual_minimum": _lowest(residuals, index, size),
        "decoder_seen_minimum": _lowest(seen, index, size),
        "decoder_rank": _rank(total, offsets),
        "decoder_text_mean": spread(segment_mean(decoder.log_probability, decoder.subwords.offsets), offsets),
        "decoder_text_minimum": spread(
            segment_min(decoder.log_probability, decoder.subwords.offsets), offsets
        ),
        "decoder_text_residual": spread(segment_mean(residuals, decoder.subwords.offsets), offsets),
        "decoder_end": spread(decoder.end, offsets),
    }
    for by in (-2, -1, 1, 2):
        columns[f"decoder_sum_{by:+d}"] = shifted(total, offsets, by)
        columns[f"decoder_residual_{by:+d}"] = shifted(residual, offsets, by)
    columns["decoder_contrast"] = total - columns["decoder_text_mean"]
    around = np.vstack([total, columns["decoder_sum_-1"], columns["decoder_sum_+1"]])
    columns["decoder_window"] = _mean_known(around)
    return columns


def _total(values: Floats, index: Longs, size: int) -> Floats:
    inside = index >= 0
    counts = np.bincount(index[inside], minlength=size)
    sums = np.bincount(index[inside], weights=values[inside], minlength=size)
    return np.where(counts > 0, sums, np.nan)


def _first(values: Floats, index: Longs, size: int) -> Floats:
    result = np.full(size, np.nan)
    inside = np.flatnonzero(index >= 0)[::-1]
    result[index[inside]] = values[inside]  # the last assignment, that is the first value, stays
    return result


def _lowest(values: Floats, index: Longs, size: int) -> Floats:
    result = np.full(size, np.inf)
    inside = index >= 0
    np.minimum.at(result, index[inside], values[inside])
    return np.where(np.isinf(result), np.nan, result)


def _rank(values: Floats, offsets: Longs) -> Floats:
    known = np.where(np.isnan(values), np.inf, values)
    rising = ascending(known, offsets)
    result = np.full(len(values), np.nan)
    for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        result[start:end] = np.searchsorted(rising[start:end], known[start:end]) / max(end - start, 1)
    return np.where(np.isnan(values), np.nan, result)


def _mean_known(rows: Floats) -> Floats:
    known = ~np.isnan(rows)
    counts = known.sum(axis=0)
    sums = np.where(known, rows, 0.0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


@knowledge("decoder")
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
