"""Groups of segments by a column, by label, and by predicted score."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np

from features.basics.array_types import FloatArray, IntArray
from features.basics.errors import InputError
from qe.models.taxonomy import TAXONOMIES, UNKNOWN, Column, Grouping, Taxonomy


@TAXONOMIES.register("column")
@dataclass(frozen=True)
class ByColumn(Taxonomy):
    """One group for each of the `values` of a column; other rows have no interval (NaN)."""

    options: ClassVar[frozenset[str]] = frozenset({"column"})

    column: str
    values: list[str]

    @classmethod
    def make(cls, grouping: Grouping, predicted: FloatArray, gold: FloatArray, column: Column) -> Self:
        assert grouping.column is not None  # checked by the experiment's schema
        return cls(grouping.column, sorted({*column}))

    @property
    def reads(self) -> str | None:
        return self.column

    @property
    def size(self) -> int:
        return len(self.values)

    def numbers(self, predicted: FloatArray, gold: FloatArray, column: Column) -> IntArray:
        places = {value: number for number, value in enumerate(self.values)}
        return np.array([places.get(value, UNKNOWN) for value in column], np.int64)

    def bounds(
        self, predicted: FloatArray, reach: FloatArray, column: Column
    ) -> tuple[FloatArray, FloatArray]:
        numbers = self.numbers(predicted, predicted, column)
        own = np.where(numbers == UNKNOWN, np.nan, reach[np.arange(len(predicted)), numbers])
        return predicted - own, predicted + own

    def extended(self, column: Column) -> Self:
        return replace(self, values=self.values + sorted({*column} - {*self.values}))


@dataclass(frozen=True)
class _Bands(Taxonomy):
    options: ClassVar[frozenset[str]] = frozenset({"bands", "edges"})

    cuts: list[float]

    @property
    def size(self) -> int:
        return len(self.cuts) + 1

    @classmethod
    def of_values(cls, grouping: Grouping, values: FloatArray) -> Self:
        """Bands between the edges of `grouping`, or of about equal size; fewer if values tie."""
        edges, bands = grouping.edges, grouping.bands
        if any(high <= low for low, high in pairwise(edges)):
            raise InputError(f"`edges` must rise, but are {list(edges)}", location="intervals.edges")
        if edges:
            return cls(list(map(float, edges)))
        inner = np.quantile(values, np.arange(1, bands) / bands)
        return cls(sorted({float(cut) for cut in inner if cut > values.min()}))


@TAXONOMIES.register("label")
@dataclass(frozen=True)
class Label(_Bands):
    """Bands of labels, each with its own coverage, also bands of poor translations.

    A new segment's label is unknown, so a label is possible if it is within the reach of its band, and the
    interval spans all possible labels. It contains at least a share `level` of every band for exchangeable
    segments, and is wider than other intervals. If no label is possible, the interval is the prediction
    itself. Source: label-conditional conformal prediction (Vovk, Gammerman and Shafer 2005, 4.5), its set
    filled up to an interval.
    """

    @classmethod
    def make(cls, grouping: Grouping, predicted: FloatArray, gold: FloatArray, column: Column) -> Self:
        return cls.of_values(grouping, gold)

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


@TAXONOMIES.register("prediction")
@dataclass(frozen=True)
class Prediction(_Bands):
    """Bands of predicted scores."""

    @classmethod
    def make(cls, grouping: Grouping, predicted: FloatArray, gold: FloatArray, column: Column) -> Self:
        return cls.of_values(grouping, predicted)

    def numbers(self, predicted: FloatArray, gold: FloatArray, column: Column) -> IntArray:
        return np.searchsorted(self.cuts, predicted, side="right")

    def bounds(
        self, predicted: FloatArray, reach: FloatArray, column: Column
    ) -> tuple[FloatArray, FloatArray]:
        own = reach[np.arange(len(predicted)), self.numbers(predicted, predicted, column)]
        return predicted - own, predicted + own
