"""Reliability of probabilities: expected calibration error (ECE) in equal-mass bins."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.text.tokens import segment_sum

BINS = 20


def equal_mass_bins(probability: FloatArray, bins: int = BINS) -> IntArray:
    """(t,) the bin of every probability; bins are about equally full.

    Equal probabilities share a bin.

    The bin is the share of lower probabilities times `bins`, rounded down.

    >>> equal_mass_bins(np.array([0.1, 0.4, 0.2, 0.2]), 2).tolist()
    [0, 1, 0, 0]
    """
    lower = np.searchsorted(np.sort(probability), probability, side="left")
    return np.asarray(lower * bins // max(len(probability), 1), np.int64)


def calibration_sums(
    gold: BoolArray, probability: FloatArray, offsets: IntArray, bins: int = BINS
) -> FloatArray:
    """(n, bins + 1) per segment: by bin, P(BAD) less the number of BAD tags; and all tags.

    P(BAD) is summed; the last column is the number of tags.

    The bins are those of all segments together. Sums over segments give `ece`.
    """
    bin_of = equal_mass_bins(probability, bins)
    columns = [segment_sum(np.where(bin_of == k, probability - gold, 0.0), offsets) for k in range(bins)]
    return np.column_stack([*columns, np.diff(offsets)]).astype(np.float64)


def ece(sums: FloatArray) -> FloatArray:
    """(..., bins + 1) sums -> (...) expected calibration error; NaN without tags.

    The mean over bins of |mean P(BAD) - share of BAD tags|, weighted by the tags in each. Source: Naeini et
    al. 2015, with bins of equal mass (Nguyen and O'Connor 2015).

    >>> float(ece(np.array([-0.5, 0.3, 4.0])))
    0.2
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.abs(sums[..., :-1]).sum(axis=-1) / sums[..., -1])


def ece_by_chance(sums: FloatArray) -> float:
    """Calibration error that true probabilities would show by chance on these segments.

    NaN for one segment.

    sums  (n, bins + 1) by segment, see `calibration_sums`

    Each bin's sum of P(BAD) less BAD tags is then noise around 0, about normal, whose variance is that of the
    segments' sums: the mean of its size is sqrt(2 / pi) standard deviations.
    """
    n = len(sums)
    if n < 2:
        return float("nan")
    spreads = np.sqrt(n * np.var(sums[:, :-1], axis=0, ddof=1))
    return float(np.sqrt(2 / np.pi) * spreads.sum() / sums[:, -1].sum())


@dataclass(frozen=True)
class Bin:
    """Mean P(BAD) and share of BAD tags of the n tags in a bin."""

    predicted: float
    observed: float
    n: int

    def to_json(self) -> dict[str, Any]:
        return vars(self).copy()


def reliability(gold: BoolArray, probability: FloatArray, bins: int = BINS) -> list[Bin]:
    """The bins that are not empty, in rising order."""
    bin_of = equal_mass_bins(probability, bins)
    return [
        Bin(float(probability[own].mean()), float(gold[own].mean()), int(own.sum()))
        for own in (bin_of == k for k in np.unique(bin_of))
    ]
