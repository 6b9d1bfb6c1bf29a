"""Mutual information of the words of a segment and its translation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from qe_papers.resources.triggers import Triggers

_LORIA = "LORIA at WMT12, section 4, equation 1"


@dataclass(frozen=True)
class TriggerScores(Extractor):
    """Intra-lingual and cross-lingual mutual information of words, counted by token.

    A word has none with itself. Rare and unseen pairs count 0.
    """

    plain: ClassVar[str] = "words that usually go together"

    source_triggers: Triggers
    target_triggers: Triggers
    cross_triggers: Triggers

    @property
    def features(self) -> Sequence[Feature]:
        within = "mean mutual information of each {} word with the others; NaN below two words"
        across = "mean mutual information of each target word with the source words; NaN if a side is empty"
        return [
            Feature("triggers_source", within.format("source"), _LORIA, "nats"),
            Feature("triggers_target", within.format("target"), _LORIA, "nats"),
            Feature("triggers_cross", across, _LORIA, "nats"),
        ]

    def extract(self, segments: Segments) -> FloatArray:
        source, target = segments.source_tokens, segments.target_tokens
        columns = (
            self.source_triggers.within(source),
            self.target_triggers.within(target),
            self.cross_triggers.across(target, source),
        )
        return np.column_stack(columns)
