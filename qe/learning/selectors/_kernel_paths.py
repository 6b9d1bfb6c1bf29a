"""Adding or dropping one feature at a time, judged by an SVR with an RBF kernel.

The squared distances of the rows are kept: a candidate adds those along its feature, or takes them away, so
that no kernel is computed from all features again. Kernels are of single precision; predictions are those of
the learner itself within the tolerance of its solver.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from features.basics.array_types import BoolArray, FloatArray
from features.basics.threads import side_by_side

Rows = NDArray[np.int64]
Singles = NDArray[np.float32]

MOST_ROWS = 4000  # of training: a kernel has 128 MB then as the solver takes it, and each thread has its own


@dataclass(frozen=True, eq=False)
class _Part:
    train: FloatArray
    held: FloatArray
    labels: FloatArray
    among: Singles
    beyond: Singles

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray, train: Rows, held: Rows, taken: BoolArray) -> Self:
        columns = X[train][:, taken], X[held][:, taken]
        return cls(X[train], X[held], y[train], _squared(columns[0], columns[0]), _squared(*columns[::-1]))

    def predictions(self, machine: BaseEstimator, taken: BoolArray, feature: int | None) -> FloatArray:
        if not taken.any():
            return np.full(len(self.held), self.labels.mean())
        gamma = np.float32(_gamma(machine, self.train, taken))
        sign = np.float32(0 if feature is None else 1 if taken[feature] else -1)
        train, held = (side[:, feature or 0].astype(np.float32) for side in (self.train, self.held))
        fitted: Any = clone(machine).set_params(kernel="precomputed")
        fitted.fit(np.exp(-gamma * (self.among + sign * np.subtract.outer(train, train) ** 2)), self.labels)
        support = fitted.support_
        beyond = self.beyond[:, support] + sign * np.subtract.outer(held, train[support]) ** 2
        return np.asarray(np.exp(-gamma * beyond) @ fitted.dual_coef_[0] + fitted.intercept_[0], np.float64)


def kernel_predictions(
    X: FloatArray,
    y: FloatArray,
    parts: list[tuple[Rows, Rows]],
    machines: list[BaseEstimator],
    taken: BoolArray,
) -> FloatArray:
    """(n, machines) predictions for the held-out rows of all parts by the features taken."""

    def of(part: tuple[Rows, Rows]) -> FloatArray:
        made = _Part.of(X, y, *part, taken)
        return np.column_stack([made.predictions(machine, taken, None) for machine in machines])

    return np.concatenate(list(side_by_side(of, parts)))


class KernelRefit:
    """`_paths.Path` by an SVR whose kernel is `rbf`; without features it predicts the mean."""

    def __init__(
        self,
        X: FloatArray,
        y: FloatArray,
        parts: list[tuple[Rows, Rows]],
        machine: BaseEstimator,
        all_features: bool,
    ) -> None:
        self.X, self.y, self.rows, self.machine = X, y, parts, machine
        self._take(np.full(X.shape[1], all_features))

    def candidates(self, wanted: BoolArray | None = None) -> FloatArray:
        k = self.X.shape[1]
        asked = list(range(k)) if wanted is None else np.flatnonzero(wanted).tolist()
        result = np.repeat(self.predictions[:, None], k, axis=1)
        for feature, predicted in zip(asked, side_by_side(self._changed, asked), strict=True):
            result[:, feature] = predicted
        return result

    def change(self, feature: int) -> None:
        taken = self.taken.copy()
        taken[feature] = not taken[feature]
        self._take(taken)

    def _take(self, taken: BoolArray) -> None:
        self.taken = taken
        self.parts = [_Part.of(self.X, self.y, train, held, taken) for train, held in self.rows]
        self.predictions = np.concatenate([p.predictions(self.machine, taken, None) for p in self.parts])

    def _changed(self, feature: int) -> FloatArray:
        taken = self.taken.copy()
        taken[feature] = not taken[feature]
        return np.concatenate([part.predictions(self.machine, taken, feature) for part in self.parts])


def _squared(left: FloatArray, right: FloatArray) -> Singles:
    lengths = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)
    return np.asarray(np.maximum(lengths - 2.0 * (left @ right.T), 0.0), np.float32)


def _gamma(machine: Any, train: FloatArray, taken: BoolArray) -> float:
    if machine.gamma == "auto":
        return 1.0 / float(taken.sum())
    if machine.gamma == "scale":
        variance = float(train[:, taken].var())
        return 1.0 / (float(taken.sum()) * variance) if variance else 1.0
    return float(machine.gamma)
