"""WordTags: calibrates P(BAD) of words, gaps and source words, and tags them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from features.basics.array_types import BoolArray, FloatArray
from features.storage.damage import Damaged
from qe.evaluation.word_level import best_threshold, check_threshold_metric
from qe.models.artifact import Artifact

METRICS = ("f1_mult", "mcc")  # of which thresholds are kept
DIGITS = 6  # of probabilities, so that a written probability and its tag agree
_EDGE = 1e-6  # probabilities are kept this far from 0 and 1 in log-odds
_REGULARISATION = 1e6  # C of scikit-learn: as good as none


@dataclass(frozen=True)
class PlaceTags:
    """Calibration and thresholds of places of one kind (word, gap, source).

    slope, intercept  calibrated log-odds are slope * log-odds + intercept (Platt 1999)
    f1_mult, mcc      the thresholds on calibrated P(BAD) that gave the best tags of training rows
    n, bad            how many places of training rows these come from, and how many of them are BAD
    """

    slope: float
    intercept: float
    f1_mult: float
    mcc: float
    n: int
    bad: int

    @classmethod
    def fit(cls, bad: BoolArray, probability: FloatArray) -> Self | None:
        """From (t,) tags, and P(BAD) by models that never saw them; None if only one tag occurs."""
        from sklearn.linear_model import LogisticRegression

        if bad.all() or not bad.any():
            return None
        platt = LogisticRegression(C=_REGULARISATION).fit(_log_odds(probability)[:, np.newaxis], bad)
        slope, intercept = float(platt.coef_[0, 0]), float(platt.intercept_[0])
        n, there = len(bad), int(bad.sum())
        if slope <= 0:  # the probabilities say nothing of these tags: all get the same one, and are OK
            return cls(0.0, float(_log_odds(np.array([there / n]))[0]), f1_mult=1.0, mcc=1.0, n=n, bad=there)
        calibrated = _calibrated(probability, slope, intercept)
        f1_mult, mcc = (best_threshold(bad, calibrated, metric) for metric in METRICS)
        return cls(slope, intercept, f1_mult, mcc, n=n, bad=there)

    def probability(self, probability: FloatArray) -> FloatArray:
        """(t,) calibrated P(BAD), rounded as it is written."""
        return _calibrated(probability, self.slope, self.intercept)

    def threshold(self, metric: str) -> float:
        """The calibrated P(BAD) from which a word is BAD. Raises InputError for an unknown metric."""
        check_threshold_metric(metric)
        return float(getattr(self, metric))


@dataclass(frozen=True)
class WordTags(Artifact):
    """What tags a model's words.

    places      kind (word, gap, source) -> what makes tags of its P(BAD)
    insertions  words that post-editors inserted in a BAD gap, on average
    """

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
