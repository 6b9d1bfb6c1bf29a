"""Agreement of judges: weighted kappa of pairs, Krippendorff's alpha of all."""

from typing import Literal

import krippendorff
import numpy as np
from sklearn.metrics import cohen_kappa_score

from features.basics.array_types import FloatArray

LARGEST = 1000  # grades, or distinct scores, that tables of all pairs of them are made for


def weighted_kappa(
    left: FloatArray, right: FloatArray, weights: Literal["linear", "quadratic"] = "quadratic"
) -> float | None:
    """Cohen's weighted kappa of two judges; 1 is full agreement, 0 agreement by chance.

    Over the segments that both judged. None if scores are not whole numbers, both judges always gave one and
    the same score, or grades are more than 1,000 apart.

    Source: Cohen 1968, "Weighted kappa", by scikit-learn.

    >>> round(weighted_kappa(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 4, 3])), 3)
    0.8
    """
    both = np.isfinite(left) & np.isfinite(right)
    left, right = left[both], right[both]
    if not len(left) or (left % 1).any() or (right % 1).any():
        return None
    grades = np.arange(min(left.min(), right.min()), max(left.max(), right.max()) + 1)
    if not 1 < len(grades) <= LARGEST:
        return None
    labels = [column.astype(np.int64) for column in (left, right, grades)]
    return float(cohen_kappa_score(labels[0], labels[1], labels=labels[2], weights=weights))


def krippendorff_alpha(
    judges: FloatArray, level: Literal["nominal", "ordinal", "interval", "ratio"] = "ordinal"
) -> float | None:
    """Krippendorff's alpha of (n, j) scores, NaN if missing; 1 is full agreement, 0 agreement by chance.

    None if no two judges scored the same segment, all scores are equal, or more than 1,000 are distinct.

    Source: Krippendorff 2011, "Computing Krippendorff's alpha-reliability", by the package krippendorff.

    >>> krippendorff_alpha(np.array([[1.0, 1], [2, 2], [3, 3]]))
    1.0
    """
    paired = judges[np.isfinite(judges).sum(axis=1) > 1]
    if not 1 < len(np.unique(paired[np.isfinite(paired)])) <= LARGEST:
        return None
    return float(krippendorff.alpha(reliability_data=paired.T, level_of_measurement=level))
