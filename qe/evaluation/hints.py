"""Hints: predictions that look wrong before evaluation, and heavy tails."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from scipy import stats

from features.basics.array_types import FloatArray
from qe.data.dataset import LabelScale
from qe.display.numbers import number, span
from qe.statistics.correlations import heavy_tails
from qe.statistics.metric import power_of_two_scaled

_STANDARD_ERRORS = 5.0  # of a correlation of nothing, 1 / sqrt(n): chance does not ask
# Errors beyond those of the mean label by one factor, and beyond those of the predictions once put on the
# labels' scale by the other, are those of another scale.
_BEYOND, _RESCALED = 1.25, 2.0
_MIN_SPREAD = 1e-150  # squares of smaller differences underflow


def hints(
    gold: FloatArray,
    predictions: Mapping[str, FloatArray],
    baselines: Sequence[str],
    scale: LabelScale,
    rankings: Collection[str] = (),
) -> list[str]:
    """A question for each system whose predictions (n,), not oriented, look reversed, rescaled or broken."""
    if len(gold) < 4 or np.ptp(gold) == 0:
        return []
    questions = []
    ranks = {name: rank_correlation(gold, values) for name, values in predictions.items()}
    floor = min((ranks[name] for name in baselines if not np.isnan(ranks[name])), default=np.nan)
    for name, values in predictions.items():
        turned = _reversed(name, ranks[name], len(gold))
        asked = (
            turned
            or _shifted(name, gold, values, ranks[name])
            or _far_below(name, ranks[name], floor, len(gold), baselines)
        )
        questions += [asked] if asked else []
        questions += [] if turned or name in rankings else _scaled(name, gold, values, scale)
    return questions


def tails(
    gold: FloatArray, predictions: Mapping[str, FloatArray], rankings: Collection[str] = ()
) -> list[str]:
    """A warning if a handful of segments decides a metric, because tails are heavy."""
    named = {"the labels": gold} | {
        f"the errors of '{name}'": values - gold
        for name, values in predictions.items()
        if name not in rankings
    }
    heavy = {name: excess for name, values in named.items() if (excess := heavy_tails(values))}
    if not heavy:
        return []
    worst = max(heavy, key=heavy.__getitem__)
    more = f", and {len(heavy) - 1} more columns" if len(heavy) > 1 else ""
    return [
        f"heavy tails: {worst} (excess kurtosis {number(heavy[worst], 1)}, 0 for normal values){more}: a few"
        " segments decide RMSE and Pearson, and their intervals are too narrow; see docs/significance.md"
    ]


def narrow(gold: FloatArray, predictions: Mapping[str, FloatArray]) -> list[str]:
    """A note on labels and predictions whose differences are too small to be squared."""
    named = {"the labels": gold} | {
        f"the predictions of '{name}'": each for name, each in predictions.items()
    }
    return [
        f"{name} differ by {spread:.3g} at most: squares of such differences are 0, and figures that rest on"
        " them are undefined or 0"
        for name, values in named.items()
        if 0 < (spread := float(np.ptp(values))) < _MIN_SPREAD
    ]


def rank_correlation(gold: FloatArray, predicted: FloatArray) -> float:
    if np.ptp(gold) == 0 or np.ptp(predicted) == 0:
        return float("nan")
    x, y = (stats.rankdata(side) for side in (gold, predicted))
    return float(np.corrcoef(x, y)[0, 1])


def _reversed(name: str, correlation: float, n: int) -> str:
    if not correlation < -_STANDARD_ERRORS / np.sqrt(n):
        return ""
    return (
        f"'{name}' ranks against the labels (Spearman {number(correlation, 2)}): is it of the other"
        " direction, such as HTER among qualities? Then evaluate its negative"
    )


def _shifted(name: str, gold: FloatArray, predicted: FloatArray, correlation: float) -> str:
    own = 0.0 if np.isnan(correlation) else correlation
    moved = {
        "one line early": rank_correlation(gold[1:], predicted[:-1]),
        "one line late": rank_correlation(gold[:-1], predicted[1:]),
    }
    location, best = max(moved.items(), key=lambda item: -1.0 if np.isnan(item[1]) else item[1])
    if not best - own > _STANDARD_ERRORS * np.sqrt(2 / len(gold)):
        return ""
    return (
        f"'{name}' fits the labels of neighbouring segments better than its own (Spearman"
        f" {number(best, 2)}, not {number(own, 2)}): is its file shifted, {location}?"
    )


def _far_below(name: str, correlation: float, floor: float, n: int, baselines: Sequence[str]) -> str:
    if name in baselines or not correlation < floor - _STANDARD_ERRORS / np.sqrt(n):
        return ""
    return (
        f"'{name}' ranks far worse than every baseline (Spearman {number(correlation, 2)},"
        f" {number(floor, 2)} at least): do its lines belong to these segments?"
    )


def _scaled(name: str, gold: FloatArray, predicted: FloatArray, scale: LabelScale) -> list[str]:
    labels, values = power_of_two_scaled(gold, predicted)
    spread = float(np.abs(labels - labels.mean()).mean())
    error = float(np.abs(values - labels).mean())
    if error <= max(_BEYOND * spread, _RESCALED * _rescaled_error(labels, values)):
        return []
    ratio = f"{number(error / spread, 1)} times as much as" if spread > 0 else "far more than"
    lie = f"{span(predicted.min(), predicted.max())}, the labels in {span(gold.min(), gold.max())}"
    return [
        f"'{name}' errs {ratio} the mean label would (predictions are in"
        f" {lie}): is it on the scale of {scale.name}?"
    ]


def _rescaled_error(gold: FloatArray, predicted: FloatArray) -> float:
    (x,), y = power_of_two_scaled(predicted - predicted.mean()), gold - gold.mean()
    slope = max(0.0, float(x @ y / (x @ x))) if x.any() else 0.0
    return float(np.abs(slope * x - y).mean())
