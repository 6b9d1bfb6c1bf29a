"""Information gain relative to the feature's own entropy."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from optuna.distributions import BaseDistribution, IntDistribution

from qe.selection._checks import FloatArray
from qe.selection._entropy import classes, gains
from qe.selection._ranking import RankingSelector


class GainRatio(RankingSelector):
    """Information gain / H(feature), 0 .. 1; see InformationGain for the parameters.

    Source: WMT12 DFKI, Section 2.3; Quinlan 1986.
    """

    space: ClassVar[Mapping[str, BaseDistribution]] = {"n_features": IntDistribution(5, 200, log=True)}

    def __init__(
        self, n_features: int | None = None, threshold: float | None = 0.0, interval: float = 1.0
    ) -> None:
        self.n_features = n_features
        self.threshold = threshold
        self.interval = interval

    def _scores(self, X: FloatArray, y: FloatArray) -> FloatArray:
        gain, own = gains(X, classes(y, self.interval))
        return np.where(own > 0, gain, 0.0) / np.where(own > 0, own, 1.0)
