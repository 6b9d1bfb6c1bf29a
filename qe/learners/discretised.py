"""Classification of labels rounded to intervals."""

from collections.abc import Mapping
from typing import Any, ClassVar

from optuna.distributions import BaseDistribution, CategoricalDistribution
from sklearn.base import BaseEstimator

from qe.learners._base import Learner
from qe.learners._discretised import DiscretisedRegressor


class Discretised(Learner):
    """A classifier over label intervals, its expected value or its most likely class as the score.

    Parameters: those of DiscretisedRegressor. Deterministic for one `seed`.

    Source: WMT12 DFKI, Section 2.4.1, with its four intervals.
    """

    space: ClassVar[Mapping[str, BaseDistribution]] = {
        "classifier": CategoricalDistribution(["naive_bayes", "k_neighbours", "svm", "logistic", "tree"]),
        "interval": CategoricalDistribution([0.25, 0.5, 0.7, 1.0]),
        "output": CategoricalDistribution(["expected", "most_likely"]),
    }
    trusted_types: ClassVar[tuple[str, ...]] = ("qe.learners._discretised.DiscretisedRegressor",)

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return DiscretisedRegressor(**{"seed": seed, **params})
