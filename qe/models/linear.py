"""Linear functions of a segment's features, its prediction and the prediction's square."""

from dataclasses import dataclass

import numpy as np

from features.basics.array_types import FloatArray
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
