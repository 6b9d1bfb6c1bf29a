"""LambdaMART: boosted trees that rank, calibrated to the scale."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from annotated_types import Ge, Le
from lightgbm import LGBMRanker
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone

from features.basics.array_types import FloatArray
from features.basics.hints import Count, NotNegative, Positive, Seed
from qe.config.distributions import Distribution, IntRange
from qe.config.ranges import Folds, Part, Threads
from qe.learning.boosting import REPRODUCIBLE, SMALL_TREES, Leaves, check_settings
from qe.learning.learner import Learner
from qe.learning.learners._calibration import Calibration
from qe.learning.learners._checks import rows_to_predict, training_data
from qe.learning.learners._folds import cross_fit


class GradedRanker(LGBMRanker):
    """LGBMRanker of labels cut into equal grades, in random queries of at most `query_size` segments."""

    def __init__(
        self,
        grades: int = 20,
        query_size: int = 2000,
        **params: Any,
    ) -> None:
        super().__init__(**params)
        self.grades = grades
        self.query_size = query_size

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # type: ignore[override]  # queries are its own
        X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
        order = np.random.default_rng(self.random_state).permutation(len(y))
        share = (y - y.min()) / (np.ptp(y) or 1.0)
        sizes = [len(part) for part in np.array_split(order, -(-len(y) // self.query_size))]
        graded = np.round(share * (self.grades - 1)).astype(np.int64)
        super().fit(X[order], graded[order], group=sizes)
        return self

    def check_arrays(self) -> None:
        """Raises Damaged for settings that LightGBM cannot be run with; its trees are checked as text."""
        check_settings(self)

    def predict(self, X: ArrayLike, **more: Any) -> FloatArray:  # type: ignore[override]
        return np.asarray(super().predict(np.asarray(X, np.float64), **more), np.float64)


class CalibratedRanker(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """LambdaMART scores mapped to the labels by a `calibration` learned on cross-fitted scores.

    grades                       grades the labels are cut into; pairs of different grades are compared
    query_size                   segments ranked together (LightGBM allows 10,000)
    folds                        contiguous blocks of the cross-fitting
    calibration                  `linear` or `isotonic`, see Calibration
    n_estimators, num_leaves, learning_rate, min_child_samples, colsample_bytree, reg_lambda as in LightGBM

    After fit: `ranker_`; `calibration_`, the sign that scores were calibrated.

    Source: Burges 2010; Ke et al. 2017.
    """

    def __init__(
        self,
        grades: Annotated[int, Ge(2)] = 20,
        query_size: Annotated[int, Ge(2), Le(10_000)] = 2000,
        folds: Folds = 5,
        calibration: Literal["linear", "isotonic"] = "linear",
        n_estimators: Count = 100,
        num_leaves: Leaves = 15,
        learning_rate: Positive = 0.05,
        min_child_samples: Annotated[int, Ge(0)] = 20,
        colsample_bytree: Part = 0.5,
        reg_lambda: NotNegative = 1.0,
        n_jobs: Threads = 1,
        seed: Seed = 0,
    ) -> None:
        self.grades = grades
        self.query_size = query_size
        self.folds = folds
        self.calibration = calibration
        self.n_estimators = n_estimators
        self.num_leaves = num_leaves
        self.learning_rate = learning_rate
        self.min_child_samples = min_child_samples
        self.colsample_bytree = colsample_bytree
        self.reg_lambda = reg_lambda
        self.n_jobs = n_jobs
        self.seed = seed

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        own = ("folds", "calibration", "seed")
        params = {name: value for name, value in self.get_params().items() if name not in own}
        ranker = GradedRanker(
            **{**REPRODUCIBLE, **params},
            random_state=self.seed,
            label_gain=list(range(self.grades)),
            lambdarank_truncation_level=self.query_size,
        )
        held_out = cross_fit(ranker, X, y, self.folds)
        self.calibration_ = Calibration(self.calibration).fit(held_out, y)
        self.ranker_ = clone(ranker).fit(X, y)
        return self

    def predict(self, X: Any) -> FloatArray:
        return self.calibration_.predict(self.ranker_.predict(rows_to_predict(self, X)))


class LambdaMart(Learner):
    """Boosted trees with a ranking objective, calibrated; see CalibratedRanker for the parameters."""

    space: ClassVar[Mapping[str, Distribution]] = {
        "n_estimators": IntRange(20, 300, log=True),
        **SMALL_TREES,
    }
    scale: ClassVar[bool] = False
    trusted_types: ClassVar[tuple[str, ...]] = (
        "collections.OrderedDict",
        "lightgbm.basic.Booster",
        "qe.learning.learners.lambdamart.GradedRanker",
        "qe.learning.learners.lambdamart.CalibratedRanker",
        "qe.learning.learners._calibration.Calibration",
    )

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return CalibratedRanker(**{"seed": seed, **params})
