"""Share of function words in a text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.resources.stop_words import StopWords
from features.text.tokens import Tokens, segment_mean

_LIMSI: Final = "Wisniewski et al. 2012 (LIMSI), appendix A"


@dataclass(frozen=True)
class FunctionWords(Extractor):
    """Shares of tokens that are function words, lower-cased; NaN for a text without tokens.

    The words come from a list (`resources: {read: {source_stop_words: FILE, ...}}`), or are the most frequent
    words of the corpus.
    """

    plain: ClassVar[str] = "how many small words like `of` and `the` the {text} has"

    source_stop_words: StopWords
    target_stop_words: StopWords

    @property
    def features(self) -> Sequence[Feature]:
        what = "share of tokens that are function words"
        sides = ("source", "target")
        return [Feature(f"function_words_{side}_share", f"{side}: {what}", _LIMSI, "share") for side in sides]

    def extract(self, segments: Segments) -> FloatArray:
        source = _share(segments.source_tokens, self.source_stop_words)
        return np.column_stack([source, _share(segments.target_tokens, self.target_stop_words)])


def _share(tokens: Tokens, listed: StopWords) -> FloatArray:
    lowered, words = tokens.lower(), frozenset(listed.words)
    by_type = np.fromiter((word in words for word in lowered.types), bool, len(lowered.types))
    return segment_mean(by_type[lowered.ids], lowered.offsets)
