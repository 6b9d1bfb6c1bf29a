"""Difficulty: expected absolute error of a prediction; density ratios of new rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from features.basics.array_types import FloatArray, IntArray
from features.storage.damage import typed


@dataclass(frozen=True, eq=False)
class LinearFunction:
    """A linear function of k features, the prediction and its square.

    medians       (k,) replace undefined features
    centre        (k + 2,) mean of each input on the training rows
    coefficients  (k + 2,) change of the value per unit of each input
    intercept     value at the centre
    """

    medians: FloatArray
    centre: FloatArray
    coefficients: FloatArray
    intercept: float

    def value(self, features: FloatArray, predicted: FloatArray) -> FloatArray:
        centred = inputs(features, predicted, self.medians) - self.centre
        return np.asarray(self.intercept + (centred * self.coefficients).sum(axis=1))

    def check_arrays(self) -> None:
        typed("medians", self.medians, np.float64, None)
        typed("centre", self.centre, np.float64, len(self.medians) + 2)
        typed("coefficients", self.coefficients, np.float64, len(self.medians) + 2)


def inputs(features: FloatArray, predicted: FloatArray, medians: FloatArray) -> FloatArray:
    """Inputs (n, k + 2): features (medians if undefined), prediction, its square."""
    filled = np.where(np.isnan(features), medians, features)
    return np.column_stack([filled, predicted, predicted**2])


PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # ridge penalties per row
_NARROWEST, _WIDEST = 0.5, 2.0  # bounds of the predicted error, as shares of the mean error


@dataclass(frozen=True, eq=False)
class Difficulty(LinearFunction):
    """Ridge regression of the absolute error, kept between half and twice its mean."""

    mean: float

    def predict(self, features: FloatArray, predicted: FloatArray) -> FloatArray:
        """Expected absolute errors (n,), positive (1 if the training rows had no errors)."""
        if self.mean == 0:
            return np.ones(len(predicted))
        raw = self.value(features, predicted)
        return np.asarray(np.clip(raw, _NARROWEST * self.mean, _WIDEST * self.mean))


@dataclass(frozen=True, eq=False)
class Fits:
    """Difficulty models for any union of folds, from sums per fold."""

    medians: FloatArray
    centre: FloatArray
    weights: FloatArray
    grams: FloatArray
    moments: FloatArray
    totals: FloatArray
    counts: FloatArray

    @classmethod
    def make(
        cls, features: FloatArray, predicted: FloatArray, errors: FloatArray, folds: Sequence[IntArray]
    ) -> Self:
        medians = medians_of(features)
        table = inputs(features, predicted, medians)
        centre, spread = table.mean(axis=0), table.std(axis=0)
        weights = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12)
        standard = np.column_stack([(table - centre) * weights, np.ones(len(table))])
        return cls(
            medians,
            centre,
            weights,
            np.stack([standard[rows].T @ standard[rows] for rows in folds]),
            np.stack([standard[rows].T @ errors[rows] for rows in folds]),
            np.array([errors[rows].sum() for rows in folds]),
            np.array([float(len(rows)) for rows in folds]),
        )

    def fit(self, folds: Sequence[int], penalty: float) -> Difficulty:
        chosen = list(folds)
        rows = self.counts[chosen].sum()
        ridge = np.full(len(self.weights) + 1, penalty * rows)
        ridge[-1] = 1e-9  # the intercept is not shrunk
        gram = self.grams[chosen].sum(axis=0) + np.diag(ridge)
        slopes = np.linalg.solve(gram, self.moments[chosen].sum(axis=0))
        mean = float(self.totals[chosen].sum() / rows)
        return Difficulty(self.medians, self.centre, slopes[:-1] * self.weights, float(slopes[-1]), mean)


def medians_of(features: FloatArray) -> FloatArray:
    """Medians (k,) of defined values; 0 for a column without any."""
    empty = np.isnan(features).all(axis=0) if len(features) else np.ones(features.shape[1], np.bool_)
    medians = np.zeros(features.shape[1])
    medians[~empty] = np.nanmedian(features[:, ~empty], axis=0)
    return medians


_PENALTIES = (1e-4, 1e-3, 1e-2, 0.1, 1.0)  # scikit-learn's C: from almost no shift to almost no shrinkage
_MOST = 20.0  # weights are between 1/20 and 20 times the mean, so that a few rows do not dominate


@dataclass(frozen=True, eq=False)
class DensityRatio(LinearFunction):
    """Log ratio of two densities by logistic regression (Tibshirani, Barber, Candes and Ramdas 2019, 2.3)."""

    @classmethod
    def fit(
        cls,
        features: FloatArray,
        predicted: FloatArray,
        new_features: FloatArray,
        new_predicted: FloatArray,
        seed: int = 0,
    ) -> Self:
        """Fits features (n, k) and predictions (n,); cross-validation chooses the penalty (5 folds)."""
        from sklearn.linear_model import LogisticRegressionCV
        from sklearn.model_selection import StratifiedKFold

        medians = medians_of(features)
        own, other = inputs(features, predicted, medians), inputs(new_features, new_predicted, medians)
        table = np.concatenate([own, other])
        centre, spread = table.mean(axis=0), table.std(axis=0)
        scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12)
        is_new = np.repeat([0, 1], [len(own), len(other)])
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        fitted = LogisticRegressionCV(
            Cs=list(_PENALTIES), l1_ratios=(0.0,), cv=folds, scoring="neg_log_loss", max_iter=1000,
            use_legacy_attributes=False,
        )  # fmt: skip
        fitted.fit((table - centre) * scale, is_new)
        intercept = float(np.ravel(fitted.intercept_)[0] - np.log(len(other) / len(own)))
        return cls(medians, centre, np.ravel(fitted.coef_) * scale, intercept)

    def weights(self, features: FloatArray, predicted: FloatArray) -> FloatArray:
        """Density (n,) of new segments over that of calibration rows, from 1/20 to 20."""
        raw = self.value(features, predicted)
        return np.asarray(np.exp(np.clip(raw, -np.log(_MOST), np.log(_MOST))))
