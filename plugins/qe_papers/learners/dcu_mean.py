"""Mean of three classifiers of rounded labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from features.basics.hints import Count, Positive, Seed
from qe.config.distributions import Choice, Distribution, FloatRange
from qe.learning.learners.checks import rows_to_predict, training_data
from qe_papers.learner import OwnLearner
from qe_papers.learners.discretised import TRUSTED_TYPES, Classifier, DiscretisedRegressor, Output


@dataclass(repr=False, eq=False)
class ClassifierMean(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Mean of an RBF-SVM, naive Bayes and a random forest, classifiers of labels rounded to `interval`.

    C, gamma       SVM parameters
    n_estimators   trees of the forest; 10, and log2(M) + 1 of M features per split, are Weka's of 2012
    output         `most_likely`, as published, or `expected`

    Source: WMT12 DCU-SYMC, Section 4.1.
    """

    C: Positive = 1.0
    gamma: Positive | Literal["scale", "auto"] = "scale"
    n_estimators: Count = 10
    interval: Positive = 1.0
    output: Output = "most_likely"
    seed: Seed = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        params: dict[Classifier, dict[str, Any]] = {
            "svm": {"C": self.C, "gamma": self.gamma},
            "naive_bayes": {},
            "forest": {
                "n_estimators": self.n_estimators,
                "min_samples_leaf": 1,
                "max_features": tried_features(X.shape[1]),
            },
        }
        self.members_ = [
            DiscretisedRegressor(name, self.interval, self.output, own, self.seed).fit(X, y, sample_weight)
            for name, own in params.items()
        ]
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        X = rows_to_predict(self, X)
        return np.asarray(np.mean([member.predict(X) for member in self.members_], axis=0))


def tried_features(columns: int) -> int:
    """Features per split in Weka's forest of 2012: the integer part of log2(M) + 1.

    >>> [tried_features(columns) for columns in (1, 54, 64, 113)]
    [1, 6, 7, 7]
    """
    return columns.bit_length()


class DcuMean(OwnLearner):
    """The combination of DCU-SYMC; see ClassifierMean. Deterministic for one `seed`."""

    regressor = ClassifierMean
    space: ClassVar[Mapping[str, Distribution]] = {
        "C": FloatRange(0.1, 30.0, log=True),
        "gamma": FloatRange(1e-4, 0.3, log=True),
        "output": Choice(["most_likely", "expected"]),
    }
    trusted_types: ClassVar[tuple[str, ...]] = TRUSTED_TYPES
