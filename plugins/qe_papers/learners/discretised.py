"""Classification of labels rounded to intervals."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from qe.config.distributions import Choice, Distribution
from qe.learning.learner import Learner
from qe_papers.learners._discretised import TRUSTED_TYPES, DiscretisedRegressor


class Discretised(Learner):
    """A classifier over label intervals; the score is its expected value or likeliest class.

    Parameters: those of DiscretisedRegressor. Deterministic for one `seed`.

    Source: WMT12 DFKI, Section 2.4.1, with its four intervals.
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "classifier": Choice(["naive_bayes", "k_neighbours", "svm", "logistic", "tree"]),
        "interval": Choice([0.25, 0.5, 0.7, 1.0]),
        "output": Choice(["expected", "most_likely"]),
    }
    trusted_types: ClassVar[tuple[str, ...]] = TRUSTED_TYPES

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return DiscretisedRegressor(**{"seed": seed, **params})
