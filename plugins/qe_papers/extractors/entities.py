"""Named entities of a segment by type, and their presence on the other side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, ClassVar, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.core.columns import Column
from features.core.segments import Segments
from features.syntax.phrase_units import ENTITY_NAMES, OTHER
from features.text.annotation import Annotated
from qe_papers.families import AnnotationFamily, BothSides, Measure, Sides, sides_of

_WLV: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1"
_UEDIN: Final = "Buck 2012 (UEdin), section 3.2"
_OWN: Final = "this project: entities of one side on the other"

TYPES: Final = ("person", "organisation", "location", OTHER)


@dataclass(frozen=True)
class Entity:
    type: str
    words: tuple[str, ...]


Named = Sequence[Entity]


@dataclass(frozen=True, eq=False)
class _Batch:
    segments: Segments
    entities: BothSides[Named]


def occurs(words: Sequence[str], text: Sequence[str]) -> bool:
    """Whether the words occur consecutively in the text.

    >>> occurs(["new", "york"], ["in", "new", "york"]), occurs(["york", "new"], ["new", "york"])
    (True, False)
    """
    length = len(words)
    return any(list(text[k : k + length]) == list(words) for k in range(len(text) - length + 1))


def _word_for_word(batch: _Batch, side: str) -> FloatArray:
    other = batch.segments.target_tokens if side == "source" else batch.segments.source_tokens
    named = batch.entities.source if side == "source" else batch.entities.target
    shares = np.full(len(named), np.nan)
    for i, entities in enumerate(named):
        text = [word.lower() for word in other.words(i)]
        if entities:
            shares[i] = np.mean([occurs(entity.words, text) for entity in entities])
    return shares


def _shared_types(batch: _Batch) -> FloatArray:
    shares = np.full(len(batch.segments), np.nan)
    for i, (source, target) in enumerate(zip(batch.entities.source, batch.entities.target, strict=True)):
        most = max(len(source), len(target))
        if most:
            shares[i] = sum(min(_count(source, t), _count(target, t)) for t in TYPES) / most
    return shares


def _count(entities: Named, kind: str) -> float:
    return sum(entity.type == kind for entity in entities)


def _has(batch: _Batch, side: str, kind: str) -> FloatArray:
    return batch.entities.values(side, lambda entities: _count(entities, kind) > 0)


def _across(sides: Sides) -> Iterator[Column[_Batch]]:
    for side in sides_of(sides):
        text = f"share of the {side}'s entities that the other side has word for word; NaN without any"
        there = partial(_word_for_word, side=side)
        yield Column(f"entities_{side}_word_for_word", text, _OWN, "share", there)
    if sides == "both":
        text = "entities with one of their type on the other side / those of the side with more; NaN if none"
        yield Column("entities_shared_types", text, _OWN, "share", _shared_types)
    for side, kind in product(sides_of(sides), TYPES):
        text, has = f"{side}: has entities of type {kind}", partial(_has, side=side, kind=kind)
        yield Column(f"entities_has_{kind}_{side}", text, _UEDIN, "0 or 1", has)


@dataclass(frozen=True)
class Entities(AnnotationFamily):
    """Entities by type, differences, entities also on the other side, and their presence.

    sides  sides annotated with entities

    An entity occurs on the other side if its lower-cased words are consecutive there. With both sides
    annotated, `shared_types` is the share of entities that can be paired with one of their type on the other
    side. Shares are NaN without an entity.

    Raises InputError for words without an entity tag.
    """

    plain: ClassVar[str] = "names and numbers in source and translation"

    sides: Sides = "both"

    stem = "entities"
    measures = (
        *(Measure(f"{t}", f"entities of type {t}", _WLV, "words", partial(_count, kind=t)) for t in TYPES),
        Measure("all", "entities", _WLV, "words", len),
    )

    @property
    def columns(self) -> Sequence[Column[Any]]:
        counted: Iterator[Column[_Batch]] = (
            column.with_preparation(lambda batch: batch.entities) for column in super().columns
        )
        return (*counted, *_across(self.sides))

    def read(self, annotated: Annotated) -> list[Named]:
        result: list[Named] = []
        for i, spans in enumerate(annotated.entities):
            words = [word.lower() for word in annotated.tokens.words(i)]
            kinds = [(ENTITY_NAMES.get(t.upper(), OTHER), tuple(words[a:b])) for a, b, t in spans]
            result.append([Entity(*entity) for entity in kinds])
        return result

    def prepared(self, segments: Segments) -> _Batch:
        return _Batch(segments, super().prepared(segments))
