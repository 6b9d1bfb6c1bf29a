"""Topics of a segment and its translation, and their distance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.text.tokens import ratio
from qe_papers.resources.topic_model import TopicModel

_DCU = "DCU-SYMC at WMT12, section 3.1"


def cosine(first: FloatArray, right: FloatArray) -> FloatArray:
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(right, axis=1)
    return ratio((first * right).sum(axis=1), norms)


def _jensen_shannon(first: FloatArray, right: FloatArray) -> FloatArray:
    middle = (first + right) / 2
    divergences = [(shares * np.log2(shares / middle)).sum(axis=1) for shares in (first, right)]
    return np.asarray((divergences[0] + divergences[1]) / 2)


DISTANCES: tuple[tuple[str, str, str, Callable[[FloatArray, FloatArray], FloatArray]], ...] = (
    ("cosine", "cosine", "cosine", cosine),
    ("manhattan", "Manhattan distance", "share", lambda a, b: np.abs(a - b).sum(axis=1)),
    ("euclidean", "Euclidean distance", "share", lambda a, b: np.linalg.norm(a - b, axis=1)),
    ("jensen_shannon", "Jensen-Shannon divergence", "bits", _jensen_shannon),
)


@dataclass(frozen=True)
class Topics(Extractor):
    """Topic shares of source and target in a bilingual topic model, and distances.

    `topic_model: sampled_topic_model` uses a model trained by Gibbs sampling without stop words, like
    DCU-SYMC. Shares and distances are NaN for a text without words of the model.
    """

    plain: ClassVar[str] = "what the {text} is about"

    topic_model: TopicModel

    @property
    def features(self) -> Sequence[Feature]:
        numbers = range(1, self.topic_model.topics + 1)
        shares = [
            (f"{side}_{k}", f"share of topic {k} in the {side}; NaN without topical words", "share")
            for side in ("source", "target")
            for k in numbers
        ]
        undefined = "of the topic shares of source and target; NaN if one has no topical words"
        distances = [(name, f"{what} {undefined}", unit) for name, what, unit, _ in DISTANCES]
        return [Feature(f"topics_{name}", what, _DCU, unit) for name, what, unit in (*shares, *distances)]

    def extract(self, segments: Segments) -> FloatArray:
        source, of_source = self.topic_model.shares(segments.source_tokens, "source")
        target, of_target = self.topic_model.shares(segments.target_tokens, "target")
        distances = np.column_stack([function(source, target) for *_, function in DISTANCES])
        distances[~(of_source & of_target)] = np.nan
        source[~of_source], target[~of_target] = np.nan, np.nan
        return np.hstack([source, target, distances])
