"""Scores of a decoder that must produce the translation, and their imitation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.comparisons.comparison import COLUMNS as COMPARED
from features.comparisons.comparison import TextComparison
from features.comparisons.phrase_decoder import decode
from features.core.columns import Column, block, features_of
from features.core.extractor import Extractor, Feature, FittedExtractor
from features.core.segments import Segments
from features.decoder_output.statistics import ascending, deviation, lowest_mean, quantile, worst_window
from features.decoder_output.tokens import DecoderTokens, Marker, SubwordMeans
from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel
from features.resources.phrase_table import PhraseTable
from features.resources.tuple_lm import TupleLM
from features.text.tokens import Tokens, ratio, segment_mean, segment_min, segment_sum
from qe_papers.families import ColumnFamily
from qe_papers.phrase_segmentation import Forced, force

_SDLLW: Final = "SDL Language Weaver at WMT12, section 2.2: {} (stand-in: forced decoding, not the decoder's)"
_SJTU: Final = (
    "Wu and Zhao 2012 (SJTU at WMT12), section 3.2: {} (stand-in: forced decoding, not the decoder's)"
)


_COLUMNS: Final[Sequence[tuple[str, str, str, Callable[["_Batch"], FloatArray]]]] = (
    ("distortion", "source tokens between pairs that follow each other in the translation, summed", "tokens",
     lambda batch: batch.forced.distortion),
    ("word_penalty", "tokens of the translation", "tokens",
     lambda batch: batch.tokens.lengths.astype(np.float64)),
    ("lm", "log probability of the translation by the target language model", "nats", lambda batch: batch.lm),
    ("phrase_backward", "sum of log phrase probabilities of the source given the target", "nats",
     lambda batch: batch.forced.backward_log),
    ("lexical_backward", "sum of log lexical weights of the source given the target", "nats",
     lambda batch: batch.forced.backward_lexical_log),
    ("phrase_forward", "sum of log phrase probabilities of the target given the source", "nats",
     lambda batch: batch.forced.phrase_log - batch.forced.backward_log),
    ("lexical_forward", "sum of log lexical weights of the target given the source", "nats",
     lambda batch: batch.forced.lexical_log - batch.forced.backward_lexical_log),
    ("phrase_penalty", "pairs of the derivation", "pairs", lambda batch: batch.forced.phrases),
)  # fmt: skip
_TRACE: Final[Sequence[tuple[str, str, str, str, Callable[["_Batch"], FloatArray]]]] = (
    ("trace_density", "phrases of the derivation / source tokens", "trace density", "phrases per token",
     lambda batch: ratio(batch.phrases, batch.source.lengths)),
    ("phrase_length", "target tokens / phrases of the derivation", "average of phrase length", "tokens",
     lambda batch: ratio(batch.tokens.lengths, batch.phrases)),
)  # fmt: skip


@dataclass(frozen=True)
class ForcedDecoding(ColumnFamily):
    """MF1-MF8: log phrase and lexical probabilities in both directions, and the other costs.

    They describe the best derivation of the translation by pairs of the phrase table (Wuebker et al. 2010,
    section 4), summed over its phrases; uncovered words cost nothing. The word penalty is the length of the
    translation, the phrase penalty the number of pairs, the language model's cost that of the target model.
    All values are NaN for a segment without applicable pairs.

    trace  adds the density of the derivation and the mean length of its phrases; as in a decoder, each
           uncovered word is a separate phrase
    """

    plain: ClassVar[str] = "how well known phrases explain the translation"

    phrase_table: PhraseTable
    target_lm: LanguageModel
    trace: bool = False

    @property
    def columns(self) -> Sequence[Column["_Batch"]]:
        rows = [(*row[:2], f"MF{k}", *row[2:]) for k, row in enumerate(_COLUMNS, start=1)]
        tables = ((_SDLLW, rows), (_SJTU, _TRACE if self.trace else ()))
        return [
            Column(f"forced_{name}", f"{what}; NaN without a pair", origin.format(place), unit, compute)
            for origin, table in tables
            for name, what, place, unit, compute in table
        ]

    def prepared(self, segments: Segments) -> "_Batch":
        source, target = segments.source_tokens, segments.target_tokens
        return _Batch(force(source, target, self.phrase_table), source, target, self.target_lm)

    def extract(self, segments: Segments) -> FloatArray:
        batch = self.prepared(segments)
        values = block(self.columns, batch)
        values[batch.forced.phrases == 0] = float("nan")
        return values


@dataclass(frozen=True, eq=False)
class _Batch:
    forced: Forced
    source: Tokens
    tokens: Tokens
    model: LanguageModel

    @property
    def lm(self) -> FloatArray:
        scores = self.model.score(self.tokens)
        return np.asarray(segment_sum(scores.log10, scores.offsets) * np.log(10))

    @property
    def phrases(self) -> FloatArray:
        return self.forced.phrases + self.forced.uncovered


_ORIGIN = "this project: feasibility study on WMT12 (stand-in for decoder features)"
_MARINO = "Mariño et al. 2006, section 2 (n-gram translation model)"
_FORCED = "Wuebker et al. 2010, section 4 (forced decoding); Koehn et al. 2003, section 2 (scores)"
_NONE = "; NaN if no phrase pair applies"


@dataclass(frozen=True, eq=False)
class _Costs:
    decoder: FloatArray
    decoded: Tokens
    source: Tokens
    target: Tokens
    unit_log10: FloatArray
    unit_matched: FloatArray
    forced: Forced

    @property
    def covered(self) -> FloatArray:
        return self.target.lengths - self.forced.uncovered

    def mean(self, values: FloatArray) -> FloatArray:
        return segment_mean(values, self.target.offsets)


def _matched(order: int, costs: _Costs) -> FloatArray:
    return costs.mean(costs.unit_matched == order)


_ORDER: Final = "share of tokens whose longest known n-gram of units has order"
COSTS: tuple[Column[_Costs], ...] = (
    Column("score", "model score of the decoder's translation", _ORIGIN, "nats", lambda c: c.decoder),
    Column("score_per_word", "the same per source token", _ORIGIN, "nats per token",
           lambda c: ratio(c.decoder, c.source.lengths)),
    Column("units", "log10 probability per token of the translation's bilingual units (word and source word)",
           _MARINO, "log10 per token", lambda c: c.mean(c.unit_log10)),
    Column("units_lowest", "log10 probability of its least likely unit", _MARINO, "log10",
           lambda c: segment_min(c.unit_log10, c.target.offsets)),
    Column("units_matched", "mean order of the longest known n-gram of units that ends in each token",
           _MARINO, "tokens", lambda c: c.mean(c.unit_matched)),
    Column("units_matched_0", f"{_ORDER} 0 (unknown units)", _MARINO, "share", partial(_matched, 0)),
    *(Column(f"units_matched_{k}", f"{_ORDER} {k}", _MARINO, "share", partial(_matched, k))
      for k in (1, 2, 3)),
    Column("forced_log", "log of phrase probabilities and lexical weights, both ways, of the best derivation "
           f"of the target by phrase pairs, per target token that they make{_NONE}", _FORCED,
           "nats per token", lambda c: ratio(c.forced.phrase_log + c.forced.lexical_log, c.covered)),
    Column("forced_phrase_log", f"its part from phrase probabilities{_NONE}", _FORCED, "nats per token",
           lambda c: ratio(c.forced.phrase_log, c.covered)),
    Column("forced_lexical_log", f"its part from lexical weights{_NONE}", _FORCED, "nats per token",
           lambda c: ratio(c.forced.lexical_log, c.covered)),
    Column("forced_phrases", "phrase pairs in that derivation", _FORCED, "phrases",
           lambda c: c.forced.phrases),
    Column("forced_length", f"their mean number of target tokens{_NONE}", _FORCED, "tokens",
           lambda c: ratio(c.covered, c.forced.phrases)),
    Column("forced_uncovered", "target tokens that no pair of that derivation makes", _FORCED, "tokens",
           lambda c: c.forced.uncovered),
    Column("forced_uncovered_share", "their share of the target tokens", _FORCED, "share",
           lambda c: ratio(c.forced.uncovered, c.target.lengths)),
    Column("forced_unused_share", "share of source tokens that no pair of that derivation translates",
           _FORCED, "share", lambda c: ratio(c.forced.unused, c.source.lengths)),
)  # fmt: skip


@dataclass(frozen=True)
class DecoderImitation(Extractor):
    """Agreement with our phrase decoder's translation, as with a second engine's, and model costs.

    If a similar decoder translates differently, the translation (or the source) is unusual. All values are
    NaN if source or target is empty.
    """

    plain: ClassVar[str] = "how far it is from the translation of another MT system"

    phrase_table: PhraseTable
    target_lm: LanguageModel
    aligner: Aligner
    tuple_lm: TupleLM

    @property
    def features(self) -> Sequence[Feature]:
        stem, compared = "decoder_imitation", "target against the decoder's translation"
        return [
            *(replace(column.under(stem, compared).feature, origin=_ORIGIN) for column in COMPARED),
            *(replace(column.feature, name=f"{stem}_{column.name}") for column in COSTS),
        ]

    def extract(self, segments: Segments) -> FloatArray:
        source, target = segments.source_tokens, segments.target_tokens
        decoded = decode(source, self.phrase_table, self.target_lm)
        compared = TextComparison(target.lower(), decoded.tokens)
        links = self.aligner.align(source, target, "source-target", batch=500)
        units = self.tuple_lm.score(source, target, links)
        matched, forced = units.token_matched.astype(np.float64), force(source, target, self.phrase_table)
        costs = _Costs(decoded.score, decoded.tokens, source, target, units.token_log10, matched, forced)
        values = np.hstack([block(COMPARED, compared), block(COSTS, costs)])
        values[(source.lengths == 0) | (target.lengths == 0)] = np.nan
        return values


_ORIGIN_OF_RESIDUAL: Final = (
    "this project: feasibility study on MLQE-PE (residual against the mean of the subword type)"
)

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Residuals:
    decoder: DecoderTokens
    values: FloatArray
    observed: FloatArray

    @property
    def offsets(self) -> Longs:
        return self.decoder.subwords.offsets

    @property
    def subwords(self) -> tuple[FloatArray, Longs]:
        return self.values, self.offsets

    @property
    def words(self) -> tuple[FloatArray, Longs]:
        return segment_sum(self.values, self.decoder.word_offsets), self.decoder.words.offsets


def _column(
    name: str, description: str, statistic: Callable[[_Residuals], FloatArray], unit: str = "nats"
) -> Column[_Residuals]:
    return Column(f"decoder_residual_{name}", description, _ORIGIN_OF_RESIDUAL, unit, statistic)


def _lowest(units: str, count: int) -> Column[_Residuals]:
    def mean(residuals: _Residuals) -> FloatArray:
        values, offsets = residuals.words if units == "words" else residuals.subwords
        return lowest_mean(ascending(values, offsets), offsets, count)

    name = f"word_lowest_{count}" if units == "words" else f"lowest_{count}"
    return _column(name, f"mean of the {count} lowest {units}, of all if there are fewer", mean)


def _quantile(name: str, description: str, share: float) -> Column[_Residuals]:
    def value(residuals: _Residuals) -> FloatArray:
        values, offsets = residuals.subwords
        return quantile(ascending(values, offsets), offsets, share)

    return _column(name, description, value)


_SEEN: Final = "log(1 + occurrences of the subword in the training translations)"
COLUMNS: Final = (
    _column("mean", "mean over subwords", lambda r: segment_mean(*r.subwords)),
    _column("sum", "sum over subwords", lambda r: segment_mean(*r.subwords) * np.diff(r.offsets)),
    _column("sd", "standard deviation over subwords", lambda r: deviation(*r.subwords)),
    _column("minimum", "lowest of the subwords", lambda r: segment_min(*r.subwords)),
    *(_lowest("subwords", count) for count in (3, 5, 10)),
    _quantile("percentile_10", "10th percentile of subwords", 0.1),
    _quantile("median", "median of subwords", 0.5),
    _column("window_3", "lowest mean of 3 subwords in a row, of all if there are fewer",
            lambda r: worst_window(*r.subwords, 3)),
    _column("window_5", "lowest mean of 5 subwords in a row, of all if there are fewer",
            lambda r: worst_window(*r.subwords, 5)),
    _column("below_minus_1", "share of subwords more than 1 below their mean",
            lambda r: segment_mean(r.values < -1, r.offsets), "share"),
    _column("word_minimum", "lowest of the words (sums over their subwords)",
            lambda r: segment_min(*r.words)),
    *(_lowest("words", count) for count in (3, 5)),
    _column("seen", f"mean of {_SEEN}", lambda r: segment_mean(r.observed, r.offsets), "log count"),
    _column("seen_minimum", f"lowest {_SEEN}", lambda r: segment_min(r.observed, r.offsets), "log count"),
    _column("unseen", "share of subwords that the training translations do not have",
            lambda r: segment_mean(r.observed == 0, r.offsets), "share"),
)  # fmt: skip


@dataclass(frozen=True)
class DecoderResidual(FittedExtractor):
    """Log-probabilities minus the mean of the subword's type over the training translations: `COLUMNS`.

    Means are smoothed towards the overall mean, and fitted within each fold without labels. All values are
    NaN for an empty translation.

    marker  how subwords join, as for `decoder`
    """

    plain: ClassVar[str] = "how sure the MT system was of its words"

    marker: Marker = "bpe"
    means: SubwordMeans | None = field(default=None, init=False)

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(COLUMNS)

    def requires(self) -> tuple[str, ...]:
        return ("subwords", "token_log_probabilities")

    def labels_used(self) -> tuple[str, ...]:
        return ()

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        return self.with_learned(means=SubwordMeans.fit(DecoderTokens.from_segments(segments, self.marker)))

    def extract(self, segments: Segments) -> FloatArray:
        means = self.learned(self.means)
        decoder = DecoderTokens.from_segments(segments, self.marker)
        residuals = _Residuals(decoder, means.residuals(decoder), means.log_counts(decoder))
        return block(COLUMNS, residuals)

    def save(self, path: Path) -> None:
        self.learned(self.means).save(path)

    def restore(self, path: Path) -> Self:
        return self.with_learned(means=SubwordMeans.load(path))
