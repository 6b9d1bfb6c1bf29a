"""Mean of the features, calibrated to the label scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import validate_data

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, unknown_name
from qe.config.distributions import Choice, Distribution
from qe.learning.learner import Regressor
from qe.learning.learners.checks import rows_to_predict, training_data


@dataclass(eq=False, repr=False)
class Calibration(BaseEstimator):  # type: ignore[misc]
    """Increasing map from score to label: `linear` (least squares, keeps ranks) or `isotonic` (creates ties).

    A decreasing line is replaced by a constant, so that calibration never reverses a ranking. After fit:
    `scores_` and `labels_`, the corners of the map.
    """

    kind: str = "linear"

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
        if self.kind == "isotonic":
            return np.asarray(np.interp(scores, self.scores_, self.labels_))
        slope = self.labels_[1] - self.labels_[0]
        return np.asarray(self.labels_[0] + slope * (scores - self.scores_[0]))


@dataclass(eq=False, repr=False)
class FeatureMean(Regressor):
    """Arithmetic mean of the features; labels only set the scale (without labels: mean 0, deviation 1).

    Parameters
    ----------
    negative : list of str or int, default=()
        Names of features (or column numbers, from 0) that are high if quality is low.
    label_sign : float, default=1.0
        1 if a higher label is better, -1 if it is worse (HTER).
    calibration : str, default='linear'
        `linear` or `isotonic`, see Calibration.
    standardise : bool, default=True
        Whether each feature is first scaled to mean 0 and deviation 1; otherwise features with a wide scale
        dominate.

    After fit: `signs_`, `centres_` and `scales_` (k,); `calibration_`.
    Source: WMT12 DFKI (Popovic), Section 4: unsupervised ranking by means of IBM1 and language model scores.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"calibration": Choice(["linear", "isotonic"])}
    trusted_types: ClassVar[tuple[str, ...]] = ("qe.learning.learners.unsupervised_mean.Calibration",)
    takes_names = True
    scale = False  # FeatureMean standardises

    negative: Sequence[str | int] = ()
    label_sign: float = 1.0
    calibration: Literal["linear", "isotonic"] = "linear"
    standardise: bool = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # labels only set the scale
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        if y is None:
            X = np.ascontiguousarray(validate_data(self, X, dtype=np.float64))
        else:
            X, y = training_data(self, X, y)
        names: list[Any] = list(getattr(self, "feature_names_in_", []))
        width = X.shape[1]
        self.signs_ = np.ones(width)
        for column in self.negative:
            if isinstance(column, int) and 0 <= column < width:
                self.signs_[column] = -1.0
            elif column in names:
                self.signs_[names.index(column)] = -1.0
            else:
                unnamed = f"columns 0 .. {width - 1} (the features have no names here)"
                remedy = f"known: {', '.join(names) if names else unnamed}"
                raise InputError(f"no feature '{column}'", remedy=remedy)
        self.scales_ = (
            np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0) if self.standardise else np.ones(X.shape[1])
        )
        self.centres_ = X.mean(axis=0) if self.standardise else np.zeros(X.shape[1])
        means = self._means(X)
        if y is None:
            deviation = float(means.std())
            quality = (means - means.mean()) / (deviation if deviation > 0 else 1.0)
        else:
            quality = self.label_sign * y
        self.calibration_ = Calibration(self.calibration).fit(means, quality)
        return self

    def predict(self, X: Any) -> FloatArray:
        rows = rows_to_predict(self, X)
        return self.label_sign * self.calibration_.predict(self._means(rows))

    def _means(self, X: FloatArray) -> FloatArray:
        return np.asarray((X - self.centres_) / self.scales_ @ self.signs_ / len(self.signs_))
