"""Groups by the label itself: every band of labels, bad ones too, gets its coverage."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from features.basics.array_types import FloatArray, IntArray
from qe.models.taxonomy import Column, Grouping, Taxonomy, checked_cuts, quantile_cuts


@dataclass(frozen=True)
class Label(Taxonomy):
    """Bands of labels, from one of `cuts` to the next.

    There are `bands` of about one size, or bands up to `edges`.

    A new segment's label is not known. A label is possible if it lies within the reach of its own band, and
    the interval goes from the lowest possible label to the highest: it holds a share of every band that is at
    least the level, for exchangeable segments, and is wider than others for that. If no label is
    possible, the interval is the prediction itself.

    Source: label-conditional conformal prediction (Vovk, Gammerman and Shafer 2005, 4.5), its set filled up
    to an interval.
    """

    options: ClassVar[frozenset[str]] = frozenset({"bands", "edges"})

    cuts: list[float]

    @classmethod
    def make(cls, grouping: Grouping, predicted: FloatArray, gold: FloatArray, column: Column) -> Self:
        return cls(checked_cuts(grouping.edges) or quantile_cuts(gold, grouping.bands))

    @property
    def size(self) -> int:
        return len(self.cuts) + 1

    def numbers(self, predicted: FloatArray, gold: FloatArray, column: Column) -> IntArray:
        return np.searchsorted(self.cuts, gold, side="right")

    def bounds(
        self, predicted: FloatArray, reach: FloatArray, column: Column
    ) -> tuple[FloatArray, FloatArray]:
        ends = np.array([-np.inf, *self.cuts, np.inf])
        low = np.maximum(predicted[:, None] - reach, ends[:-1])
        high = np.minimum(predicted[:, None] + reach, ends[1:])
        possible = low <= high
        nothing = ~possible.any(axis=1)
        lowest = np.where(possible, low, np.inf).min(axis=1)
        highest = np.where(possible, high, -np.inf).max(axis=1)
        return np.where(nothing, predicted, lowest), np.where(nothing, predicted, highest)
