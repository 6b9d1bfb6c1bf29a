"""Aggregates: the probabilities of the tokens of a segment -> 16 numbers per segment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.decoder_output.statistics import ascending, longest_run, lowest_mean, quantile
from features.storage.files import digest
from features.text.tokens import segment_max, segment_mean, segment_sum
from features.word_level.columns import Floats, Longs
from features.word_level.knowledge import KNOWLEDGE, Judgement, stem
from features.word_level.tokens import COLUMNS_VERSION, TokenResources, TokenTable, describe

_CERTAIN = 1e-6  # probabilities are kept this far from 0 and 1 in logarithms


@dataclass(frozen=True, eq=False)
class Probabilities:
    """(n_tokens,) P(BAD), token by token, and (n + 1,) offsets of the texts."""

    values: Floats
    offsets: Longs

    @cached_property
    def rising(self) -> Floats:
        return ascending(self.values, self.offsets)

    @cached_property
    def _negated(self) -> Floats:
        return ascending(-self.values, self.offsets)

    def mean(self, values: NDArray[Any]) -> Floats:
        return segment_mean(values, self.offsets)

    def top(self, count: int) -> Floats:
        return -lowest_mean(self._negated, self.offsets, count)

    def quantile(self, level: float) -> Floats:
        return quantile(self.rising, self.offsets, level)

    def total(self, values: NDArray[Any]) -> Floats:
        return segment_sum(values, self.offsets)

    @property
    def log_ok(self) -> Floats:
        return np.log1p(-np.minimum(self.values, 1 - _CERTAIN))


@dataclass(frozen=True)
class Aggregate:
    """One number of a segment that has tokens. `compute` gives (n,) of n segments, anything of the others."""

    name: str
    description: str
    unit: str
    compute: Callable[[Probabilities], Floats]


def _top(count: int) -> Aggregate:
    description = f"mean of the {count} highest P(BAD), of all if there are fewer"
    return Aggregate(f"top{count}", description, "probability", lambda p: p.top(count))


AGGREGATES: tuple[Aggregate, ...] = (
    Aggregate("mean", "mean of P(BAD)", "probability", lambda p: p.mean(p.values)),
    *(_top(count) for count in (3, 5, 10)),
    Aggregate("above_30", "share with P(BAD) > .3", "share", lambda p: p.mean(p.values > 0.3)),
    Aggregate("above_50", "share with P(BAD) > .5", "share", lambda p: p.mean(p.values > 0.5)),
    Aggregate("above_70", "share with P(BAD) > .7", "share", lambda p: p.mean(p.values > 0.7)),
    Aggregate("quartile1", "first quartile of P(BAD)", "probability", lambda p: p.quantile(0.25)),
    Aggregate("median", "median of P(BAD)", "probability", lambda p: p.quantile(0.5)),
    Aggregate("quartile3", "third quartile of P(BAD)", "probability", lambda p: p.quantile(0.75)),
    Aggregate("percentile90", "90th percentile of P(BAD)", "probability", lambda p: p.quantile(0.9)),
    Aggregate("maximum", "highest P(BAD)", "probability", lambda p: segment_max(p.values, p.offsets)),
    Aggregate("log_ok", "log probability that nothing is BAD, places taken as independent", "nats",
        lambda p: p.total(p.log_ok)),
    Aggregate("expected", "expected number of BAD places", "places", lambda p: p.total(p.values)),
    Aggregate("count_50", "number with P(BAD) > .5", "places", lambda p: p.total(p.values > 0.5)),
    Aggregate("longest_run", "most neighbours in a row with P(BAD) > .4", "places",
        lambda p: longest_run(p.values > 0.4, p.offsets)),
)  # fmt: skip


def aggregate(probability: Floats, offsets: Longs) -> Floats:
    """(n, 16) the aggregates of every text; NaN for a text without tokens.

    >>> aggregate(np.array([0.2, 0.6]), np.array([0, 2, 2]))[:, [0, 5, 13, 15]]
    array([[0.4, 0.5, 0.8, 1. ],
           [nan, nan, nan, nan]])
    """
    given = Probabilities(np.asarray(probability, np.float64), np.asarray(offsets, np.int64))
    result = np.column_stack([a.compute(given) for a in AGGREGATES]).astype(np.float64, copy=False)
    result[np.diff(given.offsets) == 0] = np.nan
    return result


_ORIGIN = "this project; synthetic data as in Tuan et al. 2021, section 3"
_LEARNED = "learned from parallel text alone, no human label; NaN for an empty translation"


@dataclass(frozen=True, eq=False)
class JudgedWords(TokenResources, Extractor):
    """16 aggregates of P(BAD) of the target words, and 16 of the gaps, by the first knowledge. Nothing is
    learned from the labels of the task: the values are the same for every segment and fold.
    """

    knowledge: Annotated[Sequence[Judgement], KNOWLEDGE]

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(
                f"{stem('word_quality', self.knowledge)}_{kind}_{a.name}",
                f"{kind}s: {a.description}, {_LEARNED}",
                _ORIGIN,
                a.unit,
            )
            for kind in ("word", "gap")
            for a in AGGREGATES
        ]

    def content_fingerprint(self) -> str:
        return digest(
            "token columns", COLUMNS_VERSION, *(each.content_fingerprint() for each in self.knowledge)
        )

    def table(self, segments: Segments) -> TokenTable:
        return describe(segments, self, frozenset(), decoder=False)

    def extract(self, segments: Segments) -> FloatArray:
        table = self.table(segments)
        words, gaps = self.knowledge[0].judged(table)
        result = np.hstack([aggregate(words, table.offsets), aggregate(gaps, table.gap_offsets)])
        result[np.diff(table.offsets) == 0] = np.nan
        return result
