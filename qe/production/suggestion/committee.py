"""How much ridge regressions on bootstrap samples of the labelled segments disagree."""

from typing import Final

import numpy as np

from features.basics.array_types import FloatArray

MEMBERS: Final = 16
_PENALTIES: Final = np.logspace(-4, 1, 11)  # times the number of rows


def disagreement(
    labelled: FloatArray, labels: FloatArray, pool: FloatArray, seed: int, members: int = MEMBERS
) -> FloatArray:
    """(m,) standard deviation of the members' predictions for (m, d) rows of the pool.

    labelled  (n, d) rows on the scale of the pool's
    labels    (n,)

    All members have the penalty that generalised cross-validation chooses for all labelled rows (Golub, Heath
    and Wahba 1979). What they disagree about is what the labels there do not yet settle (query by bagging,
    Abe and Mamitsuka 1998).
    """
    penalty = len(labelled) * _penalty(labelled, labels)
    generator = np.random.default_rng(seed)
    predictions = np.empty((members, len(pool)))
    for member in range(members):
        rows = generator.integers(0, len(labelled), len(labelled))
        predictions[member] = _predicted(labelled[rows], labels[rows], pool, penalty)
    return np.asarray(predictions.std(axis=0), np.float64)


def _predicted(rows: FloatArray, labels: FloatArray, others: FloatArray, penalty: float) -> FloatArray:
    """Ridge regression with an intercept."""
    mean = rows.mean(axis=0)
    centred = rows - mean
    gram = centred.T @ centred + penalty * np.eye(rows.shape[1])
    weights = np.linalg.solve(gram, centred.T @ (labels - labels.mean()))
    return np.asarray((others - mean) @ weights + labels.mean(), np.float64)


def _penalty(rows: FloatArray, labels: FloatArray) -> float:
    """The penalty, by row, with the least generalised cross-validation error."""
    left, values, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    centred = labels - labels.mean()
    errors = []
    for penalty in _PENALTIES:
        shrunk = values**2 / (values**2 + penalty * len(rows))
        residual = centred - left @ (shrunk * (left.T @ centred))
        errors.append(float(residual @ residual) / max(1e-9, 1 - (1 + shrunk.sum()) / len(rows)) ** 2)
    return float(_PENALTIES[int(np.argmin(errors))])
