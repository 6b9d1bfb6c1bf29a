"""Phrases of stems that translate each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from features.basics.array_types import FloatArray
from features.comparisons.phrase_matches import Matches, matching_block, matching_columns
from features.core.columns import features_of
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.resources.stem_phrase_table import StemPhraseTable
from features.text.stems import truncated

ORIGIN: Final = "Mehdad et al. 2012 (adequacy, WMT12), section 3.1: phrase table matching (PT), stems"


@dataclass(frozen=True, eq=False)
class StemPhrases(Extractor):
    """Shares of 1- to 5-grams of stems with a translation on the other side, both ways.

    As `phrase_table` has it of tokens; a stem is the first five letters of a word. Everything is NaN if the
    source or the target has no tokens.
    """

    stem_phrase_table: StemPhraseTable

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(COLUMNS)

    def extract(self, segments: Segments) -> FloatArray:
        source, target = truncated(segments.source_tokens), truncated(segments.target_tokens)
        return matching_block(COLUMNS, Matches(self.stem_phrase_table, source, target))


COLUMNS: Final = tuple(matching_columns("stem_phrases", "stems", ORIGIN))
