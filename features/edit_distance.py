"""How far a segment is from the nearest segment of the corpus."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from features.core.extractor import Extractor, Feature, FloatArray
from features.core.segments import Segments
from features.core.tokens import Tokens, ratio
from features.resources.corpus_index import CorpusIndex

_UEDIN = "University of Edinburgh at WMT12, section 3.6"


@dataclass(frozen=True)
class EditDistance(Extractor):
    """Levenshtein distance to the nearest corpus segment by words, on both sides, lower-cased.

    The search for the nearest segment by words is exact. Characters (of the lower-cased tokens joined by
    blanks) are compared with that segment alone, so that theirs is an upper bound of the distance to the
    nearest segment by characters: no bound makes an exact search for that fast, as the distances of most of
    the corpus lie within a few per cent of the least.
    """

    source_index: CorpusIndex
    target_index: CorpusIndex

    @property
    def features(self) -> Sequence[Feature]:
        return [
            feature
            for side in ("source", "target")
            for feature in (
                Feature(
                    f"edit_distance_{side}_words",
                    f"least word edits between {side} and a corpus segment, per {side} token; NaN if empty",
                    _UEDIN,
                    "edits per token",
                ),
                Feature(
                    f"edit_distance_{side}_characters",
                    f"character edits between the {side} and the corpus segment nearest by words (not the "
                    "least over the corpus; of several as near the one with the least longer length minus "
                    f"shared words, then the shortest), per character of the {side}; NaN if empty",
                    _UEDIN,
                    "edits per character",
                ),
            )
        ]

    def extract(self, segments: Segments) -> FloatArray:
        sides = (
            _distances(self.source_index, segments.source_tokens),
            _distances(self.target_index, segments.target_tokens),
        )
        return np.hstack(sides)


def _distances(index: CorpusIndex, tokens: Tokens) -> FloatArray:
    """(n, 2) by words, by characters."""
    found = index.nearest(tokens)
    values = np.column_stack(
        [ratio(found.word_edits, tokens.lengths), ratio(found.character_edits, found.characters)]
    )
    values[tokens.lengths == 0] = np.nan
    return values
