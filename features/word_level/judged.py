"""Word-level quality without labels: judgements by one kind of knowledge."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from features.basics.array_types import FloatArray
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.storage.files import digest
from features.word_level.aggregates import AGGREGATES, aggregate
from features.word_level.knowledge import KNOWLEDGE, Judgement, stem
from features.word_level.tokens import COLUMNS_VERSION, TokenResources, TokenTable, describe

_ORIGIN = "this project; synthetic data as in Tuan et al. 2021, section 3"
_LEARNED = "learned from parallel text alone, no human label; NaN for an empty translation"


@dataclass(frozen=True, eq=False)
class JudgedWords(TokenResources, Extractor):
    """16 aggregates of P(BAD) of the target words, and 16 of the gaps, by the first knowledge. Nothing is
    learned from the labels of the task: the values are the same for every segment and fold.
    """

    knowledge: Annotated[Sequence[Judgement], KNOWLEDGE]

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(
                f"{stem('word_quality', self.knowledge)}_{kind}_{a.name}",
                f"{kind}s: {a.description}, {_LEARNED}",
                _ORIGIN,
                a.unit,
            )
            for kind in ("word", "gap")
            for a in AGGREGATES
        ]

    def content_fingerprint(self) -> str:
        return digest(
            "token columns", COLUMNS_VERSION, *(each.content_fingerprint() for each in self.knowledge)
        )

    def table(self, segments: Segments) -> TokenTable:
        return describe(segments, self, frozenset(), decoder=False)

    def extract(self, segments: Segments) -> FloatArray:
        table = self.table(segments)
        words, gaps = self.knowledge[0].judged(table)
        result = np.hstack([aggregate(words, table.offsets), aggregate(gaps, table.gap_offsets)])
        result[np.diff(table.offsets) == 0] = np.nan
        return result
