"""How frequent the n-grams of a segment are in the corpus."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from features.core.extractor import Extractor, Feature, FloatArray
from features.core.segments import Segments
from features.core.tokens import Tokens, segment_mean, segment_min, segment_sum
from features.resources.ngrams import QUEST_MINIMUM, NgramCounts

_UU = "Uppsala at WMT12, section 2.1"
_QUEST = "QuEst features 1058-1060 (orders 1-3)"
_WLV = "WLV-SHEF at WMT12, section 3.2"
_DCU = "DCU-SYMC at WMT12, section 3.2 (there of POS tags)"
_SDLLW = "SDL Language Weaver at WMT12, LF1"
_LIMSI = "LIMSI at WMT12, appendix A"


@dataclass(frozen=True)
class _Found:
    """The corpus counts of the n-grams of each text, and what counts as rare."""

    counts: NDArray[np.int64]
    offsets: NDArray[np.int64]
    cutoffs: tuple[int, int, int] | None
    minimum: int

    def share(self, chosen: NDArray[np.bool_]) -> FloatArray:
        return segment_mean(chosen, self.offsets)


@dataclass(frozen=True)
class _Statistic:
    """A column of every side and order, and how it is computed.

    origin         who describes it of the source
    target_origin  who describes it of the target; empty: nobody
    """

    name: str
    description: str
    origin: str
    unit: str
    of: Callable[[_Found], FloatArray]
    target_origin: str = ""

    def feature(self, side: str, order: int) -> Feature:
        """The column of a side; order 0 where there is no other."""
        name = f"ngrams_{side}_{self.name}" + (f"_{order}" if order else "")
        of_target = self.target_origin or f"{self.origin}, there of the source"
        origin = of_target if side == "target" else self.origin
        return Feature(name, self.description.format(n=order, side=side), origin, self.unit)


def _quartile(found: _Found, quartile: int) -> FloatArray:
    if found.cutoffs is None:
        return np.full(len(found.offsets) - 1, np.nan)
    bounds = (0, *found.cutoffs, np.inf)
    return found.share((found.counts > bounds[quartile - 1]) & (found.counts <= bounds[quartile]))


STATISTICS: tuple[_Statistic, ...] = (
    *(
        _Statistic(
            f"quartile{q}",
            f"share of {{n}}-grams in frequency quartile {q} (1: rarest) of the {{side}} corpus; cut-offs "
            "from types seen at least `minimum` times; NaN where the corpus has no such type",
            _UU,
            "share",
            partial(_quartile, quartile=q),
        )
        for q in (1, 2, 3, 4)
    ),
    _Statistic(
        "unseen",
        "share of {n}-grams that the {side} corpus lacks (order 1: out-of-vocabulary rate)",
        _UU,
        "share",
        lambda found: found.share(found.counts == 0),
        f"{_LIMSI} (order 1); {_UU}, there of the source",
    ),
    _Statistic(
        "seen",
        "share of {n}-grams seen at least `minimum` times in the {side} corpus",
        _QUEST,
        "share",
        lambda found: found.share(found.counts >= found.minimum),
    ),
    _Statistic(
        "mean",
        "mean corpus count of the {n}-grams",
        _WLV,
        "occurrences",
        lambda found: segment_mean(found.counts, found.offsets),
    ),
    _Statistic(
        "mean_log",
        "mean of log10(1 + corpus count) of the {n}-grams",
        _WLV,
        "log10 occurrences",
        lambda found: segment_mean(np.log10(1 + found.counts), found.offsets),
    ),
    _Statistic(
        "least",
        "corpus count of the least frequent {n}-gram",
        _DCU,
        "occurrences",
        lambda found: segment_min(found.counts, found.offsets),
        _DCU,
    ),
)

UNSEEN_WORDS = _Statistic(
    "unseen_words",
    "out-of-vocabulary tokens: not in the {side} corpus",
    _SDLLW,
    "tokens",
    lambda found: segment_sum(found.counts == 0, found.offsets),
    _LIMSI,
)


@dataclass(frozen=True)
class NgramFrequency(Extractor):
    """Frequency quartiles, unseen and seen n-grams, mean and least corpus frequency, on both sides.

    orders   n-grams of orders 1 .. orders
    minimum  rarer n-gram types take no part in the quartile cut-offs (3: as QuEst)

    Shares, means and minima are NaN where the text has no n-gram of that order.
    Raises InputError where the counts do not reach `orders`.
    """

    source_ngrams5: NgramCounts
    target_ngrams5: NgramCounts
    orders: int = 4
    minimum: int = QUEST_MINIMUM

    @property
    def features(self) -> Sequence[Feature]:
        return [
            statistic.feature(side, order)
            for side in ("source", "target")
            for order, statistic in self._columns()
        ]

    def _columns(self) -> list[tuple[int, _Statistic]]:
        """(order, statistic) of each column of a side; order 0 for the one that is of words alone."""
        by_order = [(order, s) for order in range(1, self.orders + 1) for s in STATISTICS]
        return [(0, UNSEEN_WORDS), *by_order]

    def extract(self, segments: Segments) -> FloatArray:
        sides = (
            self._side(self.source_ngrams5, segments.source_tokens),
            self._side(self.target_ngrams5, segments.target_tokens),
        )
        return np.hstack(sides)

    def _side(self, ngrams: NgramCounts, tokens: Tokens) -> FloatArray:
        found = {
            order: _Found(*counts, _cutoffs(ngrams, order, self.minimum), self.minimum)
            for order, counts in enumerate(ngrams.counts_by_order(tokens, self.orders), start=1)
        }
        return np.column_stack([statistic.of(found[max(order, 1)]) for order, statistic in self._columns()])


def _cutoffs(ngrams: NgramCounts, order: int, minimum: int) -> tuple[int, int, int] | None:
    """None where the corpus is too small to have types that frequent."""
    return ngrams.quartile_cutoffs(order, minimum) if ngrams.has_types(order, minimum) else None
