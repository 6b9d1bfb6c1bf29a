"""Spearman's correlation of system scores."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import stats

from features.basics.array_types import FloatArray
from qe_human.correlations._systems import SystemCorrelation
from qe_human.correlations.system_pearson import weighted_pearson


@dataclass(frozen=True)
class SystemSpearman(SystemCorrelation):
    """Spearman's rho of the scores of systems, as the metrics tasks up to 2013 report it."""

    title: ClassVar[str] = "Spearman of systems"
    pearson: ClassVar[bool] = True  # of ranks

    def correlate(self, metric: FloatArray, human: FloatArray, weights: FloatArray) -> FloatArray:
        count = weights.astype(np.int64)
        scores, people = (
            stats.rankdata(np.repeat(values, count, axis=-1), axis=-1) for values in (metric, human)
        )
        return weighted_pearson(scores, people, np.ones(len(people)))
