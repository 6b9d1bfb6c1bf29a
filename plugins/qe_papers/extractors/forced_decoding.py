"""Derivation of a given translation by phrase pairs, its scores, and their imitation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, Longs
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

# Sums of a partial derivation; the first four, in order of priority, decide which of two is better:
# lower is better.
_FIELDS = (
    "uncovered", "cost", "phrases", "unused", "phrase_log", "lexical_log", "backward_log",
    "backward_lexical_log", "distortion",
)  # fmt: skip
_COMPARED = 4


@dataclass(frozen=True, eq=False)
class Forced:
    """The best derivation of each translation; all fields (n,).

    phrases      number of phrase pairs
    uncovered    target tokens without a pair
    unused       source tokens without a pair
    phrase_log   sum over its pairs of log p(target | source) + log p(source | target), natural logarithms
    lexical_log  sum over its pairs of both lexical weights, natural logarithms
    backward_log, backward_lexical_log  the parts of both for the source given the target
    distortion   sum of source tokens between the end of a pair and the start of the next one in the
                 translation, or the sentence's end
    """

    phrases: FloatArray
    uncovered: FloatArray
    unused: FloatArray
    phrase_log: FloatArray
    lexical_log: FloatArray
    backward_log: FloatArray
    backward_lexical_log: FloatArray
    distortion: FloatArray


def force(source: Tokens, target: Tokens, table: PhraseTable) -> Forced:
    """Derives each target text from its source with phrase pairs, left to right on both sides.

    A token belongs to at most one pair of the derivation; two pairs that are adjacent on both sides may swap,
    as in the decoder. The derivation with the fewest uncovered target tokens wins; ties go to the largest sum
    of the logarithms of its pairs' four scores, then to the fewest pairs, then to the fewest unused source
    tokens. Uncovered tokens are counted, but have no probability.

    Source: forced decoding as in Wuebker et al. 2010, section 4, with gaps instead of failure; model of
    Koehn et al. 2003, section 2.
    """
    result = np.zeros((len(source), len(_FIELDS)))
    arrays = (
        table.offsets, table.target, table.forward, table.backward, table.forward_weight,
        table.backward_weight,
    )  # fmt: skip
    phrases = table.phrases(target, "target")
    _force(table.phrases(source, "source"), source.offsets, phrases, target.offsets, arrays, result)
    return Forced(**{name: result[:, k] for k, name in enumerate(_FIELDS) if name != "cost"})


@numba.njit(cache=True, nogil=True)
def _force(
    rows: Any, source_offsets: Any, phrases: Any, target_offsets: Any, table: Any, result: Any
) -> None:
    entries, columns, forward, backward, forward_weight, backward_weight = table
    for k in range(len(result)):
        source_ids = rows[source_offsets[k] : source_offsets[k + 1]]
        right = phrases[target_offsets[k] : target_offsets[k + 1]]
        spans = _pairs(source_ids, right, entries, columns)
        costs = np.zeros((len(spans), result.shape[1]))
        for p in range(len(spans)):
            e = spans[p, 4]
            costs[p, 2] = 1.0
            costs[p, 4] = np.log(np.float64(forward[e])) + np.log(np.float64(backward[e]))
            costs[p, 5] = np.float64(forward_weight[e]) + np.float64(backward_weight[e])
            costs[p, 6] = np.log(np.float64(backward[e]))
            costs[p, 7] = np.float64(backward_weight[e])
            costs[p, 1] = -costs[p, 4] - costs[p, 5]
        _derive(len(source_ids), len(right), spans, costs, result[k])


@numba.njit(cache=True, nogil=True)
def _pairs(source_ids: Any, right: Any, entries: Any, columns: Any) -> Any:
    width = right.shape[1]
    flat = right.ravel()
    order = np.argsort(flat, kind="mergesort")
    order = order[np.searchsorted(flat[order], 0) :]
    there = flat[order]
    spans = np.empty((64, 5), np.int64)
    pairs = 0
    for i in range(len(source_ids)):
        for m in range(source_ids.shape[1]):
            if source_ids[i, m] < 0:
                continue
            e, end, place = entries[source_ids[i, m]], entries[source_ids[i, m] + 1], 0
            while e < end and place < len(there):
                if columns[e] < there[place]:
                    e += np.searchsorted(columns[e:end], there[place])
                elif columns[e] > there[place]:
                    place += np.searchsorted(there[place:], columns[e])
                else:
                    if pairs == len(spans):
                        spans = np.concatenate((spans, spans))
                    j, n = order[place] // width, order[place] % width
                    spans[pairs] = i, i + m + 1, j, j + n + 1, e
                    pairs += 1
                    place += 1
    spans = spans[:pairs]
    return spans[np.argsort(spans[:, 0] * (len(right) + 1) + spans[:, 3], kind="mergesort")]


@numba.njit(cache=True, nogil=True)
def _derive(length: int, width: int, spans: Any, costs: Any, result: Any) -> None:
    best = np.full((length + 1, width + 1, len(result)), np.inf)
    best[0, 0] = 0.0
    gap, skip, both = np.zeros(len(result)), np.zeros(len(result)), np.zeros(len(result))
    gap[0] = skip[3] = skip[8] = 1.0
    first = np.searchsorted(spans[:, 0], np.arange(length + 1))
    ends = spans[:, 3].copy()
    for i in range(length + 1):
        for j in range(width):
            _offer(best[i, j], gap, best[i, j + 1])
        if i == length:
            break
        for j in range(width + 1):
            _offer(best[i, j], skip, best[i + 1, j])
        for p in range(first[i], first[i + 1]):
            middle, start, end = spans[p, 1], spans[p, 2], spans[p, 3]
            _offer(best[i, start], costs[p], best[middle, end])
            if middle == length:
                continue
            # Swapped with a pair whose source words follow and whose target words precede.
            here = ends[first[middle] : first[middle + 1]]
            q = first[middle] + np.searchsorted(here, start)
            while q < first[middle + 1] and ends[q] == start:
                for f in range(len(both)):
                    both[f] = costs[p, f] + costs[q, f]
                both[8] += 2.0 * (spans[q, 1] - i)  # over p, back over both, over q
                _offer(best[i, spans[q, 2]], both, best[spans[q, 1], end])
                q += 1
    for f in range(len(result)):
        result[f] = best[length, width, f]


@numba.njit(cache=True, nogil=True)
def _offer(old: Any, step: Any, new: Any) -> None:
    for f in range(_COMPARED):
        value = old[f] + step[f]
        if value > new[f]:
            return
        if value < new[f]:
            for g in range(len(new)):
                new[g] = old[g] + step[g]
            return


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
        costs = _Costs(decoded.score, source, target, units.token_log10, matched, forced)
        values = np.hstack([block(COMPARED, compared), block(COSTS, costs)])
        values[(source.lengths == 0) | (target.lengths == 0)] = np.nan
        return values


_ORIGIN_OF_RESIDUAL: Final = (
    "this project: feasibility study on MLQE-PE (residual against the mean of the subword type)"
)


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
