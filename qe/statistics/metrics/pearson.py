"""Pearson: linear correlation."""

from typing import Any, ClassVar

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from qe.statistics.metric import AdditiveMetric, ExchangedMetric, finite_pair

# A resample whose variance is below this share of the whole sample's counts as constant (rounding noise).
_NO_VARIANCE = 1e-12
_MAX_RATIO = 1e150  # of the full range to that of the middle values: squares of larger values overflow


class Pearson(AdditiveMetric, ExchangedMetric):
    """Linear correlation of gold and predictions, -1 .. 1; NaN if one of them is constant.

    Exchanges measure the difference in units of its standard error, after DiCiccio and Romano 2017: tests of
    the plain difference reject too often where labels have heavy tails.

    >>> Pearson().score(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]))
    1.0
    """

    title = "Pearson"
    help = "linear correlation, -1 to 1"
    kind = "ranking"
    higher_is_better = True
    interval_scale = "fisher"
    exchange_name: ClassVar[str] = "approximate randomization, studentised"

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

    def on_common_scale(self, predicted: FloatArray) -> FloatArray:
        """Predictions with median 0 and a 10th to 90th percentile range of 1."""
        low, middle, high = np.quantile(predicted, [0.1, 0.5, 0.9])
        full = np.ptp(predicted)
        spread = high - low if full < _MAX_RATIO * (high - low) else full
        return np.asarray((predicted - middle) / (spread if spread > 0 else 1.0))

    def exchanged(
        self, gold: FloatArray, system: FloatArray, baseline: FloatArray, swapped: NDArray[np.bool_]
    ) -> FloatArray:
        """(B,) differences over their standard errors, from the correlations' influence functions."""
        differences = np.empty(swapped.shape[1])
        _studentised(_standardised(gold), system, baseline, swapped, differences)
        return differences


def _standardised(values: FloatArray) -> FloatArray:
    if len(values) == 0 or values.min() == values.max():
        return np.zeros_like(values)
    centred = values - values.mean()
    scaled = centred / np.abs(centred).max()  # squares of tiny values would underflow
    return np.asarray(scaled / np.sqrt(np.mean(scaled**2)))


@numba.njit(cache=True, nogil=True)
def _studentised(x: Any, system: Any, baseline: Any, swapped: Any, differences: Any) -> None:
    n, samples = swapped.shape
    sums = np.zeros((6, samples))
    for i in range(n):
        a, b, row = system[i], baseline[i], swapped[i]
        for s in range(samples):
            p, q = (b, a) if row[s] else (a, b)
            sums[0, s] += p
            sums[1, s] += q
            sums[2, s] += p * p
            sums[3, s] += q * q
            sums[4, s] += x[i] * p
            sums[5, s] += x[i] * q
    xx = (x * x).mean()
    for s in range(samples):
        for side in range(2):
            sums[side, s] /= n
            variance = sums[2 + side, s] / n - sums[side, s] ** 2
            defined = variance > 1e-12 * (sums[2 + side, s] / n) and xx > 0.0
            sums[2 + side, s] = 1.0 / np.sqrt(variance) if defined else np.nan
            sums[4 + side, s] *= sums[2 + side, s] / n
    influence, squares = np.zeros(samples), np.zeros(samples)
    for i in range(n):
        a, b, row = system[i], baseline[i], swapped[i]
        for s in range(samples):
            p, q = (b, a) if row[s] else (a, b)
            y, z = (p - sums[0, s]) * sums[2, s], (q - sums[1, s]) * sums[3, s]
            r, t = sums[4, s], sums[5, s]
            value = x[i] * (y - z) - (r * (x[i] * x[i] + y * y) - t * (x[i] * x[i] + z * z)) / 2.0
            influence[s] += value
            squares[s] += value * value
    for s in range(samples):
        difference = sums[4, s] - sums[5, s]
        variance = squares[s] / n - (influence[s] / n) ** 2
        differences[s] = difference / np.sqrt(max(variance, 1e-30) / n)
