"""Likelihood of the target words given all source words: the discriminative word lexicon."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.resources.word_lexicon import WordLexicon
from features.text.tokens import ratio, segment_max, segment_sum

_UEDIN = "University of Edinburgh at WMT12, section 3.4"
_UNDEFINED = "words without a classifier do not count; NaN if no word has one"


@dataclass(frozen=True)
class WordLexiconScores(Extractor):
    """Geometric mean and minimum of p(target word | source words), and their logarithms."""

    plain: ClassVar[str] = "whether the words translate each other"

    word_lexicon: WordLexicon

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(f"word_lexicon_{name}", f"{what} of the target words; {_UNDEFINED}", origin, unit)
            for name, what, origin, unit in (
                ("mean", "geometric mean of the probabilities", f"{_UEDIN}, equation 3", "probability"),
                ("min", "least probability", f"{_UEDIN}, equation 4", "probability"),
                ("mean_log10", "mean log10 probability", f"{_UEDIN}, equation 3", "log10"),
                ("min_log10", "least log10 probability", f"{_UEDIN}, equation 4", "log10"),
            )
        ]

    def extract(self, segments: Segments) -> FloatArray:
        values = self.word_lexicon.log_probability(segments.source_tokens, segments.target_tokens) / np.log(
            10
        )
        offsets = segments.target_tokens.offsets
        known = np.isfinite(values)
        mean = ratio(segment_sum(np.where(known, values, 0.0), offsets), segment_sum(known, offsets))
        least = -segment_max(np.where(known, -values, -np.inf), offsets)
        least[np.isinf(least)] = np.nan
        return np.column_stack([10**mean, 10**least, mean, least])
