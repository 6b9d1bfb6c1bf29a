"""Metric: gold labels and predictions -> a number."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from features.basics.array_types import BoolArray, FloatArray
from features.basics.catalogue import Catalogue
from qe.display.numbers import NumberText, estimate

if TYPE_CHECKING:
    from qe.statistics.draws import CountArray  # which loads numba


class Metric(ABC):
    """Compares (n,) gold labels with (n,) predictions; higher is better quality in both.

    The caller orients (LabelScale.sign); a metric never takes `abs()` of a correlation, and a ranking
    metric ranks by predicted quality, best first.
    """

    title: ClassVar[str]
    """What tables and plots call it."""
    help: ClassVar[str]
    """What it measures, in a few words."""
    kind: ClassVar[Literal["ranking", "scoring", "classes"]]
    """Whether it measures the order of segments, the size of errors, or two classes (labels 0 and 1): each
    kind has a table."""
    digits: ClassVar[int] = 3
    """Digits after the point in tables."""
    json_key: ClassVar[str] = ""
    """Its name in JSON reports, if that is not the file's."""
    higher_is_better: ClassVar[bool]
    interval_scale: ClassVar[Literal["identity", "log", "fisher", "arcsine"]] = "identity"
    """Variance-stabilising transform: log for sizes, fisher for correlations, arcsine for percentages."""

    @classmethod
    def formatted(cls, value: float | None, bounds: Sequence[float | None] | None = None) -> NumberText:
        """A score as tables show it, with its interval if there is one."""
        return estimate(value, bounds, cls.digits)

    @abstractmethod
    def score(self, gold: FloatArray, predicted: FloatArray) -> float:
        """The metric; NaN if it is undefined (its docstring says when)."""


class AdditiveMetric(Metric):
    """A metric that is a function of sums over segments."""

    @abstractmethod
    def statistics(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        """(n, k) sufficient statistics per segment."""

    @abstractmethod
    def aggregate(self, sums: FloatArray) -> FloatArray:
        """(..., k) sums of statistics -> (...) scores."""

    def score(self, gold: FloatArray, predicted: FloatArray) -> float:
        return float(self.aggregate(self.statistics(*finite_pair(gold, predicted)).sum(axis=0)))


class ExchangedMetric(Metric):
    """A metric whose randomization test rescores every exchange of predictions."""

    exchange_name: ClassVar[str] = "approximate randomization"

    @abstractmethod
    def on_common_scale(self, predicted: FloatArray) -> FloatArray:
        """(n,) predictions on a scale that both systems share, ready to be exchanged."""

    @abstractmethod
    def exchanged(
        self, gold: FloatArray, system: FloatArray, baseline: FloatArray, swapped: BoolArray
    ) -> FloatArray:
        """(B,) difference of the scores of `system` and `baseline` after exchanges, exactly rescored.

        system, baseline  (n,) predictions of two systems on the common scale
        swapped           (n, B): the segments whose predictions change sides in each shuffle

        It may be another measure of the difference that has the same sign (a studentised one).
        """


class RankedMetric(ExchangedMetric):
    """A metric of the whole ranking."""

    kind: ClassVar[Literal["ranking", "scoring", "classes"]] = "ranking"
    higher_is_better = True

    def score(self, gold: FloatArray, predicted: FloatArray) -> float:
        gold, predicted = finite_pair(gold, predicted)
        return float(self.resample(gold, predicted, np.ones((1, len(gold)), np.int32))[0])

    @abstractmethod
    def resample(self, gold: FloatArray, predicted: FloatArray, counts: "CountArray") -> FloatArray:
        """(B,) scores of B resamples; `counts` (B, n) is how often each row was drawn.

        Counts cover the bootstrap (by segment, or by document: totals may differ) and, over the stacked
        rows of two systems, the exchanges of a randomization test.
        """

    def on_common_scale(self, predicted: FloatArray) -> FloatArray:
        _, inverse, counts = np.unique(predicted, return_inverse=True, return_counts=True)
        ranks = np.cumsum(counts) - (counts - 1) / 2.0
        return np.asarray(ranks[inverse], np.float64)

    def exchanged(
        self, gold: FloatArray, system: FloatArray, baseline: FloatArray, swapped: BoolArray
    ) -> FloatArray:
        twice, both = np.concatenate([gold, gold]), np.concatenate([system, baseline])
        moved = np.ascontiguousarray(swapped.T).astype(np.int32)
        kept = self.resample(twice, both, np.concatenate([1 - moved, moved], axis=1))
        return kept - self.resample(twice, both, np.concatenate([moved, 1 - moved], axis=1))


def finite_pair(gold: FloatArray, predicted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both as (n,) float64; raises ValueError for different lengths and values that are not finite."""
    left, right = np.asarray(gold, np.float64), np.asarray(predicted, np.float64)
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError(f"gold and predicted must be (n,) and alike, but got {left.shape} and {right.shape}")
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise ValueError("gold and predicted must be finite")
    return left, right


def power_of_two_scaled(*columns: FloatArray) -> list[FloatArray]:
    """The columns divided by one power of two (exactly), so that their largest value is in 0.5 .. 1."""
    largest = max(np.abs(values).max(initial=0.0) for values in columns)
    return [np.ldexp(values, -int(np.frexp(largest)[1])) for values in columns]


METRICS: Catalogue[Metric] = Catalogue("qe.statistics.metrics", Metric, "metric", plugins=True)


def title_of(metric: str) -> str:
    """What people call a metric; its own name if it is none of the catalogue's."""
    return METRICS.get(metric).title if metric in METRICS else metric


def scorer(metric: str, *, higher_is_better: bool = True) -> Any:
    """A scorer for scikit-learn, by which higher is better: errors are negative.

    Parameters
    ----------
    metric : str
        Name of a file in qe/statistics/metrics.
    higher_is_better : bool, default=True
        Direction of the labels; False for error rates such as HTER.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> X, y = np.zeros((4, 1)), np.array([1.0, 2.0, 3.0, 6.0])
    >>> float(scorer("mae")(DummyRegressor().fit(X, y), X, y))
    -1.5
    """
    from sklearn.metrics import make_scorer  # costly to load

    kind = METRICS.get(metric)()
    sign = 1.0 if higher_is_better else -1.0
    return make_scorer(partial(_score, kind, sign), greater_is_better=kind.higher_is_better)


def _score(metric: Metric, sign: float, gold: ArrayLike, predicted: ArrayLike) -> float:
    return metric.score(sign * np.asarray(gold, np.float64), sign * np.asarray(predicted, np.float64))
