"""TokenTable: what is known of the tokens and gaps of a batch before any label is seen."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from features._word_quality.columns import Columns, Longs, matrix
from features._word_quality.keys import Keys, gap_keys, gap_sides, word_keys
from features._word_quality.labels import gap_offsets
from features._word_quality.language import language_columns, source_columns
from features._word_quality.links import aligned_links, given_links, link_columns
from features._word_quality.surface import surface_columns
from features._word_quality.translation import translation_columns
from features.core.segments import Segments
from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.ngrams import NgramCounts

# What a gap sees of the words at its sides.
GAP_COLUMNS = (
    "lm", "backward", "matched", "frequency", "ibm_highest", "ibm_pair", "posterior", "source_free_left",
    "source_free_right", "fertility", "punctuation", "jump_left", "source_fertility",
)  # fmt: skip


@dataclass(frozen=True)
class Knowledge:
    """The resources that tokens are looked up in."""

    source_lm5: LanguageModel
    target_lm: LanguageModel
    target_lm_backward: LanguageModel
    source_ngrams: NgramCounts
    target_ngrams: NgramCounts
    lexicon_source_to_target: Lexicon
    lexicon_target_to_source: Lexicon
    aligner: Aligner


@dataclass(frozen=True, eq=False)
class TokenTable:
    """n segments: their target tokens and gaps.

    words, gaps            (n_tokens, k), (n_gaps, k') columns `word_names`, `gap_names`; NaN: undefined
    word_keys, gap_keys    name -> keys for target encodings
    offsets                (n + 1,) tokens
    """

    word_names: tuple[str, ...]
    gap_names: tuple[str, ...]
    words: NDArray[np.float32]
    gaps: NDArray[np.float32]
    word_keys: dict[str, Keys]
    gap_keys: dict[str, Keys]
    offsets: Longs

    @property
    def gap_offsets(self) -> Longs:
        return gap_offsets(self.offsets)


def describe(segments: Segments, knowledge: Knowledge, use: frozenset[str]) -> TokenTable:
    """The table of a batch; `use` names the optional columns of Segments that are read."""
    links = given_links(segments) if "alignment" in use else aligned_links(segments, knowledge.aligner)
    target = segments.target_tokens
    columns: Columns = {
        **language_columns(
            target, knowledge.target_lm, knowledge.target_lm_backward, knowledge.target_ngrams
        ),
        **source_columns(segments, links, knowledge.source_lm5, knowledge.source_ngrams),
        **translation_columns(
            segments, links, knowledge.lexicon_source_to_target, knowledge.lexicon_target_to_source
        ),
        **link_columns(links, segments),
        **surface_columns(segments, links),
    }
    gaps = _gap_columns(columns, target.offsets)
    size = len(target.ids)
    return TokenTable(
        tuple(columns),
        tuple(gaps),
        matrix(columns, size),
        matrix(gaps, size + len(target)),
        word_keys(segments, links),
        gap_keys(segments),
        np.asarray(target.offsets),
    )


def _gap_columns(columns: Columns, offsets: Longs) -> Columns:
    result: Columns = {}
    for name in GAP_COLUMNS:
        values = np.asarray(columns[name], np.float64)
        result[f"left_{name}"], result[f"right_{name}"] = gap_sides(values, offsets, np.nan)
    return result
