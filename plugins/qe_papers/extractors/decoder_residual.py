"""Subword probabilities of a neural system relative to the subword types' mean in the training data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.core.columns import Column, block, features_of
from features.core.extractor import Feature, FittedExtractor
from features.core.segments import Segments
from features.decoder_output.statistics import ascending, deviation, lowest_mean, quantile, worst_window
from features.decoder_output.tokens import DecoderTokens, Marker, SubwordMeans
from features.text.tokens import segment_mean, segment_min, segment_sum

_ORIGIN: Final = "this project: feasibility study on MLQE-PE (residual against the mean of the subword type)"

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
    def words(self) -> tuple[FloatArray, Longs]:
        return segment_sum(self.values, self.decoder.word_offsets), self.decoder.words.offsets


def _column(
    name: str, description: str, unit: str, statistic: Callable[[_Residuals], FloatArray]
) -> Column[_Residuals]:
    return Column(f"decoder_residual_{name}", description, _ORIGIN, unit, statistic)


def _rising(values: FloatArray, offsets: Longs) -> tuple[FloatArray, Longs]:
    return ascending(values, offsets), offsets


COLUMNS: Final = (
    _column("mean", "mean over subwords", "nats", lambda r: segment_mean(r.values, r.offsets)),
    _column("sum", "sum over subwords", "nats",
            lambda r: segment_mean(r.values, r.offsets) * np.diff(r.offsets)),
    _column("sd", "standard deviation over subwords", "nats", lambda r: deviation(r.values, r.offsets)),
    _column("minimum", "lowest of the subwords", "nats", lambda r: segment_min(r.values, r.offsets)),
    _column("lowest_3", "mean of the 3 lowest subwords, of all if there are fewer", "nats",
            lambda r: lowest_mean(*_rising(r.values, r.offsets), 3)),
    _column("lowest_5", "mean of the 5 lowest subwords, of all if there are fewer", "nats",
            lambda r: lowest_mean(*_rising(r.values, r.offsets), 5)),
    _column("lowest_10", "mean of the 10 lowest subwords, of all if there are fewer", "nats",
            lambda r: lowest_mean(*_rising(r.values, r.offsets), 10)),
    _column("percentile_10", "10th percentile of subwords", "nats",
            lambda r: quantile(*_rising(r.values, r.offsets), 0.1)),
    _column("median", "median of subwords", "nats", lambda r: quantile(*_rising(r.values, r.offsets), 0.5)),
    _column("window_3", "lowest mean of 3 subwords in a row, of all if there are fewer", "nats",
            lambda r: worst_window(r.values, r.offsets, 3)),
    _column("window_5", "lowest mean of 5 subwords in a row, of all if there are fewer", "nats",
            lambda r: worst_window(r.values, r.offsets, 5)),
    _column("below_minus_1", "share of subwords more than 1 below their mean", "share",
            lambda r: segment_mean(r.values < -1, r.offsets)),
    _column("word_minimum", "lowest of the words (sums over their subwords)", "nats",
            lambda r: segment_min(*r.words)),
    _column("word_lowest_3", "mean of the 3 lowest words, of all if there are fewer", "nats",
            lambda r: lowest_mean(*_rising(*r.words), 3)),
    _column("word_lowest_5", "mean of the 5 lowest words, of all if there are fewer", "nats",
            lambda r: lowest_mean(*_rising(*r.words), 5)),
    _column("seen", "mean of log(1 + occurrences of the subword in the training translations)", "log count",
            lambda r: segment_mean(r.observed, r.offsets)),
    _column("seen_minimum", "lowest log(1 + occurrences of the subword in the training translations)",
            "log count", lambda r: segment_min(r.observed, r.offsets)),
    _column("unseen", "share of subwords that the training translations do not have", "share",
            lambda r: segment_mean(r.observed == 0, r.offsets)),
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
