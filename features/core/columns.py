"""Column: a feature and the function that computes it, in one entry."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.text.tokens import Tokens

Prepared = TypeVar("Prepared")
Batch = TypeVar("Batch")


@dataclass(frozen=True)
class Column(Generic[Prepared]):
    """A feature (name, description, source, unit) and the function that computes it.

    compute  (n,) values from the prepared batch, or a number from one prepared segment
    plain  phrase for translators (`Feature.plain`)

    >>> length = Column[list[str]]("words", "words of each text", "this project", "words", lambda texts: (
    ...     np.array([float(len(text.split())) for text in texts])))
    >>> length.feature.name, block([length], ["a house", ""]).tolist()
    ('words', [[2.0], [0.0]])
    """

    name: str
    description: str
    origin: str
    unit: str
    compute: Callable[[Prepared], NDArray[Any] | float]
    plain: str = field(default="", kw_only=True)

    @property
    def feature(self) -> Feature:
        return Feature(self.name, self.description, self.origin, self.unit, self.plain)

    def under(self, stem: str, subject: str) -> Self:
        """The same column of one of several subjects: `stem_name`, "subject: description".

        >>> Column("mean", "mean", "", "", len).under("lm_source", "source, 5-gram").feature.name
        'lm_source_mean'
        """
        return replace(self, name=f"{stem}_{self.name}", description=f"{subject}: {self.description}")

    def with_preparation(self, prepare: Callable[[Batch], Prepared]) -> "Column[Batch]":
        """The same column of a batch from which `prepare` takes this column's batch."""

        def compute(batch: Batch) -> NDArray[Any] | float:
            return self.compute(prepare(batch))

        return Column(self.name, self.description, self.origin, self.unit, compute, plain=self.plain)


def features_of(columns: Iterable[Column[Prepared]]) -> tuple[Feature, ...]:
    return tuple(column.feature for column in columns)


_OMITTED: ContextVar[Collection[str]] = ContextVar("columns left out", default=frozenset())


@contextmanager
def leaving_out(names: Collection[str]) -> Iterator[None]:
    """Features with the given names are not computed in the block: their columns are not read."""
    before = _OMITTED.set(names)
    try:
        yield
    finally:
        _OMITTED.reset(before)


def wanted(names: Iterable[str]) -> bool:
    left_out = _OMITTED.get()
    return not left_out or any(name not in left_out for name in names)


def block(columns: Iterable[Column[Prepared]], batch: Prepared) -> FloatArray:
    """(n, columns) float64: every column of a batch, in order; NaN in those that are left out."""
    listed = list(columns)
    chosen = [i for i, column in enumerate(listed) if wanted([column.name])] or [0]
    values = np.column_stack([listed[i].compute(batch) for i in chosen]).astype(np.float64, copy=False)
    if len(chosen) == len(listed):
        return values
    whole = np.full((len(values), len(listed)), np.nan)
    whole[:, chosen] = values
    return whole


ColumnGroups = Sequence[tuple[Sequence[Column[Any]], Callable[[Segments], Any]]]


class ColumnExtractor(Extractor):
    """An extractor whose features are columns, computed from a prepared batch."""

    @abstractmethod
    def column_groups(self) -> ColumnGroups:
        """Columns, and the function that prepares segments for them."""

    @property
    def features(self) -> Sequence[Feature]:
        return [column.feature for columns, _ in self.column_groups() for column in columns]

    def extract(self, segments: Segments) -> FloatArray:
        blocks = []
        for columns, prepare in self.column_groups():
            if wanted(column.name for column in columns):
                blocks.append(block(columns, prepare(segments)))
            else:
                blocks.append(np.full((len(segments), len(columns)), np.nan))
        return np.hstack(blocks)


def without_empty(values: FloatArray, *texts: Tokens) -> FloatArray:
    """The same values, changed in place: NaN in the rows of segments with an empty text."""
    for tokens in texts:
        values[tokens.lengths == 0] = np.nan
    return values
