"""Phrases of base forms that translate each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from features.basics.array_types import FloatArray
from features.comparisons.phrase_matches import Matches, matching_block, matching_columns
from features.core.columns import features_of
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.resources.lemma_phrase_table import LemmaPhraseTable
from features.text.lemmas import base_form_tokens

ORIGIN: Final = "Mehdad et al. 2012 (adequacy, WMT12), section 3.1: phrase table matching (PT), lemmas"


@dataclass(frozen=True, eq=False)
class LemmaPhrases(Extractor):
    """Shares of 1- to 5-grams of base forms with a translation on the other side, both ways.

    As `phrase_table` has it of tokens; base forms come from simplemma. Everything is NaN if the source or the
    target has no tokens. Raises InputError for a language without base forms.
    """

    lemma_phrase_table: LemmaPhraseTable

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(COLUMNS)

    def extract(self, segments: Segments) -> FloatArray:
        source = base_form_tokens(segments.source_tokens, segments.source_tokenizer.language)
        target = base_form_tokens(segments.target_tokens, segments.target_tokenizer.language)
        return matching_block(COLUMNS, Matches(self.lemma_phrase_table, source, target))


COLUMNS: Final = tuple(matching_columns("lemma_phrases", "base forms", ORIGIN))
