"""Coverage: how often intervals held the label, overall and by band."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from features.basics.array_types import FloatArray
from qe.data.dataset import LabelScale
from qe.display.files import plain
from qe.display.summary import summarised
from qe.statistics.bootstrap import bootstrap_scores
from qe.statistics.intervals import percentile_interval

_PARTS = 5  # bands of predictions, and of labels where the scale has no whole steps
_MOST_STEPS = 10


@dataclass(frozen=True)
class BandCoverage:
    """Coverage and mean width of the `n` segments in a band from `low` to `high`; NaN without segments."""

    low: float
    high: float
    n: int
    coverage: float
    width: float


@summarised
@dataclass(frozen=True)
class Coverage:
    """How often intervals of a nominal `level` held the gold label, and how wide they were.

    Attributes
    ----------
    ci : pair of float and float
        95 % bootstrap interval of the coverage.
    width : float
        Mean, in label units; infinite where an interval is all labels of an open scale.
    by_label : tuple of BandCoverage
        By the gold label: steps or fifths of its scale, fifths of the labels where it is open.
    by_prediction : tuple of BandCoverage
        By fifths of the predictions.
    """

    level: float
    coverage: float
    ci: tuple[float, float]
    width: float
    n: int
    by_label: tuple[BandCoverage, ...] = ()
    by_prediction: tuple[BandCoverage, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values; None for what is not a finite number."""
        values: dict[str, Any] = plain(vars(self))
        return values

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """What `to_json` gave; undefined numbers are NaN again."""
        bands = {
            name: tuple(BandCoverage(**{k: _number(v) for k, v in band.items()}) for band in content[name])
            for name in ("by_label", "by_prediction")
        }
        return cls(**{**content, "ci": tuple(content["ci"]), "width": _number(content["width"]), **bands})


def _number(value: Any) -> Any:
    return float("nan") if value is None else value


def coverage(
    gold: FloatArray,
    low: FloatArray,
    high: FloatArray,
    level: float,
    seed: int = 0,
    *,
    predicted: FloatArray | None = None,
    scale: LabelScale | None = None,
    weights: FloatArray | None = None,
) -> Coverage:
    """How often (n,) intervals held the label; an undefined one (NaN) does not hold it.

    predicted  (n,) predictions: adds coverage by their fifths
    scale      of the labels: adds coverage by their bands
    weights    (n,) how much each segment counts in the share of all; bands count segments
    """
    inside = ((low <= gold) & (gold <= high)).astype(np.float64)
    width = high - low
    weight = np.ones_like(inside) if weights is None else weights
    statistics = np.stack([inside * weight, weight], axis=1)
    drawn = bootstrap_scores(statistics, lambda sums: sums[..., 0] / sums[..., 1], samples=1000, seed=seed)
    return Coverage(
        level,
        float(np.average(inside, weights=weight)),
        percentile_interval(drawn[0]),
        float(np.average(width, weights=weight)),
        len(gold),
        () if scale is None else _bands(gold, label_cuts(gold, scale), inside, width),
        () if predicted is None else _bands(predicted, _fifths(predicted), inside, width),
    )


def label_cuts(gold: FloatArray, scale: LabelScale) -> list[float]:
    """Cut points of bands of labels: whole steps of a scale of up to ten, else fifths of it or the labels."""
    if scale.low is None or scale.high is None:
        return _fifths(gold)
    span = scale.high - scale.low
    whole = float(span).is_integer() and 2 <= span <= _MOST_STEPS
    return [
        float(cut) for cut in np.linspace(scale.low, scale.high, (int(span) if whole else _PARTS) + 1)[1:-1]
    ]


def _fifths(values: FloatArray) -> list[float]:
    inner = np.quantile(values, np.arange(1, _PARTS) / _PARTS)
    return sorted({float(cut) for cut in inner if cut > values.min()})


def _bands(
    values: FloatArray, cuts: Sequence[float], inside: FloatArray, width: FloatArray
) -> tuple[BandCoverage, ...]:
    numbers = np.searchsorted(cuts, values, side="right")
    ends = [min(float(values.min()), *cuts, np.inf), *cuts, max(float(values.max()), *cuts, -np.inf)]
    bands = []
    for number in range(len(cuts) + 1):
        rows = numbers == number
        means = [float(some[rows].mean()) if rows.any() else float("nan") for some in (inside, width)]
        bands.append(BandCoverage(ends[number], ends[number + 1], int(rows.sum()), *means))
    return tuple(bands)
