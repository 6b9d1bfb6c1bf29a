"""Phrases with the types of entities in their place that translate each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from features.basics.array_types import FloatArray
from features.comparisons.phrase_matches import Matches, matching_block, matching_columns
from features.core.columns import features_of
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.resources.entity_phrase_table import EntityPhraseTable, with_entities
from features.text.annotation import Annotated
from features.text.tokens import Tokens

ORIGIN: Final = "Mehdad et al. 2012 (adequacy, WMT12), section 3.1: semantic phrase tables (SPT)"


@dataclass(frozen=True, eq=False)
class EntityPhrases(Extractor):
    """Shares of 1- to 5-grams with a translation on the other side, types of entities in their place.

    Types are person, organisation, location, date, number and other; several of one type in a row are one
    token, and a word with a digit is a number wherever the annotator sees no entity. Everything is NaN if the
    source or the target has no tokens.

    Raises InputError for words without an entity tag. `name_phrases` needs no annotation.
    """

    entity_phrase_table: EntityPhraseTable

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(COLUMNS)

    def requires(self) -> tuple[str, ...]:
        return "annotation_source", "annotation_target"

    def extract(self, segments: Segments) -> FloatArray:
        source = with_entities(segments.source_tokens, _tags(segments.source_annotated))
        target = with_entities(segments.target_tokens, _tags(segments.target_annotated))
        return matching_block(COLUMNS, Matches(self.entity_phrase_table, source.tokens, target.tokens))


def _tags(annotated: Annotated) -> Tokens:
    """The entity tag of every word; raises InputError where a word has none."""
    _ = annotated.entities
    return annotated.layer("entity")


COLUMNS: Final = tuple(matching_columns("entity_phrases", "words and types of entities", ORIGIN))
