"""Classification of labels rounded to intervals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Positive, Seed
from qe.config.distributions import Choice, Distribution
from qe.learning.learner import Learner
from qe.learning.learners.checks import relative_weights, rows_to_predict, training_data
from qe.learning.learners.trees import FlatTrees
from qe.learning.parameters import estimator_mistakes

# Trees and forests are stored as arrays.
TRUSTED_TYPES = (
    "qe_papers.learners.discretised.DiscretisedRegressor",
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.naive_bayes.GaussianNB",
    "sklearn.neighbors._classification.KNeighborsClassifier",
    "sklearn.svm._classes.SVC",
)
_CLASSIFIERS: dict[str, tuple[type[BaseEstimator], dict[str, Any]]] = {  # with their defaults
    "naive_bayes": (GaussianNB, {}),
    "k_neighbours": (KNeighborsClassifier, {"n_neighbors": 10, "algorithm": "brute"}),
    "svm": (SVC, {"C": 1.0, "cache_size": 500}),
    "logistic": (LogisticRegression, {"C": 0.1, "max_iter": 1000}),
    "tree": (DecisionTreeClassifier, {"min_samples_leaf": 10}),
    "forest": (RandomForestClassifier, {"n_estimators": 100, "min_samples_leaf": 2}),
}

Classifier = Literal["naive_bayes", "k_neighbours", "svm", "logistic", "tree", "forest"]
Output = Literal["expected", "most_likely"]


@dataclass(repr=False, eq=False)
class DiscretisedRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of labels rounded to multiples of `interval`.

    classifier          `naive_bayes`, `k_neighbours`, `svm`, `logistic`, `tree` or `forest`
    interval            width of a class, in label units
    output              `expected` (sum of class times probability) or `most_likely`
    classifier_params   parameters of the scikit-learn classifier, with its names

    Halves are rounded up (2.5 to 3), as in Weka's Java. If all features are constant, class frequencies are
    predicted. The SVM has no probabilities; the softmax of its one-versus-rest decision values replaces them.
    After fit: `classes_` in label units, `frequencies_`.

    Source: WMT12 DFKI, Section 2.4.1; WMT12 DCU-SYMC, Section 4.1.
    """

    classifier: Classifier = "naive_bayes"
    interval: Positive = 0.5
    output: Output = "expected"
    classifier_params: dict[str, Any] | None = None
    seed: Seed = 0

    def check_parameters(self) -> None:
        given = self.classifier_params or {}
        wrong = estimator_mistakes(_CLASSIFIERS[self.classifier][0], given, "classifier_params")
        if listed := "; ".join(f"{place}: {what}" for place, what in wrong):
            raise InputError(listed)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        weights = relative_weights(sample_weight, len(y))
        steps = np.floor(y / self.interval + 0.5).astype(np.int64)
        levels, place = np.unique(steps, return_inverse=True)
        counts = np.bincount(place, weights)
        self.classes_, self.frequencies_ = levels * self.interval, counts / counts.sum()
        self.model_: Any = None
        if len(levels) > 1 and (np.ptp(X, axis=0) > 0).any():
            model = self._make()
            if self.classifier != "k_neighbours":
                model.fit(X, place, sample_weight=weights)
            elif sample_weight is None:
                model.fit(X, place)
            else:
                raise InputError("nearest neighbours take no weights", remedy="set `weights: none`")
            self.model_ = model
            if self.classifier in ("tree", "forest"):  # model files must not contain compiled trees
                trees = FlatTrees.from_forest(getattr(model, "estimators_", [model]))
                names = ("links", "threshold", "values", "roots")
                self.model_ = {name: getattr(trees, name) for name in names}
        return self

    def predict(self, X: Any) -> FloatArray:
        probabilities = self.predict_proba(X)
        if self.output == "most_likely":
            return np.asarray(self.classes_[probabilities.argmax(axis=1)])
        return np.asarray(probabilities @ self.classes_)

    def predict_proba(self, X: Any) -> FloatArray:
        X = rows_to_predict(self, X)
        if self.model_ is None:
            return np.tile(self.frequencies_, (len(X), 1))
        if self.classifier in ("tree", "forest"):
            return FlatTrees(**self.model_).mean(X)
        if self.classifier == "svm":
            decisions = self.model_.decision_function(X)
            if decisions.ndim == 1:
                decisions = np.column_stack([-decisions, decisions])
            shares = np.exp(decisions - decisions.max(axis=1, keepdims=True))
            return np.asarray(shares / shares.sum(axis=1, keepdims=True))
        return np.asarray(self.model_.predict_proba(X))

    def check_arrays(self) -> None:
        if self.classifier in ("tree", "forest") and self.model_ is not None:
            FlatTrees(**self.model_).check_arrays(self.n_features_in_)

    def _make(self) -> Any:
        kind, defaults = _CLASSIFIERS[self.classifier]
        params = {**defaults, **(self.classifier_params or {})}
        if self.classifier in ("tree", "forest", "svm", "logistic"):
            params = {"random_state": self.seed, **params}
        return kind(**params)


class Discretised(Learner):
    """A classifier of label intervals; the score is its expected value or most likely class.

    Parameters: those of DiscretisedRegressor. Deterministic for one `seed`.

    Source: WMT12 DFKI, Section 2.4.1, with its four intervals.
    """

    regressor = DiscretisedRegressor
    space: ClassVar[Mapping[str, Distribution]] = {
        "classifier": Choice(["naive_bayes", "k_neighbours", "svm", "logistic", "tree"]),
        "interval": Choice([0.25, 0.5, 0.7, 1.0]),
        "output": Choice(["expected", "most_likely"]),
    }
    trusted_types: ClassVar[tuple[str, ...]] = TRUSTED_TYPES
