"""Groups by a column of the segments, such as their system or document."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from features.basics.array_types import FloatArray, IntArray
from qe.models.taxonomy import UNKNOWN, Column, Grouping, Taxonomy


@dataclass(frozen=True)
class ByColumn(Taxonomy):
    """One group for each of the `values` of a column.

    A row of another value has no interval (NaN).
    """

    options: ClassVar[frozenset[str]] = frozenset({"column"})

    column: str
    values: list[str]

    @classmethod
    def make(cls, grouping: Grouping, predicted: FloatArray, gold: FloatArray, column: Column) -> Self:
        assert grouping.column is not None  # the experiment's schema has checked
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
