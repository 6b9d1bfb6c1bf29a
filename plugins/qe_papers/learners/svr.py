"""Support vector regression with the kernels, weights and selection of single papers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from annotated_types import MinLen
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import ElasticNet
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Folds, Inner, NotNegative, Positive, Seed, Share
from qe.config.distributions import Choice, Distribution, FloatRange
from qe.learning.boosting import REPRODUCIBLE, BoostedTrees
from qe.learning.learner import Learner
from qe.learning.learners.checks import contiguous_folds, relative_weights, rows_to_predict, training_data
from qe.learning.learners.similarity import predicted
from qe.learning.parameters import NameIn
from qe.statistics.metric import METRICS

_LEAST = 2  # minimum number of training rows
_AT_BOUND = 1 - 1e-6


@dataclass(repr=False, eq=False)
class ConsistentSVR(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """An SVR, retrained without inconsistent rows until none are left.

    A row is inconsistent if its multiplier is at its bound (C, times its weight), that is, if its error
    exceeds epsilon. In the end no training row has such an error. If at most one row would remain, the last
    model with more rows is kept. A small epsilon leaves few rows and gives poor predictions.

    kernel, C, epsilon, gamma  as in scikit-learn's SVR
    After fit: `model_`, `kept_` (n,) mask of the final training rows, `rounds_` of training.

    Source: Joachims 1999, SVM-light's option `-i 1`; WMT12 UPC-2 (findings, section 6.3).
    """

    kernel: Literal["linear", "rbf"] = "linear"
    C: Positive = 1.0
    epsilon: NotNegative = 0.5
    gamma: Positive = 0.02

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        weights = relative_weights(sample_weight, len(y))
        kept, self.rounds_ = np.arange(len(y)), 0
        while True:
            model = SVR(kernel=self.kernel, C=self.C, epsilon=self.epsilon, gamma=self.gamma, cache_size=500)
            self.model_ = model.fit(X[kept], y[kept], sample_weight=weights[kept])
            self.rounds_ += 1
            multipliers, bounds = np.zeros(len(kept)), self.C * weights[kept] * _AT_BOUND
            multipliers[self.model_.support_] = np.abs(self.model_.dual_coef_[0])
            consistent = (multipliers < bounds) | (weights[kept] == 0)
            if consistent.all() or consistent.sum() < _LEAST:
                break
            kept = kept[consistent]
        self.kept_ = np.isin(np.arange(len(y)), kept)
        return self

    def predict(self, X: Any) -> FloatArray:
        rows = rows_to_predict(self, X)
        return np.asarray(self.model_.predict(rows), np.float64)


class SvrConsistent(Learner):
    """SVR that drops training rows it cannot fit, then trains again. See ConsistentSVR; deterministic."""

    regressor = ConsistentSVR
    space: ClassVar[Mapping[str, Distribution]] = {
        "C": FloatRange(1e-3, 10.0, log=True),
        "epsilon": FloatRange(0.1, 1.0, log=True),
    }
    trusted_types: ClassVar[tuple[str, ...]] = ("sklearn.svm._classes.SVR",)


@dataclass(repr=False, eq=False)
class ImportanceWeightedSvr(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """SVR on X * w, with w = floor + (1 - floor) (importance / largest importance)^power.

    importance      `elastic_net` (|coefficient|), `lightgbm` (total gain) or `both` (mean of the two, each
                    divided by its maximum)
    alpha, l1_ratio elastic net parameters
    power, floor    shape of the weights; floor 1 gives equal weights
    C, epsilon      SVR parameters
    gamma_scale     gamma = gamma_scale / sum of w^2
    seed            LightGBM's seed

    If all importances are 0, weights are equal. After fit: `weights_` (k,).

    Source: own; feasibility study on WMT12.
    """

    importance: Literal["elastic_net", "lightgbm", "both"] = "elastic_net"
    alpha: NotNegative = 0.05
    l1_ratio: Share = 0.3
    power: NotNegative = 1.2
    floor: Share = 0.15
    C: Positive = 1.0
    gamma_scale: Positive = 0.2
    epsilon: NotNegative = 0.2
    seed: Seed = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        weights = relative_weights(sample_weight, len(y))
        shares = []
        if self.importance != "lightgbm":
            model = ElasticNet(alpha=self.alpha, l1_ratio=self.l1_ratio, max_iter=20_000)
            shares.append(_share(np.abs(model.fit(X, y, weights).coef_)))
        if self.importance != "elastic_net":
            trees = BoostedTrees(
                **REPRODUCIBLE, n_estimators=150, num_leaves=7, learning_rate=0.05, random_state=self.seed
            )
            gains = trees.fit(X, y, weights).booster_.feature_importance("gain")
            shares.append(_share(np.asarray(gains, np.float64)))
        importances = _share(np.mean(shares, axis=0))
        self.weights_ = self.floor + (1 - self.floor) * importances**self.power
        gamma = self.gamma_scale / float((self.weights_**2).sum())
        self.svr_ = SVR(C=self.C, gamma=gamma, epsilon=self.epsilon, cache_size=500)
        self.svr_.fit(X * self.weights_, y, weights)
        return self

    def predict(self, X: Any) -> FloatArray:
        rows = rows_to_predict(self, X)
        return predicted(self.svr_, rows * self.weights_)


def _share(importances: FloatArray) -> FloatArray:
    largest = importances.max()
    return importances / largest if largest > 0 else np.ones_like(importances)


class ImportanceWeighted(Learner):
    """RBF support vector regression with features scaled by importance. See ImportanceWeightedSvr."""

    regressor = ImportanceWeightedSvr
    space: ClassVar[Mapping[str, Distribution]] = {
        "importance": Choice(["elastic_net", "both"]),
        "alpha": FloatRange(0.01, 0.2, log=True),
        "l1_ratio": FloatRange(0.1, 0.9),
        "power": FloatRange(0.5, 2.0),
        "floor": FloatRange(0.0, 0.4),
        "C": FloatRange(0.3, 4.0, log=True),
        "gamma_scale": FloatRange(0.05, 0.8, log=True),
        "epsilon": FloatRange(0.05, 0.4, log=True),
    }
    trusted_types: ClassVar[tuple[str, ...]] = ("sklearn.svm._classes.SVR",)


Range = tuple[Positive, Positive]  # lowest and highest
Values = tuple[float, ...]
_LEAST_SUPPORT = 3  # minimum rows: one for development, two for cross-validation


@dataclass(frozen=True)
class Setting:
    """An SVR's parameters, cross-validation error, development score and share of support vectors."""

    C: float
    gamma: float
    epsilon: float
    error: float = np.nan
    score: float = np.nan
    support_vectors: float = np.nan

    @property
    def model(self) -> SVR:
        return SVR(C=self.C, gamma=self.gamma, epsilon=self.epsilon, cache_size=500)


@dataclass(repr=False, eq=False)
class SvrChosenBySupport(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """RBF-SVR tuned on several grids; among the best settings, one with a moderate number of support vectors.

    The last rows are the development set. Each grid has a step, in powers of two, and a starting point in the
    first step of each range. Its best setting has the lowest squared error in cross-validation over
    contiguous blocks of the other rows, and is trained on all of them. Among settings within `tolerance` of
    the highest development score, the one whose share of support vectors is nearest to `support` is chosen
    (ties: the higher score), and trained on all rows.

    C, gamma, epsilon  lowest and highest value; `epsilon` in units of the label
    steps              one grid each: the factor between neighbouring values is 2 ** step
    folds              cross-validation folds
    validation         share of the rows, the last ones, in the development set (the paper: 305 of 1,832)
    metric             a metric's name; `label_sign` -1 if low labels are good (matters to ranking metrics)
    tolerance          in units of the metric
    support            a share of the rows

    `tolerance` and `support` are ours; with .01 of DeltaAvg and one half they choose the paper's model among
    the four of its table 5.

    After fit: `model_`; `best_`, a mapping for the best setting of each grid: C, gamma, epsilon, error,
    score, support_vectors (a share); `chosen_`, the index of the chosen one; `grids_`, the values of each
    grid. Raises InputError for fewer than three rows.

    Source: Soricut et al. 2012 (SDL Language Weaver at WMT12), section 3.3.
    """

    C: Range = (1.0, 16.0)
    gamma: Range = (0.00138, 0.1)
    epsilon: Range = (0.0078, 0.5)
    steps: Annotated[Sequence[Positive], MinLen(1)] = (3.0, 2.5, 2.0, 1.5)
    folds: Folds = 10
    validation: Inner = 0.1665
    metric: Annotated[str, NameIn(METRICS)] = "mae"
    tolerance: NotNegative = 0.01
    support: Share = 0.5
    label_sign: float = 1.0
    seed: Seed = 0

    def check_parameters(self) -> None:
        for name, limits in self._ranges.items():
            if len(limits) != 2 or limits[0] > limits[1]:
                raise InputError(f"`{name}` must be [low, high] with low <= high, but got {list(limits)}")

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        if len(y) < _LEAST_SUPPORT:
            raise InputError(f"a choice of parameters needs {_LEAST_SUPPORT} rows, but got {len(y)}")
        first = len(y) - max(1, min(len(y) - 2, round(self.validation * len(y))))
        rng = np.random.default_rng(self.seed)
        grids = [
            [_axis(limits, step, float(rng.random())) for limits in self._ranges.values()]
            for step in self.steps
        ]
        self.grids_ = [[list(values) for values in grid] for grid in grids]
        validated = [_validated(X[:first], y[:first], grid, self.folds) for grid in grids]
        best = [self._judged(min(found, key=attrgetter("error")), X, y, first) for found in validated]
        self.chosen_ = best_setting(best, self.tolerance, self.support)
        self.best_ = [asdict(setting) for setting in best]
        self.model_ = best[self.chosen_].model.fit(X, y)
        return self

    def predict(self, X: Any) -> FloatArray:
        rows = rows_to_predict(self, X)
        return np.asarray(self.model_.predict(rows), np.float64)

    @property
    def _ranges(self) -> dict[str, Range]:
        return {"C": self.C, "gamma": self.gamma, "epsilon": self.epsilon}

    def _judged(self, setting: Setting, X: FloatArray, y: FloatArray, first: int) -> Setting:
        model = setting.model.fit(X[:first], y[:first])
        metric = METRICS.get(self.metric)()
        predicted = np.asarray(model.predict(X[first:]), np.float64)
        score = metric.score(self.label_sign * y[first:], self.label_sign * predicted)
        oriented = score if metric.higher_is_better else -score
        return replace(
            setting,
            score=-np.inf if np.isnan(oriented) else float(oriented),
            support_vectors=len(model.support_) / first,
        )


def best_setting(settings: Sequence[Setting], tolerance: float, support: float) -> int:
    """Index of the setting whose support-vector share is nearest to `support` among nearly best ones.

    Table 5 of the paper, its 1,527 training rows and DeltaAvg:

    >>> table = [(695, .62), (952, .63), (1509, .64), (1359, .63)]
    >>> best_setting([Setting(1, 1, 1, 0, score, count / 1527) for count, score in table], .01, .5)
    1
    """
    enough = max(setting.score for setting in settings) - tolerance - 1e-9  # .64 - .63 > .01 in binary
    near = [place for place, setting in enumerate(settings) if setting.score >= enough]
    return min(near, key=lambda i: (abs(settings[i].support_vectors - support), -settings[i].score))


def _axis(limits: Range, step: float, start: float) -> Values:
    """Values between two limits with a ratio of 2 ** step.

    The first is `start` (0 .. 1) of the way to the second, or to the higher limit if that is nearer.
    """
    low, high = np.log2(limits)
    powers = np.arange(low + start * min(step, high - low), high + 1e-9, step)
    return tuple((2.0**powers).tolist())


def _validated(X: FloatArray, y: FloatArray, grid: Sequence[Values], folds: int) -> Iterator[Setting]:
    costs, gammas, epsilons = grid
    parts = list(contiguous_folds(len(y), folds))
    for gamma in gammas:
        kernel = rbf_kernel(X, gamma=gamma)
        errors = np.zeros((len(costs), len(epsilons)))
        for train, held in parts:
            own, other = kernel[np.ix_(train, train)], kernel[np.ix_(held, train)]
            for i, j in product(range(len(costs)), range(len(epsilons))):
                model = SVR(kernel="precomputed", C=costs[i], epsilon=epsilons[j], cache_size=500)
                errors[i, j] += ((model.fit(own, y[train]).predict(other) - y[held]) ** 2).sum() / len(y)
        for i, j in product(range(len(costs)), range(len(epsilons))):
            yield Setting(costs[i], gamma, epsilons[j], float(errors[i, j]))


class SvrBySupport(Learner):
    """RBF-SVR with parameters chosen by a development set and the number of support vectors.

    See SvrChosenBySupport; deterministic for one seed.
    """

    regressor = SvrChosenBySupport
    trusted_types: ClassVar[tuple[str, ...]] = ("sklearn.svm._classes.SVR",)
