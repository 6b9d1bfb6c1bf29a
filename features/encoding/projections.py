"""Projections of many columns to a few: by variance (PCA), or covariance with labels (PLS)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from features.basics.array_types import FloatArray
from features.storage.arrays import finite, typed
from features.storage.damage import Damaged

_NOTHING = 1e-10  # share below which a component is rounding


@dataclass(frozen=True, eq=False)
class Projection:
    """`mean` (d,) is taken off, then `directions` (d, k) are multiplied. Components up to `width` that the
    rows it was fitted on did not have are NaN.
    """

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


def fit_pca(rows: FloatArray, components: int, seed: int) -> Projection:
    """Directions of largest variance of (n, d) rows without NaN. The largest entry of each is positive."""
    from sklearn.utils.extmath import randomized_svd

    mean = _mean(rows)
    kept = min(components, _rank_limit(rows))
    if not kept:
        return Projection(mean, np.empty((rows.shape[1], 0)), components)
    _, values, right = randomized_svd(rows - mean, kept, n_iter=7, random_state=seed)
    right = right[values > _NOTHING * max(1.0, float(values[0]))]
    largest = np.take_along_axis(right, np.abs(right).argmax(axis=1)[:, np.newaxis], axis=1)
    return Projection(mean, np.ascontiguousarray((right * np.sign(largest)).T), components)


def fit_pls(rows: FloatArray, labels: FloatArray, components: int) -> Projection:
    """Partial least squares with one response: (n, d) rows without NaN. NIPALS; Wold et al. 1984. The rows
    are not deflated: the components are made orthogonal instead, which gives the same ones.
    """
    mean = _mean(rows)
    centred, left = rows - mean, labels - labels.mean()
    weights: list[FloatArray] = []
    loadings: list[FloatArray] = []
    scores: list[FloatArray] = []
    scale = np.linalg.norm(centred) * np.linalg.norm(left)
    for _ in range(min(components, _rank_limit(rows))):
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
    return Projection(mean, _rotations(weights, loadings, rows.shape[1]), components)


def _rotations(weights: list[FloatArray], loadings: list[FloatArray], width: int) -> FloatArray:
    if not weights:
        return np.empty((width, 0))
    w, p = np.array(weights).T, np.array(loadings).T
    return np.asarray(np.linalg.solve((p.T @ w).T, w.T).T, np.float64)


def _rank_limit(rows: FloatArray) -> int:
    return max(0, min(len(rows) - 1, int(rows.shape[1])))


def _mean(rows: FloatArray) -> FloatArray:
    return np.asarray(rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1]), np.float64)
