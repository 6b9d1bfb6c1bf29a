"""DensityRatio: relative frequency of segments in use and in training."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from features.basics.array_types import FloatArray
from qe.models.difficulty import medians_of
from qe.models.linear import LinearFunction, inputs

_PENALTIES = (1e-4, 1e-3, 1e-2, 0.1, 1.0)  # scikit-learn's C: from almost no shift to almost no shrinkage
_MOST = 20.0  # weights are between 1/20 and 20 times the mean, so that a few rows do not dominate


@dataclass(frozen=True, eq=False)
class DensityRatio(LinearFunction):
    """Log ratio of two densities by logistic regression (Tibshirani, Barber, Candes and Ramdas 2019, 2.3)."""

    @classmethod
    def fit(
        cls,
        features: FloatArray,
        predicted: FloatArray,
        new_features: FloatArray,
        new_predicted: FloatArray,
        seed: int = 0,
    ) -> Self:
        """Fits features (n, k) and predictions (n,); cross-validation chooses the penalty (5 folds)."""
        from sklearn.linear_model import LogisticRegressionCV
        from sklearn.model_selection import StratifiedKFold

        medians = medians_of(features)
        own, other = inputs(features, predicted, medians), inputs(new_features, new_predicted, medians)
        table = np.concatenate([own, other])
        centre, spread = table.mean(axis=0), table.std(axis=0)
        scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12)
        is_new = np.repeat([0, 1], [len(own), len(other)])
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        fitted = LogisticRegressionCV(
            Cs=list(_PENALTIES), l1_ratios=(0.0,), cv=folds, scoring="neg_log_loss", max_iter=1000,
            use_legacy_attributes=False,
        )  # fmt: skip
        fitted.fit((table - centre) * scale, is_new)
        intercept = float(np.ravel(fitted.intercept_)[0] - np.log(len(other) / len(own)))
        return cls(medians, centre, np.ravel(fitted.coef_) * scale, intercept)

    def weights(self, features: FloatArray, predicted: FloatArray) -> FloatArray:
        """Density (n,) of new segments over that of calibration rows, from 1/20 to 20."""
        raw = self.value(features, predicted)
        return np.asarray(np.exp(np.clip(raw, -np.log(_MOST), np.log(_MOST))))
