"""Metrics of two classes: labels 0 and 1, oriented so that the worse class is the lower number."""

from typing import Any

import numba
import numpy as np

from features.basics.array_types import BoolArray, FloatArray
from qe.statistics.draws import CountArray
from qe.statistics.metric import METRICS, AdditiveMetric, RankedMetric, finite_pair
from qe.statistics.metrics.ranking import tie_groups

_MIDDLE = 0.5


def confusion(bad: BoolArray, called: BoolArray) -> FloatArray:
    """(n, 4) counts: BAD found, good called BAD, BAD missed, good passed."""
    cells = [bad & called, ~bad & called, bad & ~called, ~bad & ~called]
    return np.stack(cells, axis=1).astype(np.float64)


def matthews(counts: FloatArray) -> FloatArray:
    """(..., 4) counts as of `confusion` -> (...) Matthews correlation.

    0 if only one class is called (its limit: Chicco and Jurman 2020), NaN if only one is labelled.
    """
    found, alarms, missed, passed = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    spread = np.sqrt((found + alarms) * (found + missed)) * np.sqrt((passed + alarms) * (passed + missed))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.where(spread > 0, (found * passed - alarms * missed) / spread, 0.0)
    return np.where((found + missed) * (alarms + passed) > 0, correlation, np.nan)


def f1_score(right: FloatArray, wrong: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(2.0 * right / (2.0 * right + wrong))


def worse(gold: FloatArray, predicted: FloatArray) -> tuple[BoolArray, BoolArray]:
    """(n,) whether a segment belongs to the worse class, and whether it is predicted to.

    Labels are 0 and 1 if 1 is good, and 0 and -1 (negated) if it is bad; the boundary is in the middle.
    """
    gold, predicted = finite_pair(gold, predicted)
    negated = bool(len(gold)) and gold.max() <= 0 and (gold.min() < 0 or predicted.mean() < 0)
    middle = -_MIDDLE if negated else _MIDDLE
    return gold < middle, predicted < middle


class CountedClasses(AdditiveMetric):
    kind = "classes"
    higher_is_better = True

    def statistics(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        """(n, 4): found, false alarm, missed, rightly passed."""
        return confusion(*worse(gold, predicted))


@METRICS.register("mcc")
class Mcc(CountedClasses):
    """Matthews correlation of two classes, -1 .. 1.

    0 if only one class is predicted, NaN if only one is labelled. Labels are 0 and 1; predictions are of the
    class that they are nearer to (from .5 on, the upper one). Source: Matthews 1975; the metric of critical
    error detection in WMT 2021.

    >>> Mcc().score(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.9, 0.4, 0.1, 0.2]))
    0.5773502691896258
    """

    title = "MCC"
    help = "Matthews correlation of two classes"
    interval_scale = "fisher"

    def aggregate(self, sums: FloatArray) -> FloatArray:
        return matthews(sums)


@METRICS.register("f1")
class F1(CountedClasses):
    """Harmonic mean of precision and recall of the worse class (BAD, ERR), 0 .. 1.

    NaN if no label is of that class. Labels and predictions as for MCC. Source: van Rijsbergen 1979.

    >>> F1().score(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.9, 0.4, 0.1, 0.2]))
    0.8
    """

    title = "F1"
    help = "F1 of the worse of two classes"

    def aggregate(self, sums: FloatArray) -> FloatArray:
        found, alarms, missed, _ = np.moveaxis(np.asarray(sums, np.float64), -1, 0)
        return np.where(found + missed > 0, f1_score(found, alarms + missed), np.nan)


@METRICS.register("auc")
class Auc(RankedMetric):
    """Area under the ROC curve: chance that a segment of the better class is predicted higher.

    Ties count half. NaN if the labels have only one class. Source: Hanley and McNeil 1982.

    >>> Auc().score(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.9, 0.2, 0.1, 0.2]))
    0.875
    """

    title = "AUC"
    help = "chance that the better class is predicted higher"
    kind = "classes"

    def resample(self, gold: FloatArray, predicted: FloatArray, counts: CountArray) -> FloatArray:
        bad, _ = worse(gold, np.zeros_like(gold))
        groups, count = tie_groups(predicted)
        scores = np.empty(len(counts))
        _resample(bad, groups, count, counts, scores)
        return scores


@numba.njit(cache=True, nogil=True)
def _resample(bad: Any, groups: Any, count: int, counts: Any, scores: Any) -> None:
    sides = np.empty((2, count))
    for b in range(len(counts)):
        sides[:] = 0.0
        for i in range(len(groups)):
            sides[0 if bad[i] else 1, groups[i]] += counts[b, i]
        below, won = 0.0, 0.0
        for g in range(count):
            won += sides[1, g] * (below + 0.5 * sides[0, g])
            below += sides[0, g]
        pairs = below * sides[1].sum()
        scores[b] = won / pairs if pairs > 0.0 else np.nan
