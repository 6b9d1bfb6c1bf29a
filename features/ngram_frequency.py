"""Corpus frequencies of the n-grams of both texts, and n-gram precision against the corpus."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.hints import Count
from features.comparisons.comparison import smoothed_precision
from features.core.columns import Column, ColumnExtractor, ColumnGroups
from features.core.extractor import Extractor, Feature
from features.core.feature_set import EXTRACTORS
from features.core.segments import Segments
from features.resources.ngrams import QUEST_MINIMUM, NgramCounts, QuartileNgrams
from features.text.tokens import segment_mean, segment_min, segment_sum

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

    def mean(self, values: NDArray[np.generic]) -> FloatArray:
        return segment_mean(values, self.offsets)


@dataclass(frozen=True)
class _Statistic(Column[_Counts]):
    target_origin: str = ""

    def column(self, side: str, order: int) -> Column[list[_Counts]]:
        of_target = self.target_origin or f"{self.origin}, there of the source"
        return replace(
            self.with_preparation(lambda counts: counts[max(order, 1) - 1]),
            name=f"ngrams_{side}_{self.name}" + (f"_{order}" if order else ""),
            description=self.description.format(n=order, side=side),
            origin=of_target if side == "target" else self.origin,
        )


def _quartile(ngrams: _Counts, quartile: int) -> FloatArray:
    if ngrams.cutoffs is None:
        return np.full(len(ngrams.offsets) - 1, np.nan)
    bounds = (0, *ngrams.cutoffs, np.inf)
    return ngrams.mean((ngrams.counts > bounds[quartile - 1]) & (ngrams.counts <= bounds[quartile]))


STATISTICS: tuple[_Statistic, ...] = (
    *(
        _Statistic(f"quartile{q}",
            f"share of {{n}}-grams in frequency quartile {q} (1: rarest) of the {{side}} corpus; cut-offs "
            "from types seen at least `minimum` times; NaN if the corpus has no such type", _UU, "share",
            partial(_quartile, quartile=q))
        for q in (1, 2, 3, 4)
    ),
    _Statistic("unseen",
        "share of {n}-grams that the {side} corpus lacks (order 1: out-of-vocabulary rate), or has fewer "
        "than `seen_count` times", _UU, "share", lambda ngrams: ngrams.mean(ngrams.counts < ngrams.unseen),
        f"{_LIMSI} (order 1); {_UU}, there of the source"),
    _Statistic("seen", "share of {n}-grams that the {side} corpus has (`seen_count` or `minimum` times)",
        _QUEST, "share", lambda ngrams: ngrams.mean(ngrams.counts >= ngrams.min_count)),
    _Statistic("mean", "mean corpus count of the {n}-grams", _WLV, "occurrences",
        lambda ngrams: ngrams.mean(ngrams.counts)),
    _Statistic("mean_log", "mean of log10(1 + corpus count) of the {n}-grams", _WLV, "log10 occurrences",
        lambda ngrams: ngrams.mean(np.log10(1 + ngrams.counts))),
    _Statistic("least", "corpus count of the least frequent {n}-gram", _DCU, "occurrences",
        lambda ngrams: segment_min(ngrams.counts, ngrams.offsets), _DCU),
)  # fmt: skip

UNSEEN_WORDS = _Statistic("unseen_words", "out-of-vocabulary tokens: not in the {side} corpus", _SDLLW,
    "tokens", lambda ngrams: segment_sum(ngrams.counts == 0, ngrams.offsets), _LIMSI)  # fmt: skip


@EXTRACTORS.register("ngram_frequency")
@dataclass(frozen=True)
class NgramFrequency(ColumnExtractor):
    """Frequency quartiles, n-grams seen and unseen, mean and least frequency, on both sides.

    Frequencies are those of the corpus.

    orders   n-grams of orders 1 .. orders
    minimum  rarer n-gram types take no part in the quartile cut-offs (3: as QuEst)
    seen_count  occurrences from which on an n-gram counts as seen; unseen is all else. None: unseen are those
             that the corpus lacks, seen those that it has `minimum` times, as QuEst counts; those between are
             neither

    Shares, means and minima are NaN if the text has no n-gram of that order. Raises InputError if the counts
    do not reach `orders`.
    """

    renamed: ClassVar[Mapping[str, str]] = {"known": "seen_count"}
    plain: ClassVar[str] = "how usual the wording of the {text} is"

    source_ngrams5: NgramCounts
    target_ngrams5: NgramCounts
    orders: Count = 4
    minimum: Count = QUEST_MINIMUM
    seen_count: Count | None = None

    def column_groups(self) -> ColumnGroups:
        by_order = [(order, s) for order in range(1, self.orders + 1) for s in STATISTICS]
        return [
            (
                [statistic.column(side, order) for order, statistic in [(0, UNSEEN_WORDS), *by_order]],
                partial(self._counts, side),
            )
            for side in ("source", "target")
        ]

    def _counts(self, side: str, segments: Segments) -> list[_Counts]:
        tokens = segments.source_tokens if side == "source" else segments.target_tokens
        ngrams = self.source_ngrams5 if side == "source" else self.target_ngrams5
        return [
            _Counts(
                *counts,
                ngrams.quartile_cutoffs(order, self.minimum)
                if ngrams.has_types(order, self.minimum)
                else None,
                self.seen_count or self.minimum,
                self.seen_count or 1,
            )
            for order, counts in enumerate(ngrams.counts_by_order(tokens, self.orders), start=1)
        ]


ORDER = 4

# (suffix of the column, field without the side, what it is, number in the paper by side)
_REFERENCES = (
    ("all", "ngrams5", "the corpus", {"source": 4, "target": 5}),
    (
        "best",
        "best_quartile",
        "the quarter of a corpus sample that translates best",
        {"source": 6, "target": 7},
    ),
    ("worst", "worst_quartile", "the quarter that translates worst", {"source": 8, "target": 9}),
)


@EXTRACTORS.register("corpus_precision")
@dataclass(frozen=True)
class CorpusPrecision(Extractor):
    """BLEU without brevity penalty, with corpus segments as references.

    The geometric mean of the shares of 1- to 4-grams that occur in them, smoothed by one from bigrams on.
    N-grams that a segment repeats count each time, as some corpus segment repeats them too where they are
    frequent. NaN for an empty text.
    """

    plain: ClassVar[str] = "how much of the {text} is like known texts"

    source_ngrams5: NgramCounts
    target_ngrams5: NgramCounts
    source_best_quartile: QuartileNgrams
    target_best_quartile: QuartileNgrams
    source_worst_quartile: QuartileNgrams
    target_worst_quartile: QuartileNgrams

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(f"corpus_precision_{side}_{name}",
                f"smoothed 1-4-gram precision of the {side} against {what}; NaN if empty",
                f"SDL Language Weaver at WMT12, LF{number[side]}", "share")
            for side in ("source", "target")
            for name, _, what, number in _REFERENCES
        ]  # fmt: skip

    def extract(self, segments: Segments) -> FloatArray:
        sides = {"source": segments.source_tokens, "target": segments.target_tokens}
        columns = []
        for side, tokens in sides.items():
            for _, part, _, _ in _REFERENCES:
                times = getattr(self, f"{side}_{part}").counts_by_order(tokens, ORDER)
                matched = np.column_stack([segment_sum(counts > 0, offsets) for counts, offsets in times])
                total = np.column_stack([np.diff(offsets) for _, offsets in times])
                columns.append(smoothed_precision(matched, total))
        return np.column_stack(columns)
