"""Probabilities of target words given the source and their neighbours, by a neural predictor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.decoder_output.statistics import ascending, quantile
from features.resources.aligner import Aligner
from features.resources.predictor import Predictor
from features.text.tokens import segment_max, segment_mean, segment_min

_ORIGIN: Final = "this project, after the predictor of Kim et al. 2017"
_QUANTILES: Final = (0.1, 0.25, 0.5)
_NATS: Final = (-3.0, -6.0)  # below them a word is a surprise
_RANKS: Final = (1, 10)


@dataclass(frozen=True, eq=False)
class PredictorScores(Extractor):
    """Log-probabilities, ranks, margins and entropies of the target words, over a segment.

    Everything is NaN for an empty translation.
    """

    plain: ClassVar[str] = "how predictable the words of the translation are"

    aligner: Aligner
    predictor: Predictor

    @property
    def features(self) -> Sequence[Feature]:
        described = {
            "mean": ("mean log-probability of the words, given source and neighbours", "nats"),
            "minimum": ("lowest log-probability", "nats"),
            **{f"quantile_{q:g}": (f"{q:g} quantile of the log-probabilities", "nats") for q in _QUANTILES},
            **{f"below_{-n:g}": (f"share of words below {n:g} nats", "share") for n in _NATS},
            "mean_rank": ("mean of log(1 + words that are more probable)", "log count"),
            **{f"first_{r}": (f"share of words among the {r} most probable", "share") for r in _RANKS},
            "mean_margin": ("mean of the best word's log-probability less the word's", "nats"),
            "highest_margin": ("highest of them", "nats"),
            "mean_entropy": ("mean entropy of the predictions", "nats"),
            "surprise": ("mean log-probability plus mean entropy", "nats"),
        }
        return [
            Feature(f"predictor_{name}", f"{what}; undefined without words", _ORIGIN, unit)
            for name, (what, unit) in described.items()
        ]

    def extract(self, segments: Segments) -> FloatArray:
        source, target = segments.source_tokens, segments.target_tokens
        links = self.aligner.align(source, target, "source-target", batch=500)
        predicted = self.predictor.predict(source, target, links)
        offsets, log = np.asarray(target.offsets), predicted.log_probability
        rising = ascending(log, offsets)
        mean, entropy = segment_mean(log, offsets), segment_mean(predicted.entropy, offsets)
        columns = [
            mean,
            segment_min(log, offsets),
            *(quantile(rising, offsets, q) for q in _QUANTILES),
            *(segment_mean(log < n, offsets) for n in _NATS),
            segment_mean(predicted.rank, offsets),
            *(segment_mean(predicted.rank < np.log1p(r) - 1e-4, offsets) for r in _RANKS),
            segment_mean(predicted.margin, offsets),
            segment_max(predicted.margin, offsets),
            entropy,
            mean + entropy,
        ]
        return np.column_stack(columns)
