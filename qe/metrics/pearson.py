"""Pearson: linear correlation."""

import numpy as np

from qe.metrics._base import AdditiveMetric, FloatArray, finite_pair

# A resample whose variance is below this share of the whole sample's counts as constant (rounding noise).
_NO_VARIANCE = 1e-12


class Pearson(AdditiveMetric):
    """Linear correlation of gold and predictions, -1 .. 1; NaN where one of them is constant.

    The statistics are moments of standardised values: the correlation is the same, sums keep their digits,
    and an exchange between systems mixes predictions on a common scale.

    >>> Pearson().score(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]))
    1.0
    """

    higher_is_better = True

    def statistics(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        """(n, 6): 1, x, y, xx, yy, xy of standardised gold x and predictions y."""
        x, y = (_standardised(side) for side in finite_pair(gold, predicted))
        return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        n, x, y, xx, yy, xy = np.moveaxis(np.asarray(sums), -1, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            x_variance, y_variance = xx / n - (x / n) ** 2, yy / n - (y / n) ** 2
            defined = (x_variance > _NO_VARIANCE) & (y_variance > _NO_VARIANCE)
            correlation = (xy / n - x * y / n**2) / np.sqrt(x_variance * y_variance)
        return np.where(defined, np.clip(correlation, -1.0, 1.0), np.nan)


def _standardised(values: FloatArray) -> FloatArray:
    """Mean 0, standard deviation 1; zeros where all values are equal."""
    if len(values) == 0 or values.min() == values.max():
        return np.zeros_like(values)
    centred = values - values.mean()
    scaled = centred / np.abs(centred).max()  # squares of tiny values would underflow
    return np.asarray(scaled / np.sqrt(np.mean(scaled**2)))
