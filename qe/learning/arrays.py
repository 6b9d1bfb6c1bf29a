"""Checks a stored estimator's arrays before compiled code uses them as indices."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, SVR

from features.storage.damage import Damaged, typed, within

# Thresholds at the leaves of a model tree are NaN, limits of unclipped columns infinite.
_MAY_BE_UNDEFINED = frozenset({"threshold_", "low_", "high_"})


def check_estimators(root: BaseEstimator) -> None:
    """Raises Damaged if an array, also of a nested estimator, is read out of bounds or is not finite."""
    for estimator in estimators(root):
        own = getattr(estimator, "check_arrays", None)
        check = own or next((c for kind, c in _CHECKS.items() if isinstance(estimator, kind)), None)
        if own is not None:
            own()
        elif check is not None:
            check(estimator)
    for estimator in estimators(root):
        for name, value in vars(estimator).items():
            fitted = name.startswith("_") or name.endswith("_")
            if fitted and name not in _MAY_BE_UNDEFINED and not _is_finite(value):
                raise Damaged(f"`{name}` of {type(estimator).__name__} holds a value that is not finite")


def _is_finite(value: Any) -> bool:
    if isinstance(value, np.ndarray | np.generic | float):
        array = np.asarray(value)
        return array.dtype.kind != "f" or bool(np.isfinite(array).all())
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    return not isinstance(value, list | tuple) or all(map(_is_finite, value))


def estimators(root: Any) -> Iterator[BaseEstimator]:
    """The object itself and its nested estimators, each once."""
    waiting, seen = [root], set[int]()
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, BaseEstimator):
            yield item
            waiting += vars(item).values()
        elif isinstance(item, Mapping):
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item


def _width(estimator: Any) -> int:
    width = estimator.n_features_in_
    if not isinstance(width, int) or width < 1:
        raise Damaged(f"`n_features_in_` must be a whole number above 0, but is {width!r}")
    return width


def _check_libsvm(machine: Any) -> None:
    classes = len(machine.classes_) if isinstance(machine, SVC) else 2
    pairs, size, width = classes * (classes - 1) // 2, len(machine.support_), _width(machine)
    if {"_impl", "_sparse_kernels"} & vars(machine).keys() or machine._sparse or classes < 2:
        raise Damaged("a support vector machine is of another kind than its class")
    typed("support_", machine.support_, np.int32, size)
    typed("_n_support", machine._n_support, np.int32, classes)
    typed("_dual_coef_", machine._dual_coef_, np.float64, classes - 1, size)
    typed("_intercept_", machine._intercept_, np.float64, pairs)
    for name in ("_probA", "_probB"):
        typed(name, getattr(machine, name), np.float64, 0)
    if isinstance(machine, SVC):
        within("_n_support", machine._n_support, 0, size + 1)
        if machine._n_support.sum() != size:
            raise Damaged("the support vectors of the classes are not all")
    if machine.kernel == "precomputed":
        within("support_", machine.support_, 0, width)
        typed("support_vectors_", machine.support_vectors_, np.float64, 0, 0)
    else:
        typed("support_vectors_", machine.support_vectors_, np.float64, size, width)


def _check_neighbours(model: Any) -> None:
    rows = model.n_samples_fit_
    typed("_fit_X", model._fit_X, np.float64, rows, _width(model))
    if isinstance(model, KNeighborsClassifier):
        typed("_y", model._y, np.int64, rows)
        within("_y", model._y, 0, len(model.classes_))


_CHECKS: Mapping[type, Callable[[Any], None]] = {
    SVR: _check_libsvm,
    SVC: _check_libsvm,
    KNeighborsRegressor: _check_neighbours,
    KNeighborsClassifier: _check_neighbours,
}
