"""EntityPhraseTable: phrase pairs in which the types of entities take their place."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np

from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts
from features.resources._labels import NONE, Labelled, labelled, moved
from features.resources.entity_annotation import EntityAnnotation
from features.resources.phrase_table import PhraseTable, PhraseTableBuilder
from features.syntax.entity_types import EXPRESSIONS, OTHER
from features.text.annotation import OUTSIDE
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from features.text.tokens import Tokens

TYPES: Final = ("person", "organisation", "location", "date", "number", OTHER)
LABELS: Final = tuple(f"<{name}>" for name in TYPES)
_NUMBER: Final = TYPES.index("number")


@dataclass(frozen=True, kw_only=True)
class EntityPhraseTableBuilder(PhraseTableBuilder):
    """Aligns the words, and extracts phrases of the text with types of entities in their place."""

    source_entity_annotation: EntityAnnotation
    target_entity_annotation: EntityAnnotation

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "EntityPhraseTable":
        links = self.aligner.align(corpus.source, corpus.target, self.symmetrization, progress=progress)
        provenance = {"symmetrization": self.symmetrization, "aligner": self.aligner.fingerprint}
        entities = self.source_entity_annotation, self.target_entity_annotation
        return EntityPhraseTable.from_entities(
            corpus, links, entities, self.longest, self.minimum, provenance, progress=progress
        )


@dataclass(frozen=True, eq=False)
class EntityPhraseTable(PhraseTable):
    """As a phrase table, of text with `<person>`, ... in place of entities: the links are those of the words.

    Source: Mehdad et al. 2012 (adequacy, WMT12), section 3.1 (SPT); there the labelled text is aligned anew.
    """

    parts: ClassVar[Parts] = {"entity_phrase_table": {}}
    builder: ClassVar[type[Builder]] = EntityPhraseTableBuilder

    @classmethod
    def from_entities(
        cls,
        corpus: ParallelCorpus,
        links: Links,
        entities: tuple[EntityAnnotation, EntityAnnotation],
        longest: int = 5,
        minimum: int = 2,
        provenance: Mapping[str, Any] | None = None,
        *,
        progress: Progress = silent,
    ) -> Self:
        """From the links of the words, and the entities of both sides; otherwise as `from_links`."""
        links.check(corpus.source.lengths, corpus.target.lengths, "links")
        source = with_entities(corpus.source, entities[0].layer("entity"))
        target = with_entities(corpus.target, entities[1].layer("entity"))
        made = replace(corpus, source=source.tokens, target=target.tokens)
        links = moved(links, source, target, (corpus.source, corpus.target))
        settings = {**(provenance or {}), "entities": [side.fingerprint for side in entities]}
        return cls.from_links(made, links, longest, minimum, settings, progress=progress)


def with_entities(tokens: Tokens, tags: Tokens) -> Labelled:
    """The texts with the types of entities in their place; words with a digit in no entity are numbers.

    tags  (as tokens) `B-PER`, `I-PER`, `O`

    >>> tokens = Tokens.from_lists([["Ana", "Gil", "paid", "1,200", "euros"]])
    >>> tags = Tokens.from_lists([["B-PER", "I-PER", "O", "O", "O"]])
    >>> with_entities(tokens, tags).tokens.words(0)
    ['<person>', 'paid', '<number>', 'euros']
    """
    of_tags = np.array([_label(tag) for tag in tags.types], np.int64)
    numbers = np.array([any(map(str.isdigit, word)) for word in tokens.types], bool)
    if not len(tokens.ids):
        return labelled(tokens, np.empty(0, np.int64), LABELS)
    labels = of_tags[tags.ids]
    labels = np.where((labels == NONE) & numbers[tokens.ids], _NUMBER, labels)
    return labelled(tokens, labels, LABELS)


def _label(tag: str) -> int:
    if tag == OUTSIDE:
        return NONE
    return TYPES.index(EXPRESSIONS.get(tag.partition("-")[2].upper(), OTHER))
