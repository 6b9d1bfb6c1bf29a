"""Edit distance to the nearest segment of the corpus."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import unknown_name
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.text.tokens import Tokens, ratio
from qe_papers.resources.corpus_index import CorpusIndex

_UEDIN = "University of Edinburgh at WMT12, section 3.6"
_CHARACTERS: Final = {
    "of_nearest_words": "character edits between the {side} and the corpus segment nearest by words (not the "
    "least over the corpus; of several as near the one with the least longer length minus shared words, then "
    "the shortest)",
    "nearest": "least character edits between the {side} and a corpus segment",
}


@dataclass(frozen=True)
class EditDistance(Extractor):
    """Levenshtein distance to the nearest corpus segment by words, on both sides, lower-cased.

    The search for the nearest segment by words is exact. Characters are those of the lower-cased tokens
    joined by spaces:

    characters  `of_nearest_words`: edits into the segment nearest by words, an upper bound of the minimum;
                `nearest`: the exact minimum over the corpus, at about 180 times the cost, because the
                distances of most segments are close to the minimum and bounds exclude few
    """

    plain: ClassVar[str] = "how much of the {text} is like known texts"

    source_index: CorpusIndex
    target_index: CorpusIndex
    characters: Literal["of_nearest_words", "nearest"] = "of_nearest_words"

    def __post_init__(self) -> None:
        if self.characters not in _CHARACTERS:
            raise unknown_name("`characters`", self.characters, _CHARACTERS)

    @property
    def features(self) -> Sequence[Feature]:
        features = []
        for side in ("source", "target"):
            words = f"least word edits between {side} and a corpus segment, per {side} token; NaN if empty"
            edits = _CHARACTERS[self.characters].format(side=side)
            characters, stem = f"{edits}, per character of the {side}; NaN if empty", f"edit_distance_{side}"
            features.append(Feature(f"{stem}_words", words, _UEDIN, "edits per token"))
            features.append(Feature(f"{stem}_characters", characters, _UEDIN, "edits per character"))
        return features

    def extract(self, segments: Segments) -> FloatArray:
        source = self._distances(self.source_index, segments.source_tokens)
        return np.hstack([source, self._distances(self.target_index, segments.target_tokens)])

    def _distances(self, index: CorpusIndex, tokens: Tokens) -> FloatArray:
        nearest = index.nearest(tokens, by_characters=self.characters == "nearest")
        values = np.column_stack(
            [ratio(nearest.word_edits, tokens.lengths), ratio(nearest.character_edits, nearest.characters)]
        )
        values[tokens.lengths == 0] = np.nan
        return values
