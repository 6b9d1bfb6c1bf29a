"""DependencyAnnotation: the dependencies of one side of the corpus."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts
from features.resources.annotation import Annotation, AnnotationBuilder
from features.storage.damage import Damaged
from features.text.annotation import NOTHING, Layer
from features.text.corpus import ParallelCorpus, Side

_REMEDY = (
    "give annotators with the task `dependencies` (qe annotate train --task dependencies, spacy:NAME, "
    "stanza:LANGUAGE), or CoNLL-U with heads and relations"
)


@dataclass(frozen=True, kw_only=True)
class DependencyAnnotationBuilder(AnnotationBuilder):
    """Text alone has no dependencies: the caller makes this part with `from_blocks`."""

    what: ClassVar[str] = "dependencies"

    @property
    def remedy(self) -> str:
        return _REMEDY


@dataclass(frozen=True, eq=False)
class DependencyAnnotation(Annotation):
    """As an annotation, of heads and relations."""

    parts: ClassVar[Parts] = {"source_dependency_annotation": {"side": "source"}}
    builder: ClassVar[type[Builder]] = DependencyAnnotationBuilder
    kept: ClassVar[tuple[Layer, ...]] = ("deprel", "head")

    @classmethod
    def from_blocks(
        cls,
        corpus: ParallelCorpus,
        side: Side,
        blocks: Iterable[str],
        settings: Mapping[str, Any],
        progress: Progress = silent,
    ) -> Self:
        """As `Annotation.from_blocks`; raises InputError, too, if a word has no head."""
        made = super().from_blocks(corpus, side, blocks, settings, progress)
        if NOTHING in made.layer("head").types:
            raise InputError(
                "some words have no head", where=f"annotation of the {side} side", remedy=_REMEDY
            )
        return made

    def heads(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """The place of the head of every token of these texts in its text, from 0; -1: a root."""
        layer = self.layer("head").take(rows)
        return np.array([int(number) - 1 for number in layer.types], np.int32)[layer.ids]

    def check_arrays(self) -> None:
        super().check_arrays()
        if not all(number.isdecimal() for number in self.layer("head").types):
            raise Damaged("a head is no number")
