"""Groups by the predicted score."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from features.basics.array_types import FloatArray, IntArray
from qe.models.taxonomy import Column, Grouping, Taxonomy, checked_cuts, quantile_cuts


@dataclass(frozen=True)
class Prediction(Taxonomy):
    """Bands of predictions, from one of `cuts` to the next.

    There are `bands` of about one size, or bands up to `edges`.

    >>> Prediction([2.0, 3.0]).numbers(np.array([1.5, 2.0, 4.5]), np.zeros(3), ()).tolist()
    [0, 1, 2]
    """

    options: ClassVar[frozenset[str]] = frozenset({"bands", "edges"})

    cuts: list[float]

    @classmethod
    def make(cls, grouping: Grouping, predicted: FloatArray, gold: FloatArray, column: Column) -> Self:
        return cls(checked_cuts(grouping.edges) or quantile_cuts(predicted, grouping.bands))

    @property
    def size(self) -> int:
        return len(self.cuts) + 1

    def numbers(self, predicted: FloatArray, gold: FloatArray, column: Column) -> IntArray:
        return np.searchsorted(self.cuts, predicted, side="right")

    def bounds(
        self, predicted: FloatArray, reach: FloatArray, column: Column
    ) -> tuple[FloatArray, FloatArray]:
        own = reach[np.arange(len(predicted)), self.numbers(predicted, predicted, column)]
        return predicted - own, predicted + own
