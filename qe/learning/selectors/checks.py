"""Checks of inputs, and annotations of parameters that name a metric, a learner or another selector."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from features.basics.array_types import BoolArray, FloatArray
from qe.learning.learner import LEARNERS
from qe.learning.learners.checks import training_data
from qe.learning.parameters import NameIn, StrategyIn
from qe.learning.selector import SELECTORS
from qe.statistics.metric import METRICS


def correlations(X: FloatArray, y: FloatArray) -> FloatArray:
    """|Pearson's r| (k,) of each column with y; 0 if either is constant."""
    varies = (np.ptp(X, axis=0) > 0) & (np.ptp(y) > 0)
    centred, target = X - X.mean(axis=0), y - y.mean()
    norm = np.sqrt((centred**2).sum(axis=0) * (target @ target))
    return np.where(varies, np.abs(centred.T @ target), 0.0) / np.where(varies & (norm > 0), norm, 1.0)


def never_empty(support: BoolArray, scores: FloatArray) -> BoolArray:
    return support if support.any() else np.asarray(np.arange(len(scores)) == scores.argmax())


__all__ = [
    "LearnerConfig", "MetricName", "SelectorConfig", "correlations", "never_empty", "training_data",
]  # fmt: skip
MetricName = Annotated[str, NameIn(METRICS)]
LearnerConfig = Annotated[Mapping[str, Any], StrategyIn(LEARNERS)]
SelectorConfig = Annotated[Mapping[str, Any], StrategyIn(SELECTORS)]
