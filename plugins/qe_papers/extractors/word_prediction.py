"""Neural networks that predict the words of a translation from those of its source."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from qe_papers.resources.word_prediction import WordPrediction

_UEDIN: Final = "Buck 2012 (UEdin), section 3.5"
_KINDS: Final = {"filtered": "kept words", "hashed": "hashed words"}


@dataclass(frozen=True)
class WordPredictionScores(Extractor):
    """NNdist, NNprob+, HNNdist and HNNprob+: distance and mean prediction of two networks.

    Distances are between the predicted and the actual target vector; means are geometric, over predictions
    for the words of the translation. NaN if source or translation has no word known to the network. The
    filtered network uses words from files, as in the paper (`resources: {read: {source_kept_words: FILE,
    target_kept_words: FILE}}`), or the most frequent words of the corpus. Networks are trained on `pairs` of
    the corpus, evenly spaced: 30,000 unless `resources: {settings: {word_prediction_hashed: {pairs: N}}}`
    sets another number.
    """

    plain: ClassVar[str] = "how predictable the words of the translation are"

    word_prediction_filtered: WordPrediction
    word_prediction_hashed: WordPrediction

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(f"word_prediction_{kind}_{name}", f"{what}, by a network of {of}", _UEDIN, unit)
            for kind, of in _KINDS.items()
            for name, what, unit in (
                ("distance", "Euclidean distance of predicted and observed words", "distance"),
                ("probability", "geometric mean probability of the observed words", "probability"),
            )
        ]

    def extract(self, segments: Segments) -> FloatArray:
        sides = segments.source_tokens, segments.target_tokens
        scores = [getattr(self, f"word_prediction_{kind}").score(*sides) for kind in _KINDS]
        return np.column_stack([column for pair in scores for column in pair])
