"""Pairwise accuracy of system scores."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from qe_human.correlations._systems import SystemCorrelation


@dataclass(frozen=True)
class PairwiseAccuracy(SystemCorrelation):
    """Share of system pairs whose difference has the same sign by metric and people. 0 is a sign, too.

    Source: Kocmi et al. 2021, "To Ship or Not to Ship", equation 1.
    """

    title: ClassVar[str] = "pairwise accuracy"

    def correlate(self, metric: FloatArray, human: FloatArray, weights: FloatArray) -> FloatArray:
        a, b = np.triu_indices(len(human), 1)
        same = np.sign(metric[..., a] - metric[..., b]) == np.sign(human[a] - human[b])
        drawn = weights[a] * weights[b]  # a system is no pair with itself
        return np.asarray(same @ drawn / drawn.sum())
