"""How probable it is that words and gaps of the translation are wrong, learned from parallel text alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from features.basics.array_types import FloatArray
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.learned.synthetic_word_quality import SyntheticWordQuality
from features.storage.files import digest
from features.word_level.aggregates import AGGREGATES, aggregate
from features.word_level.tokens import COLUMNS_VERSION, Knowledge, TokenTable, describe

_ORIGIN = "this project; synthetic data as in Tuan et al. 2021, section 3"
_LEARNED = "learned from parallel text alone, no human label; NaN for an empty translation"


@dataclass(frozen=True, eq=False)
class SyntheticWordQualityAggregates(Knowledge, Extractor):
    """16 aggregates of P(BAD) of the target words, and 16 of the gaps, by `synthetic_word_quality`.

    Nothing is learned from the labels of the task: the values are the same for every segment and fold.
    """

    synthetic_word_quality: SyntheticWordQuality

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(
                f"word_quality_synthetic_{kind}_{a.name}",
                f"{kind}s: {a.description}, {_LEARNED}",
                _ORIGIN,
                a.unit,
            )
            for kind in ("word", "gap")
            for a in AGGREGATES
        ]

    def content_fingerprint(self) -> str:
        return digest("token columns", COLUMNS_VERSION)

    def extract(self, segments: Segments) -> FloatArray:
        table = self._table(segments)
        words, gaps = self.synthetic_word_quality.probabilities(table)
        result = np.hstack([aggregate(words, table.offsets), aggregate(gaps, table.gap_offsets)])
        result[np.diff(table.offsets) == 0] = np.nan
        return result

    def _table(self, segments: Segments) -> TokenTable:
        return describe(segments, self, frozenset(), decoder=False)
