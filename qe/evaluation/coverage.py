"""Coverage of prediction intervals by band, and bad segments let through as more are published."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.basics.errors import InputError
from qe.data.dataset import LabelScale
from qe.data.headers import HIGHER, LOWER, key_of
from qe.display.numbers import general
from qe.display.summary import Record

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


@dataclass(frozen=True)
class Coverage(Record):
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
    from qe.statistics.intervals import percentile_interval
    from qe.statistics.resampling import bootstrap_scores

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
    parts = int(span) if whole else _PARTS
    return [float(cut) for cut in np.linspace(scale.low, scale.high, parts + 1)[1:-1]]


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


_BAD = re.compile(r"\s*(?P<label>[^<>=]*?)\s*(?P<sign>[<>])(?P<equal>=?)\s*(?P<limit>[-+.\deE]+)\s*")


@dataclass(frozen=True)
class BadLabels:
    """Which labels are bad, such as `hter>0.3`: those beyond a limit, or at it (`with_limit`).

    `label` may be empty; if `higher_is_better`, the low ones are bad.
    """

    label: str
    limit: float
    higher_is_better: bool
    with_limit: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads `LABEL>NUMBER` (`>=`, `<`, `<=`); raises InputError if that is the good side of the label.

        >>> BadLabels.parse("hter>0.3").mask(np.array([0.3, 0.4])).tolist()
        [False, True]
        """
        match = _BAD.fullmatch(text)
        try:
            limit = float(match["limit"]) if match else np.nan
        except ValueError:
            limit = np.nan
        if match is None or not np.isfinite(limit):
            raise InputError(f"bad segments are given as 'hter>0.3' or 'da<60', but got {text!r}")
        higher, label = match["sign"] == "<", match["label"]
        if key_of(label) in (LOWER if higher else HIGHER):
            raise InputError(f"{text!r} calls the better labels bad", remedy="turn the sign round")
        return cls(label, limit, higher, bool(match["equal"]))

    @classmethod
    def worst_quarter(cls, gold: FloatArray, scale: LabelScale) -> Self:
        """Labels beyond that of the worst quarter; with it, if it is the worst of all."""
        limit = float(np.quantile(scale.sign * gold, 0.25)) * scale.sign
        worst = (gold.min() if scale.higher_is_better else gold.max()) == limit
        return cls(scale.name, limit, scale.higher_is_better, bool(worst))

    def __str__(self) -> str:
        sign = ("<" if self.higher_is_better else ">") + "=" * self.with_limit
        return f"{self.label}{sign}{general(self.limit)}"

    def check(self, scale: LabelScale) -> None:
        """Raises InputError if the labels have another name or direction than the scale of a model."""
        same = not self.label or key_of(self.label) == key_of(scale.name)
        if not same or self.higher_is_better != scale.higher_is_better:
            sign = "<" if scale.higher_is_better else ">"
            raise InputError(f"bad labels of this model are given as '{scale.name}{sign}NUMBER'")

    def mask(self, gold: FloatArray) -> BoolArray:
        """(n,) whether each label is bad."""
        worse = gold < self.limit if self.higher_is_better else gold > self.limit
        return np.asarray(worse | (gold == self.limit) & self.with_limit)


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """Share of all bad segments that publishing the best-predicted ones lets through.

    published  (k,) share of the segments that are published, from 0 to 1
    errors     (k,) share of the bad segments among them
    ci         (k, 2) its 95 % bootstrap interval
    """

    published: FloatArray
    errors: FloatArray
    ci: FloatArray


def ranks(ranked: FloatArray, shares: FloatArray) -> list[int]:
    """Numbers of segments, best first, with at least these shares: equal predictions go together."""
    ends = np.append(np.flatnonzero(np.diff(ranked)) + 1, len(ranked))
    wanted = np.ceil(np.round(shares * len(ranked), 6))
    return [int(end) for end in np.unique(ends[np.searchsorted(ends, wanted)])]


def error_curve(
    quality: FloatArray, bad: BoolArray, units: IntArray, samples: int = 1000, seed: int = 0
) -> ErrorCurve:
    """The curve of segments of this quality, of which some are bad; whole units are drawn."""
    from qe.statistics.resampling import bootstrap_scores  # slow to import, and not needed to check a plan

    order = np.argsort(-quality, kind="stable")
    published = np.array([0, *ranks(quality[order], np.linspace(0.02, 1, 50))])
    first = np.arange(len(order))[:, np.newaxis] < published
    errors = (bad[order, np.newaxis] & first).astype(np.float64)

    def shares(sums: FloatArray) -> FloatArray:
        return sums / np.maximum(sums[..., -1:], 1)  # without bad segments, none is let through

    drawn = bootstrap_scores(errors, shares, samples=samples, seed=seed, groups=units[order])[0]
    ci = np.quantile(drawn, [0.025, 0.975], axis=0).T
    return ErrorCurve(published / len(order), shares(errors.sum(axis=0)), ci)
