"""Families of columns: functions of a prepared batch, or measures of both sides of a segment."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from features.basics.array_types import FloatArray
from features.core.columns import Column, block, features_of
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.text.annotation import Annotated
from features.text.tokens import ratio

Text = TypeVar("Text")
Sides = Literal["both", "source", "target"]


@dataclass(frozen=True, eq=False)
class BothSides(Generic[Text]):
    """Values of both sides of n segments; None for a side that no column needs."""

    source: Sequence[Text] = ()
    target: Sequence[Text] = ()

    def values(self, side: str, measure: Callable[[Text], float]) -> FloatArray:
        texts = self.source if side == "source" else self.target
        return np.array([measure(text) for text in texts], np.float64)


@dataclass(frozen=True)
class Measure(Generic[Text]):
    """A measure of a text; `ratio` adds the column target / source."""

    name: str
    description: str
    origin: str
    unit: str
    measure: Callable[[Text], float]
    ratio: bool = False


def sides_of(sides: Sides) -> tuple[str, ...]:
    """The sides that a setting selects.

    >>> sides_of("both"), sides_of("target")
    (('source', 'target'), ('target',))
    """
    return ("source", "target") if sides == "both" else (sides,)


def columns_of(
    stem: str, measures: Sequence[Measure[Text]], sides: Sides
) -> Iterator[Column[BothSides[Text]]]:
    """Every measure of every side, then source minus target, then target / source."""
    for measure in measures:
        for side in sides_of(sides):
            yield Column(
                f"{stem}_{measure.name}_{side}", f"{side}: {measure.description}", measure.origin,
                measure.unit, partial(BothSides.values, side=side, measure=measure.measure),
            )  # fmt: skip
        if sides == "both":
            yield Column(
                f"{stem}_{measure.name}_difference", f"source less target: {measure.description}",
                measure.origin, measure.unit, partial(_difference, measure=measure.measure),
            )  # fmt: skip
        if sides == "both" and measure.ratio:
            yield Column(
                f"{stem}_{measure.name}_ratio", f"target / source: {measure.description}; NaN if of none",
                measure.origin, "ratio", partial(_ratio, measure=measure.measure),
            )  # fmt: skip


def _difference(pair: BothSides[Text], measure: Callable[[Text], float]) -> FloatArray:
    return pair.values("source", measure) - pair.values("target", measure)


def _ratio(pair: BothSides[Text], measure: Callable[[Text], float]) -> FloatArray:
    return ratio(pair.values("target", measure), pair.values("source", measure))


class ColumnFamily(Extractor):
    """A family whose columns are functions of a prepared batch."""

    @property
    @abstractmethod
    def columns(self) -> Sequence[Column[Any]]:
        """The columns, in order."""

    @abstractmethod
    def prepared(self, segments: Segments) -> Any:
        """The batch from which the columns are computed."""

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(self.columns)

    def extract(self, segments: Segments) -> FloatArray:
        return block(self.columns, self.prepared(segments))


@dataclass(frozen=True)
class AnnotationFamily(ColumnFamily):
    """Measures of annotated texts, the output of `read`, of each side, with difference and ratio."""

    stem: ClassVar[str]
    measures: ClassVar[Sequence[Measure[Any]]] = ()

    sides: Sides = "target"

    @abstractmethod
    def read(self, annotated: Annotated) -> Sequence[Any]:
        """Parsed annotations (n,) of a side, the input of the measures."""

    @property
    def columns(self) -> Sequence[Column[Any]]:
        return tuple(columns_of(self.stem, self.measures, self.sides))

    def requires(self) -> tuple[str, ...]:
        return tuple(f"annotation_{side}" for side in sides_of(self.sides))

    def prepared(self, segments: Segments) -> Any:
        annotated = {side: getattr(segments, f"{side}_annotated") for side in sides_of(self.sides)}
        return BothSides(**{side: self.read(texts) for side, texts in annotated.items()})
