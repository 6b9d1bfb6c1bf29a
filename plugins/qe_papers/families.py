"""Families of columns: functions of a prepared batch, measures of annotated texts, scores of units."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

import numpy as np

from features.basics.array_types import FloatArray
from features.core.columns import Column, ColumnExtractor, ColumnGroups
from features.core.resource import Resource
from features.core.segments import Segments
from features.resources.language_model import LMScores
from features.resources.lexicon import WordScores
from features.text.annotation import Annotated
from features.text.corpus import Side
from features.text.tokens import Tokens, ratio, segment_sum

Text = TypeVar("Text")
Part = TypeVar("Part", bound=Resource)
Sides = Literal["both", "source", "target"]
SIDES: Final[tuple[Side, Side]] = ("source", "target")
ANNOTATIONS: Final = ("annotation_source", "annotation_target")


@dataclass(frozen=True, eq=False)
class BothSides(Generic[Text]):
    """Values of both sides of n segments; none for a side that no column needs."""

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


def number_and_share(
    name: str,
    description: str,
    origin: str,
    flags: Callable[[Any], Sequence[bool] | None],
    compared: str = "",
) -> tuple[Measure[Any], Measure[Any]]:
    """How many of a text's flags are true, and their share: NaN without flags; of None, both are NaN."""

    def number(text: Any) -> float:
        found = flags(text)
        return np.nan if found is None else sum(found)

    def share(text: Any) -> float:
        found = flags(text)
        return sum(found) / len(found) if found else np.nan

    counted = Measure(name, description, origin, "words", number)
    return counted, Measure(f"{name}_share", f"share of {description}{compared}", origin, "share", share)


def sides_of(sides: Sides) -> tuple[str, ...]:
    """The sides that a setting selects.

    >>> sides_of("both"), sides_of("target")
    (('source', 'target'), ('target',))
    """
    return SIDES if sides == "both" else (sides,)


def columns_of(stem: str, measure: Measure[Text], sides: Sides) -> Iterator[Column[BothSides[Text]]]:
    """The measure of every side, then source minus target, then target / source."""

    def values_of(side: str) -> Callable[[BothSides[Text]], FloatArray]:
        return lambda pair: pair.values(side, measure.measure)

    source, target = values_of("source"), values_of("target")
    name, what = f"{stem}_{measure.name}", measure.description
    for side in sides_of(sides):
        yield Column(f"{name}_{side}", f"{side}: {what}", measure.origin, measure.unit, values_of(side))
    if sides == "both":
        text = f"source less target: {what}"
        yield Column(
            f"{name}_difference", text, measure.origin, measure.unit, lambda p: source(p) - target(p)
        )
    if sides == "both" and measure.ratio:
        text = f"target / source: {what}; NaN if of none"
        yield Column(f"{name}_ratio", text, measure.origin, "ratio", lambda p: ratio(target(p), source(p)))


def save_parts(path: Path, parts: Mapping[str, Resource]) -> None:
    for name, part in parts.items():
        (path / name).mkdir()
        part.save(path / name)


def load_parts(path: Path, kind: type[Part], names: Iterable[str]) -> dict[str, Part]:
    """Loads the output of `save_parts`; raises Damaged for invalid arrays."""
    parts = {name: kind.load(path / name) for name in names}
    for part in parts.values():
        part.check_stored()
    return parts


class ColumnFamily(ColumnExtractor):
    """A family whose columns are functions of one prepared batch."""

    @property
    @abstractmethod
    def columns(self) -> Sequence[Column[Any]]:
        """The columns, in order."""

    @abstractmethod
    def prepared(self, segments: Segments) -> Any:
        """The batch from which the columns are computed."""

    def column_groups(self) -> ColumnGroups:
        return [(self.columns, self.prepared)]


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
        return [column for one in self.measures for column in columns_of(self.stem, one, self.sides)]

    def requires(self) -> tuple[str, ...]:
        return tuple(f"annotation_{side}" for side in sides_of(self.sides))

    def prepared(self, segments: Segments) -> Any:
        annotated = {side: getattr(segments, f"{side}_annotated") for side in sides_of(self.sides)}
        return BothSides(**{side: self.read(texts) for side, texts in annotated.items()})


@dataclass(frozen=True, eq=False)
class Modelled:
    """Texts of units (tags, morphemes, words) and their language model scores; all NaN for an empty text."""

    units: Tokens
    scores: LMScores

    @property
    def log10(self) -> FloatArray:
        total = segment_sum(self.scores.log10, self.scores.offsets)
        return np.where(self.units.lengths > 0, total, np.nan)

    @property
    def perplexity(self) -> FloatArray:
        return np.asarray(10 ** -ratio(self.log10, self.units.lengths + 1), np.float64)


def model_columns(
    unit: str, origin: str, stem: str, subject: str, prepare: Callable[[Any], Modelled], suffix: str = ""
) -> Iterator[Column[Any]]:
    """Language model columns of units, as in Popovic 2012 (DFKI at WMT12), sections 2.1 and 2.2."""
    end = "log10 probability, end included"
    rows: Sequence[tuple[str, str, str, Callable[[Modelled], FloatArray]]] = (
        ("log10", end, "log10", lambda m: m.log10),
        (f"per_{unit}", f"{end}, per {unit}", f"log10 per {unit}", lambda m: ratio(m.log10, m.units.lengths)),
        ("perplexity", "perplexity, end included", "choices", lambda m: m.perplexity),
    )
    for name, what, scale, compute in rows:
        text = f"{subject}: {what}; NaN for an empty text"
        yield Column(f"{stem}_{name}{suffix}", text, origin, scale, compute).with_preparation(prepare)


def translated_columns(
    stem: str, name: str, units: str, origin: str, undefined: str, lexical: Callable[[Any, Side], WordScores]
) -> Iterator[Column[Any]]:
    """IBM Model 1 columns of each side's units given the other's: log-probability, total and per unit."""
    many = units.split()[-1]

    def columns(side: Side, inverse: Side) -> Iterator[Column[Any]]:
        def log10(batch: Any) -> FloatArray:
            lengths = (np.diff(lexical(batch, s).offsets) for s in (side, inverse))
            return np.where(np.minimum(*lengths) > 0, lexical(batch, side).log10(), np.nan)

        def per_unit(batch: Any) -> FloatArray:
            return ratio(log10(batch), np.diff(lexical(batch, side).offsets))

        what, unit = f"log10 p({side} {units} | {inverse} {units}), IBM Model 1", many.removesuffix("s")
        each = f"{what}, divided by the number of {side} {many}; {undefined}"
        yield Column(f"{stem}_{side}_log10", f"{what}; {undefined}", origin, "log10", log10)
        yield Column(f"{stem}_{side}_per_{name}", each, origin, f"log10 per {unit}", per_unit)

    for side, inverse in (SIDES, SIDES[::-1]):
        yield from columns(side, inverse)
