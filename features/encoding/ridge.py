"""Ridge regression of a label on many columns; leave-one-out error chooses the penalty."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from features.basics.array_types import FloatArray
from features.storage.arrays import finite, typed
from features.storage.damage import Damaged

# Per row and squared deviation of the columns, from hardly any to nearly all of what the columns say.
_PENALTIES: Final = tuple(10.0**k for k in np.arange(-4, 3.1, 0.5))
_CONSTANT: Final = 1e-12  # deviation below which a column says nothing


@dataclass(frozen=True, eq=False)
class Ridge:
    """The label of a row is `intercept` plus the row's columns times `slopes` (d,)."""

    slopes: FloatArray
    intercept: float

    def predict(self, rows: FloatArray) -> FloatArray:
        result = np.full(len(rows), np.nan)
        if not rows.shape[1]:  # no row is defined
            return result
        defined = np.isfinite(rows).all(axis=1)
        result[defined] = np.einsum("nd,d->n", rows[defined], self.slopes) + self.intercept
        return result

    def save(self, path: Path) -> None:
        path.mkdir()
        np.save(path / "slopes.npy", np.append(self.slopes, self.intercept), allow_pickle=False)

    @classmethod
    def load(cls, path: Path) -> "Ridge":
        values = np.load(path / "slopes.npy", allow_pickle=False)
        typed("slopes", values, np.float64, None)
        finite("slopes", values)
        if not len(values):
            raise Damaged("`slopes` is empty")
        return cls(values[:-1], float(values[-1]))


def fit_ridge(rows: FloatArray, labels: FloatArray) -> Ridge:
    """Learns from (n, d) rows without NaN and (n,) labels. Columns are standardised first. The penalty is the
    one whose squared errors of rows left out one by one are least (Golub, Heath and Wahba 1979, in the closed
    form of Allen's PRESS).
    """
    means, deviations = rows.mean(axis=0), rows.std(axis=0)
    scales = np.where(deviations > _CONSTANT, deviations, np.inf)
    standard, centred = (rows - means) / scales, labels - labels.mean()
    values, vectors = _axes(standard)
    turned = standard @ vectors
    moment = turned.T @ centred
    penalties = len(rows) * np.array(_PENALTIES)
    errors = [_press(turned, centred, moment, values, penalty) for penalty in penalties]
    best = penalties[int(np.argmin(errors))]
    slopes = vectors @ (moment / (values + best)) / scales
    return Ridge(slopes, float(labels.mean() - means @ slopes))


def _axes(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    if len(rows) >= rows.shape[1]:
        values, directions = np.linalg.eigh(rows.T @ rows)
        return np.maximum(values, 0.0), directions
    values, places = np.linalg.eigh(rows @ rows.T)
    kept = values > _CONSTANT * values[-1]
    return values[kept], rows.T @ (places[:, kept] / np.sqrt(values[kept]))


def _press(
    turned: FloatArray, labels: FloatArray, moment: FloatArray, values: FloatArray, penalty: float
) -> float:
    shrunk = values + penalty
    residuals = labels - turned @ (moment / shrunk)
    leverage = np.square(turned) @ (1 / shrunk) + 1 / len(labels)
    return float(np.mean(np.square(residuals / np.maximum(1 - leverage, _CONSTANT))))
