"""Phrases with labels for names and numbers that translate each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from features.basics.array_types import FloatArray
from features.comparisons.phrase_matches import Matches, matching_block, matching_columns
from features.core.columns import features_of
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.resources.name_phrase_table import NamePhraseTable, with_names

ORIGIN: Final = (
    "Mehdad et al. 2012 (adequacy, WMT12), section 3.1: semantic phrase tables (SPT), entities by form"
)


@dataclass(frozen=True, eq=False)
class NamePhrases(Extractor):
    """Shares of 1- to 5-grams with a translation on the other side, labels in place of names and numbers.

    A name is a word with a capital that is not the text's first, a number a word with a digit; several in a
    row are one label. `entity_phrases` has the types of entities, from annotations. Everything is NaN if the
    source or the target has no tokens.
    """

    name_phrase_table: NamePhraseTable

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(COLUMNS)

    def extract(self, segments: Segments) -> FloatArray:
        source, target = with_names(segments.source_tokens), with_names(segments.target_tokens)
        return matching_block(COLUMNS, Matches(self.name_phrase_table, source.tokens, target.tokens))


COLUMNS: Final = tuple(matching_columns("name_phrases", "words and labels", ORIGIN))
