"""Linear maps of vectors: principal components, partial least squares, ridge regression."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.array_types import FloatArray
from features.storage.damage import Damaged, finite, typed

_single_threaded = threadpool_limits.wrap(limits=1, user_api="blas")  # threads mostly wait for each other

_NOTHING = 1e-10  # share below which a component is rounding


@dataclass(frozen=True, eq=False)
class Projection:
    """Vectors minus `mean` (d,), times `directions` (d, k); absent components up to `width` are NaN."""

    mean: FloatArray
    directions: FloatArray
    width: int

    def apply(self, rows: FloatArray) -> FloatArray:
        result = np.full((len(rows), self.width), np.nan)
        if not rows.shape[1]:  # no row is defined
            return result
        defined = np.isfinite(rows).all(axis=1)
        projected = np.einsum("nd,dk->nk", rows[defined] - self.mean, self.directions)
        result[defined, : projected.shape[1]] = projected
        return result

    def save(self, path: Path) -> None:
        path.mkdir()
        np.save(path / "mean.npy", self.mean, allow_pickle=False)
        np.save(path / "directions.npy", self.directions, allow_pickle=False)

    @classmethod
    def load(cls, path: Path, width: int) -> "Projection":
        mean = np.load(path / "mean.npy", allow_pickle=False)
        directions = np.load(path / "directions.npy", allow_pickle=False)
        typed("mean", mean, np.float64, None)
        typed("directions", directions, np.float64, len(mean), None)
        if directions.shape[1] > width:
            raise Damaged(f"`directions` has {directions.shape[1]} components, but there are {width}")
        finite("mean", mean)
        finite("directions", directions)
        return cls(mean, directions, width)


@_single_threaded
def fit_pca(rows: FloatArray, components: int) -> Projection:
    """Directions of largest variance of (n, d) rows without NaN, the largest entry of each positive."""
    mean = _mean(rows)
    kept = min(components, len(rows) - 1, rows.shape[1])
    if kept <= 0:
        return Projection(mean, np.empty((rows.shape[1], 0)), components)
    squares, directions = _axes(rows - mean)
    right = directions.T[::-1][:kept]
    right = right[squares[::-1][:kept] > _CONSTANT * max(1.0, squares.max(initial=0.0))]
    largest = np.take_along_axis(right, np.abs(right).argmax(axis=1)[:, np.newaxis], axis=1)
    return Projection(mean, np.ascontiguousarray((right * np.sign(largest)).T), components)


@_single_threaded
def fit_pls(rows: FloatArray, labels: FloatArray, components: int) -> Projection:
    """Partial least squares of (n, d) rows without NaN, by NIPALS without deflation (Wold et al. 1984)."""
    mean = _mean(rows)
    centred, left = rows - mean, labels - labels.mean()
    weights: list[FloatArray] = []
    loadings: list[FloatArray] = []
    scores: list[FloatArray] = []
    scale = np.linalg.norm(centred) * np.linalg.norm(left)
    for _ in range(min(components, len(rows) - 1, rows.shape[1])):
        weight = centred.T @ left
        length = float(np.linalg.norm(weight))
        if length <= _NOTHING * scale:
            break
        weight /= length
        score = centred @ weight
        for earlier in scores:
            score -= earlier * (earlier @ score) / (earlier @ earlier)
        squares = float(score @ score)
        loadings.append(centred.T @ score / squares)
        left = left - score * (score @ left) / squares
        weights.append(weight)
        scores.append(score)
    if not weights:
        return Projection(mean, np.empty((rows.shape[1], 0)), components)
    w, p = np.array(weights).T, np.array(loadings).T
    rotations = np.asarray(np.linalg.solve((p.T @ w).T, w.T).T, np.float64)
    return Projection(mean, rotations, components)


def _mean(rows: FloatArray) -> FloatArray:
    return np.asarray(rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1]), np.float64)


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


@_single_threaded
def fit_ridge(rows: FloatArray, labels: FloatArray) -> Ridge:
    """Ridge regression of (n,) labels on standardised (n, d) rows; the penalty minimises leave-one-out error.

    Source: Golub, Heath and Wahba 1979, in the closed form of Allen's PRESS.
    """
    means, deviations = rows.mean(axis=0), rows.std(axis=0)
    scales = np.where(deviations > _CONSTANT, deviations, np.inf)
    standard, centred = (rows - means) / scales, labels - labels.mean()
    values, vectors = _axes(standard)
    moment = vectors.T @ (standard.T @ centred)
    penalties = len(rows) * np.array(_PENALTIES)
    turned = standard.astype(np.float32) @ vectors.astype(
        np.float32
    )  # single precision tells penalties apart
    inverses = 1 / (values[:, np.newaxis] + penalties)
    by_penalty = (moment[:, np.newaxis] * inverses).astype(np.float32)
    leverage = np.square(turned) @ inverses.astype(np.float32) + 1 / len(labels)
    residuals = centred[:, np.newaxis] - turned @ by_penalty
    errors = np.square(residuals / np.maximum(1 - leverage, _CONSTANT)).mean(axis=0)
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
