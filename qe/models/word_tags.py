"""WordTags: calibrates P(BAD) of words, gaps and source words, and tags them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from features.basics.array_types import BoolArray, FloatArray
from features.storage.damage import Damaged
from qe.evaluation.word_level import best_threshold, check_threshold_metric
from qe.models.artifact import Artifact

METRICS = ("f1_mult", "mcc")  # metrics with a stored threshold
DIGITS = 6  # decimals of probabilities, so that a written probability agrees with its tag
_EDGE = 1e-6  # distance of clipped probabilities from 0 and 1
_REGULARISATION = 1e6  # scikit-learn's C: almost no regularisation


@dataclass(frozen=True)
class PlaceTags:
    """Calibration and thresholds for one kind of place (word, gap, source).

    slope, intercept  calibrated log-odds are slope * log-odds + intercept (Platt 1999)
    f1_mult, mcc      thresholds on calibrated P(BAD) with the best metric on training rows
    n, bad            number of places in training rows, and of BAD ones
    """

    slope: float
    intercept: float
    f1_mult: float
    mcc: float
    n: int
    bad: int

    @classmethod
    def fit(cls, bad: BoolArray, probability: FloatArray) -> Self | None:
        """Fits (t,) tags and held-out P(BAD); None if only one tag occurs."""
        from sklearn.linear_model import LogisticRegression

        if bad.all() or not bad.any():
            return None
        platt = LogisticRegression(C=_REGULARISATION).fit(_log_odds(probability)[:, np.newaxis], bad)
        slope, intercept = float(platt.coef_[0, 0]), float(platt.intercept_[0])
        n, there = len(bad), int(bad.sum())
        if slope <= 0:  # uninformative probabilities: all places get the same one and are OK
            return cls(0.0, float(_log_odds(np.array([there / n]))[0]), f1_mult=1.0, mcc=1.0, n=n, bad=there)
        calibrated = _calibrated(probability, slope, intercept)
        f1_mult, mcc = (best_threshold(bad, calibrated, metric) for metric in METRICS)
        return cls(slope, intercept, f1_mult, mcc, n=n, bad=there)

    def probability(self, probability: FloatArray) -> FloatArray:
        """Calibrated P(BAD) (t,), rounded as written."""
        return _calibrated(probability, self.slope, self.intercept)

    def threshold(self, metric: str) -> float:
        """Minimum calibrated P(BAD) of a BAD word; raises InputError for an unknown metric."""
        check_threshold_metric(metric)
        return float(getattr(self, metric))


@dataclass(frozen=True)
class WordTags(Artifact):
    """Word tagger of a model; `insertions` is the mean number of words that a BAD gap lacks."""

    file: ClassVar[str] = "word_tags"
    noun: ClassVar[str] = "the calibration of word tags"

    places: Mapping[str, PlaceTags]
    insertions: float

    def check_arrays(self) -> None:
        if not 1 <= self.insertions < np.inf:
            raise Damaged(f"`insertions` must be 1 or more, but is {self.insertions:g}")
        for kind, tags in self.places.items():
            if not (0 <= tags.slope < np.inf and np.isfinite(tags.intercept)):
                raise Damaged(f"the calibration of `{kind}` must have a finite slope of 0 or more")
            for metric in METRICS:
                if not 0 <= tags.threshold(metric) <= 1:
                    raise Damaged(f"`places.{kind}.{metric}` must be in 0 .. 1")


def _log_odds(probability: FloatArray) -> FloatArray:
    kept = np.clip(np.asarray(probability, np.float64), _EDGE, 1 - _EDGE)
    return np.asarray(np.log(kept / (1 - kept)))


def _calibrated(probability: FloatArray, slope: float, intercept: float) -> FloatArray:
    return np.asarray(np.round(1 / (1 + np.exp(-(slope * _log_odds(probability) + intercept))), DIGITS))
