"""Difficulty: expected absolute error of a prediction, estimated from features and prediction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from features.basics.array_types import FloatArray, IntArray
from qe.models.linear import LinearFunction, inputs

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
