"""Corpus frequencies of the n-grams of both texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.hints import Count
from features.core.columns import Column, unwanted, wanted
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.resources.ngrams import QUEST_MINIMUM, NgramCounts
from features.text.tokens import Tokens, segment_mean, segment_min, segment_sum

_UU = "Uppsala at WMT12, section 2.1"
_QUEST = "QuEst features 1058-1060 (orders 1-3)"
_WLV = "WLV-SHEF at WMT12, section 3.2"
_DCU = "DCU-SYMC at WMT12, section 3.2 (there of POS tags)"
_SDLLW = "SDL Language Weaver at WMT12, LF1"
_LIMSI = "LIMSI at WMT12, appendix A"


@dataclass(frozen=True)
class _Counts:
    counts: NDArray[np.int64]
    offsets: NDArray[np.int64]
    cutoffs: tuple[int, int, int] | None
    min_count: int  # occurrences of an n-gram that counts as seen, at least
    unseen: int  # an n-gram of fewer counts as unseen

    def share(self, flags: NDArray[np.bool_]) -> FloatArray:
        return segment_mean(flags, self.offsets)


@dataclass(frozen=True)
class _Statistic(Column[_Counts]):
    target_origin: str = ""

    def column(self, side: str, order: int) -> Column[_Counts]:
        name = f"ngrams_{side}_{self.name}" + (f"_{order}" if order else "")
        of_target = self.target_origin or f"{self.origin}, there of the source"
        origin = of_target if side == "target" else self.origin
        return Column(name, self.description.format(n=order, side=side), origin, self.unit, self.compute)


def _quartile(ngrams: _Counts, quartile: int) -> FloatArray:
    if ngrams.cutoffs is None:
        return np.full(len(ngrams.offsets) - 1, np.nan)
    bounds = (0, *ngrams.cutoffs, np.inf)
    return ngrams.share((ngrams.counts > bounds[quartile - 1]) & (ngrams.counts <= bounds[quartile]))


STATISTICS: tuple[_Statistic, ...] = (
    *(
        _Statistic(
            f"quartile{q}",
            f"share of {{n}}-grams in frequency quartile {q} (1: rarest) of the {{side}} corpus; cut-offs "
            "from types seen at least `minimum` times; NaN if the corpus has no such type",
            _UU,
            "share",
            partial(_quartile, quartile=q),
        )
        for q in (1, 2, 3, 4)
    ),
    _Statistic(
        "unseen",
        "share of {n}-grams that the {side} corpus lacks (order 1: out-of-vocabulary rate), or has fewer "
        "than `known` times",
        _UU,
        "share",
        lambda ngrams: ngrams.share(ngrams.counts < ngrams.unseen),
        f"{_LIMSI} (order 1); {_UU}, there of the source",
    ),
    _Statistic(
        "seen",
        "share of {n}-grams that the {side} corpus has (`known` times; null: `minimum` times)",
        _QUEST,
        "share",
        lambda ngrams: ngrams.share(ngrams.counts >= ngrams.min_count),
    ),
    _Statistic(
        "mean",
        "mean corpus count of the {n}-grams",
        _WLV,
        "occurrences",
        lambda ngrams: segment_mean(ngrams.counts, ngrams.offsets),
    ),
    _Statistic(
        "mean_log",
        "mean of log10(1 + corpus count) of the {n}-grams",
        _WLV,
        "log10 occurrences",
        lambda ngrams: segment_mean(np.log10(1 + ngrams.counts), ngrams.offsets),
    ),
    _Statistic(
        "least",
        "corpus count of the least frequent {n}-gram",
        _DCU,
        "occurrences",
        lambda ngrams: segment_min(ngrams.counts, ngrams.offsets),
        _DCU,
    ),
)

UNSEEN_WORDS = _Statistic(
    "unseen_words",
    "out-of-vocabulary tokens: not in the {side} corpus",
    _SDLLW,
    "tokens",
    lambda ngrams: segment_sum(ngrams.counts == 0, ngrams.offsets),
    _LIMSI,
)


@dataclass(frozen=True)
class NgramFrequency(Extractor):
    """Frequency quartiles, n-grams seen and unseen, mean and least frequency, on both sides.

    Frequencies are those of the corpus.

    orders   n-grams of orders 1 .. orders
    minimum  rarer n-gram types take no part in the quartile cut-offs (3: as QuEst)
    known    occurrences from which on an n-gram counts as seen; unseen is all else. None: unseen are those
             that the corpus lacks, seen those that it has `minimum` times, as QuEst counts; those between are
             neither

    Shares, means and minima are NaN if the text has no n-gram of that order. Raises InputError if the counts
    do not reach `orders`.
    """

    plain: ClassVar[str] = "how usual the wording of the {text} is"

    source_ngrams5: NgramCounts
    target_ngrams5: NgramCounts
    orders: Count = 4
    minimum: Count = QUEST_MINIMUM
    known: Count | None = None

    @property
    def features(self) -> Sequence[Feature]:
        return [
            statistic.column(side, order).feature
            for side in ("source", "target")
            for order, statistic in self._columns()
        ]

    def _columns(self) -> list[tuple[int, _Statistic]]:
        by_order = [(order, s) for order in range(1, self.orders + 1) for s in STATISTICS]
        return [(0, UNSEEN_WORDS), *by_order]

    def extract(self, segments: Segments) -> FloatArray:
        sides = (
            self._side("source", self.source_ngrams5, segments.source_tokens),
            self._side("target", self.target_ngrams5, segments.target_tokens),
        )
        return np.hstack(sides)

    def _side(self, side: str, ngrams: NgramCounts, tokens: Tokens) -> FloatArray:
        columns = self._columns()
        if not wanted(statistic.column(side, order).name for order, statistic in columns):
            return unwanted(len(tokens), len(columns))
        by_order = {
            order: _Counts(
                *counts,
                _cutoffs(ngrams, order, self.minimum),
                min_count=self.known or self.minimum,
                unseen=self.known or 1,
            )
            for order, counts in enumerate(ngrams.counts_by_order(tokens, self.orders), start=1)
        }
        return np.column_stack([statistic.compute(by_order[max(order, 1)]) for order, statistic in columns])


def _cutoffs(ngrams: NgramCounts, order: int, minimum: int) -> tuple[int, int, int] | None:
    return ngrams.quartile_cutoffs(order, minimum) if ngrams.has_types(order, minimum) else None
