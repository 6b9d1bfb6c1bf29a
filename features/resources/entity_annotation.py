"""EntityAnnotation: the entities of one side of the corpus."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts
from features.resources.annotation import Annotation, AnnotationBuilder
from features.text.annotation import NOTHING, Layer
from features.text.corpus import ParallelCorpus, Side

_REMEDY = (
    "give annotators with the task `entities` (qe annotate train --task entities, spacy:NAME, "
    "stanza:LANGUAGE), or CoNLL-U with NER= in MISC; `units: name` needs no entities"
)


@dataclass(frozen=True, kw_only=True)
class EntityAnnotationBuilder(AnnotationBuilder):
    """Text alone has no entities: the caller makes this part with `from_blocks`."""

    what: ClassVar[str] = "entities"

    @property
    def remedy(self) -> str:
        return _REMEDY


@dataclass(frozen=True, eq=False)
class EntityAnnotation(Annotation):
    """As an annotation, of entity tags alone: `B-PER`, `I-PER`, `O`."""

    parts: ClassVar[Parts] = {
        "source_entity_annotation": {"side": "source"},
        "target_entity_annotation": {"side": "target"},
    }
    builder: ClassVar[type[Builder]] = EntityAnnotationBuilder
    kept: ClassVar[tuple[Layer, ...]] = ("entity",)

    @classmethod
    def from_blocks(
        cls,
        corpus: ParallelCorpus,
        side: Side,
        blocks: Iterable[str],
        settings: Mapping[str, Any],
        progress: Progress = silent,
    ) -> Self:
        """As `Annotation.from_blocks`; raises InputError, too, if a word has no entity tag."""
        where = f"annotation of the {side} side"
        made = super().from_blocks(corpus, side, _tagged(blocks, where), settings, progress)
        if NOTHING in made.layer("entity").types:
            raise InputError("some words have no entity tag", where=where, remedy=_REMEDY)
        return made


def _tagged(blocks: Iterable[str], where: str) -> Iterator[str]:
    """The blocks; the first that has no entity tag at all ends it, before all others are made."""
    for number, block in enumerate(blocks, start=1):
        if "ner=" not in block.lower():
            raise InputError(f"block {number} has no entity tags", where=where, remedy=_REMEDY)
        yield block
