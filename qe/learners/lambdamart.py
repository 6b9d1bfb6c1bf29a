"""LambdaMART: boosted trees that rank, calibrated to the scale."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from lightgbm import LGBMRanker
from numpy.typing import ArrayLike, NDArray
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from sklearn.base import BaseEstimator, RegressorMixin, clone

from qe.learners._base import Learner
from qe.learners._boosting import REPRODUCIBLE
from qe.learners._calibration import Calibration
from qe.learners._checks import rows_to_predict, training_data
from qe.learners._folds import cross_fit

FloatArray = NDArray[np.float64]


class GradedRanker(LGBMRanker):  # type: ignore[misc]
    """LGBMRanker of labels cut into equal grades, in random queries of at most `query_size` segments."""

    def __init__(self, grades: int = 20, query_size: int = 2000, **params: Any) -> None:
        super().__init__(**params)
        self.grades = grades
        self.query_size = query_size

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
        order = np.random.default_rng(self.random_state).permutation(len(y))
        share = (y - y.min()) / (np.ptp(y) or 1.0)
        sizes = [len(part) for part in np.array_split(order, -(-len(y) // self.query_size))]
        graded = np.round(share * (self.grades - 1)).astype(np.int64)
        super().fit(X[order], graded[order], group=sizes)
        return self

    def predict(self, X: ArrayLike, **more: Any) -> FloatArray:
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
        grades: int = 20,
        query_size: int = 2000,
        folds: int = 5,
        calibration: str = "linear",
        n_estimators: int = 100,
        num_leaves: int = 15,
        learning_rate: float = 0.05,
        min_child_samples: int = 20,
        colsample_bytree: float = 0.5,
        reg_lambda: float = 1.0,
        n_jobs: int = 1,
        seed: int = 0,
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

    space: ClassVar[Mapping[str, BaseDistribution]] = {
        "n_estimators": IntDistribution(20, 300, log=True),
        "learning_rate": FloatDistribution(0.01, 0.2, log=True),
        "num_leaves": IntDistribution(3, 31, log=True),
        "min_child_samples": IntDistribution(5, 100, log=True),
        "colsample_bytree": FloatDistribution(0.1, 1.0),
        "reg_lambda": FloatDistribution(1e-2, 100.0, log=True),
    }
    scale: ClassVar[bool] = False
    trusted_types: ClassVar[tuple[str, ...]] = (
        "collections.OrderedDict",
        "lightgbm.basic.Booster",
        "qe.learners.lambdamart.GradedRanker",
        "qe.learners.lambdamart.CalibratedRanker",
        "qe.learners._calibration.Calibration",
    )

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return CalibratedRanker(**{"seed": seed, **params})
