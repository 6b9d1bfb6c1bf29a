"""Maps scores that only rank onto the scale of the labels."""

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression

from features.basics.array_types import FloatArray
from features.basics.errors import unknown_name


class Calibration(BaseEstimator):  # type: ignore[misc]
    """A rising map from score to label: `linear` or `isotonic`.

    `linear` is least squares and keeps ranks; `isotonic` makes ties.

    A line that would fall is made level: calibration never reverses a ranking. After fit: `scores_` and
    `labels_`, the corners of the map; beyond them a line goes on and a step function stays level.
    """

    def __init__(self, kind: str = "linear") -> None:
        self.kind = kind

    def fit(self, scores: FloatArray, y: FloatArray) -> Self:
        if self.kind not in ("linear", "isotonic"):
            raise unknown_name("calibration", self.kind, ("isotonic", "linear"))
        if self.kind == "isotonic":
            isotonic = IsotonicRegression(increasing=True).fit(scores, y)
            self.scores_, self.labels_ = (
                np.asarray(isotonic.X_thresholds_),
                np.asarray(isotonic.y_thresholds_),
            )
            return self
        centred = scores - scores.mean()
        power = float(centred @ centred)
        slope = max(float(centred @ y) / power, 0.0) if power > 0 else 0.0
        self.scores_ = scores.mean() + np.array([0.0, 1.0])
        self.labels_ = y.mean() + np.array([0.0, slope])
        return self

    def predict(self, scores: FloatArray) -> FloatArray:
        """(n,) labels."""
        if self.kind == "isotonic":
            return np.asarray(np.interp(scores, self.scores_, self.labels_))
        slope = self.labels_[1] - self.labels_[0]
        return np.asarray(self.labels_[0] + slope * (scores - self.scores_[0]))
