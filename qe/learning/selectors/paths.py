"""Held-out predictions of candidate feature sets, one feature added or dropped at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.svm import SVR

from features.basics.array_types import BoolArray, FloatArray
from features.basics.threads import side_by_side
from qe.learning.learner import LEARNERS

Rows = NDArray[np.int64]
Singles = NDArray[np.float32]

MOST_ROWS = 4000  # maximum training rows: the solver's kernel then has 128 MB in each thread


@dataclass(frozen=True, eq=False)
class _Part:
    train: FloatArray
    test: FloatArray
    labels: FloatArray
    train_distances: Singles
    test_distances: Singles

    @classmethod
    def make(cls, X: FloatArray, y: FloatArray, train: Rows, test: Rows, selected: BoolArray) -> Self:
        columns = X[train][:, selected], X[test][:, selected]
        return cls(X[train], X[test], y[train], _squared(columns[0], columns[0]), _squared(*columns[::-1]))

    def predictions(self, machine: BaseEstimator, selected: BoolArray, feature: int | None) -> FloatArray:
        if not selected.any():
            return np.full(len(self.test), self.labels.mean())
        gamma = np.float32(_gamma(machine, self.train, selected))
        sign = np.float32(0 if feature is None else 1 if selected[feature] else -1)
        train, test = (side[:, feature or 0].astype(np.float32) for side in (self.train, self.test))
        fitted: Any = clone(machine).set_params(kernel="precomputed")
        fitted.fit(
            np.exp(-gamma * (self.train_distances + sign * np.subtract.outer(train, train) ** 2)), self.labels
        )
        support = fitted.support_
        distances = self.test_distances[:, support] + sign * np.subtract.outer(test, train[support]) ** 2
        return np.asarray(
            np.exp(-gamma * distances) @ fitted.dual_coef_[0] + fitted.intercept_[0], np.float64
        )


def _squared(rows: FloatArray, columns: FloatArray) -> Singles:
    lengths = (rows**2).sum(axis=1)[:, None] + (columns**2).sum(axis=1)
    return np.asarray(np.maximum(lengths - 2.0 * (rows @ columns.T), 0.0), np.float32)


def _gamma(machine: Any, train: FloatArray, selected: BoolArray) -> float:
    if machine.gamma == "auto":
        return 1.0 / float(selected.sum())
    if machine.gamma == "scale":
        variance = float(train[:, selected].var())
        return 1.0 / (float(selected.sum()) * variance) if variance else 1.0
    return float(machine.gamma)


Parts = list[tuple[NDArray[np.int64], NDArray[np.int64]]]

_SPANNED = 1e-9  # share of its squared norm below which a column is in the span of the selected ones
_RIDGE = 1e-6  # share of the mean diagonal; backward steps start from all features, which may be collinear


class Path(Protocol):
    """A feature set with `predictions` (n,) for pooled held-out rows; candidates differ in one feature."""

    predictions: FloatArray

    def candidates(self, wanted: BoolArray | None = None) -> FloatArray:
        """Predictions (n, k) after changing feature j; unwanted columns contain arbitrary finite values."""
        ...

    def change(self, feature: int) -> None: ...


def forward_path(X: FloatArray, y: FloatArray, parts: Parts, learner: Mapping[str, Any] | None) -> Path:
    return _LinearForward(X, y, parts) if learner is None else _refit(X, y, parts, learner, False)


def backward_path(X: FloatArray, y: FloatArray, parts: Parts, learner: Mapping[str, Any] | None) -> Path:
    return _LinearBackward(X, y, parts) if learner is None else _refit(X, y, parts, learner, True)


def _refit(
    X: FloatArray, y: FloatArray, parts: Parts, learner: Mapping[str, Any], all_features: bool
) -> Path:
    estimator = estimator_of(learner)
    if _by_kernel(estimator, parts):
        return KernelRefit(X, y, parts, estimator, all_features)
    return _Refit(X, y, parts, estimator, all_features)


def _by_kernel(estimator: BaseEstimator, parts: Parts) -> bool:
    small = max((len(train) for train, _ in parts), default=0) <= MOST_ROWS
    return type(estimator) is SVR and estimator.kernel == "rbf" and small


def predictions_of(
    learners: Sequence[Mapping[str, Any]], X: FloatArray, y: FloatArray, parts: Parts, selected: BoolArray
) -> FloatArray:
    """Held-out predictions (n, learners) of all parts from one or more selected features."""
    estimators = [estimator_of(learner) for learner in learners]
    if not all(_by_kernel(estimator, parts) for estimator in estimators):
        return np.column_stack([held_out_predictions(item, X, y, parts, selected) for item in estimators])

    def predict(rows: tuple[Rows, Rows]) -> FloatArray:
        part = _Part.make(X, y, *rows, selected)
        return np.column_stack([part.predictions(machine, selected, None) for machine in estimators])

    return np.concatenate(list(side_by_side(predict, parts)))


class _LinearForward:
    def __init__(self, X: FloatArray, y: FloatArray, parts: Parts) -> None:
        self.parts = [_centred(X, y, train, test) for train, test in parts]
        self.powers = [(train**2).sum(axis=0) for train, _, _, _ in self.parts]
        self.predictions = np.concatenate([np.full(len(test), mean) for _, test, _, mean in self.parts])

    def candidates(self, wanted: BoolArray | None = None) -> FloatArray:
        changes = [test * self._slopes(i) for i, (_, test, _, _) in enumerate(self.parts)]
        return np.asarray(self.predictions[:, None] + np.concatenate(changes))

    def change(self, feature: int) -> None:
        steps = []
        for i, (train, test, residual, _) in enumerate(self.parts):
            slope = self._slopes(i)[feature]
            column, tested = train[:, feature].copy(), test[:, feature].copy()
            steps.append(tested * slope)
            residual -= column * slope
            power = float(column @ column)
            if power > _SPANNED * self.powers[i][feature]:
                shares = column @ train / power
                train -= np.outer(column, shares)
                test -= np.outer(tested, shares)
            train[:, feature] = 0.0
        self.predictions = self.predictions + np.concatenate(steps)

    def _slopes(self, i: int) -> FloatArray:
        train, _, residual, _ = self.parts[i]
        power = (train**2).sum(axis=0)
        usable = power > _SPANNED * self.powers[i]
        return np.where(usable, residual @ train, 0.0) / np.where(usable, power, 1.0)


class _LinearBackward:
    def __init__(self, X: FloatArray, y: FloatArray, parts: Parts) -> None:
        self.inverses, self.betas, self.products, start = [], [], [], []
        for train_rows, test_rows in parts:
            train, test, residual, mean = _centred(X, y, train_rows, test_rows)
            gram = train.T @ train
            ridge = _RIDGE * max(float(np.trace(gram)) / len(gram), 1e-300)
            inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))
            beta = inverse @ (train.T @ residual)
            self.inverses.append(inverse)
            self.betas.append(beta)
            self.products.append(test @ inverse)
            start.append(test @ beta + mean)
        self.kept = np.ones(X.shape[1], np.bool_)
        self.predictions = np.concatenate(start)

    def candidates(self, wanted: BoolArray | None = None) -> FloatArray:
        changes = [product * self._steps(i) for i, product in enumerate(self.products)]
        return np.asarray(self.predictions[:, None] - np.concatenate(changes))

    def change(self, feature: int) -> None:
        changes = []
        self.kept[feature] = False
        for i, (inverse, beta, product) in enumerate(
            zip(self.inverses, self.betas, self.products, strict=True)
        ):
            step = self._steps(i, feature)[feature]
            changes.append(product[:, feature] * step)
            row = inverse[feature] / inverse[feature, feature]
            beta -= step * inverse[feature]
            product -= np.outer(product[:, feature], row)
            inverse -= np.outer(inverse[:, feature], row)
            beta[~self.kept] = 0.0
        self.predictions = self.predictions - np.concatenate(changes)

    def _steps(self, i: int, leaving: int = -1) -> FloatArray:
        there = self.kept.copy()
        there[leaving] = there[leaving] or leaving >= 0
        diagonal = np.where(there, np.diag(self.inverses[i]), 1.0)
        return np.where(there, self.betas[i], 0.0) / diagonal


def estimator_of(learner: Mapping[str, Any]) -> BaseEstimator:
    params = {name: value for name, value in learner.items() if name != "kind"}
    return LEARNERS.get(learner["kind"])().estimator(**params)


def held_out_predictions(
    estimator: BaseEstimator, X: FloatArray, y: FloatArray, parts: Parts, selected: BoolArray
) -> FloatArray:
    """Held-out predictions (n,) of all parts from the selected features, or the mean without any."""
    predicted = []
    for train, test in parts:
        if selected.any():
            model = clone(estimator).fit(X[train][:, selected], y[train])
            predicted.append(model.predict(X[test][:, selected]))
        else:
            predicted.append(np.full(len(test), y[train].mean()))
    return np.concatenate(predicted)


class _Refit:
    def __init__(
        self, X: FloatArray, y: FloatArray, parts: Parts, estimator: BaseEstimator, all_features: bool
    ) -> None:
        self.X, self.y, self.parts, self.estimator = X, y, parts, estimator
        self._take(np.full(X.shape[1], all_features))

    def candidates(self, wanted: BoolArray | None = None) -> FloatArray:
        k = self.X.shape[1]
        features = list(range(k)) if wanted is None else np.flatnonzero(wanted).tolist()
        result = np.repeat(self.predictions[:, None], k, axis=1)
        for feature, predicted in zip(features, side_by_side(self._changed, features), strict=True):
            result[:, feature] = predicted
        return result

    def change(self, feature: int) -> None:
        self._take(self._toggled(feature))

    def _toggled(self, feature: int) -> BoolArray:
        selected = self.selected.copy()
        selected[feature] = not selected[feature]
        return selected

    def _take(self, selected: BoolArray) -> None:
        self.selected = selected
        self.predictions = held_out_predictions(self.estimator, self.X, self.y, self.parts, selected)

    def _changed(self, feature: int) -> FloatArray:
        return held_out_predictions(self.estimator, self.X, self.y, self.parts, self._toggled(feature))


class KernelRefit(_Refit):
    """`Path` for an SVR with kernel `rbf`; without features it predicts the mean."""

    def _take(self, selected: BoolArray) -> None:
        self.selected = selected
        self.kernels = [_Part.make(self.X, self.y, train, test, selected) for train, test in self.parts]
        self.predictions = self._predicted(selected, None)

    def _changed(self, feature: int) -> FloatArray:
        return self._predicted(self._toggled(feature), feature)

    def _predicted(self, selected: BoolArray, feature: int | None) -> FloatArray:
        return np.concatenate([part.predictions(self.estimator, selected, feature) for part in self.kernels])


def _centred(
    X: FloatArray, y: FloatArray, train: NDArray[np.int64], test: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    means, mean = X[train].mean(axis=0), float(y[train].mean())
    return X[train] - means, X[test] - means, y[train] - mean, mean
