"""Agreement of judges: weighted kappa of pairs, Krippendorff's alpha of all."""

from typing import Literal

import numpy as np
from scipy.sparse import csr_array
from sklearn.metrics import cohen_kappa_score

from features.basics.array_types import FloatArray, IntArray

LARGEST = 1000  # grades, or distinct scores, that tables of all pairs of them are made for


def weighted_kappa(
    scores_a: FloatArray, scores_b: FloatArray, weights: Literal["linear", "quadratic"] = "quadratic"
) -> float | None:
    """Cohen's weighted kappa of two judges; 1 is full agreement, 0 agreement by chance.

    Over the segments that both judged. None if scores are not whole numbers, both judges always gave one and
    the same score, or grades are more than 1,000 apart.

    Source: Cohen 1968, "Weighted kappa", by scikit-learn.

    >>> round(weighted_kappa(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 4, 3])), 3)
    0.8
    """
    both = np.isfinite(scores_a) & np.isfinite(scores_b)
    scores_a, scores_b = scores_a[both], scores_b[both]
    if not len(scores_a) or (scores_a % 1).any() or (scores_b % 1).any():
        return None
    grades = np.arange(min(scores_a.min(), scores_b.min()), max(scores_a.max(), scores_b.max()) + 1)
    if not 1 < len(grades) <= LARGEST:
        return None
    labels = [column.astype(np.int64) for column in (scores_a, scores_b, grades)]
    return float(cohen_kappa_score(labels[0], labels[1], labels=labels[2], weights=weights))


Level = Literal["nominal", "ordinal", "interval", "ratio"]


def krippendorff_alpha(judges: FloatArray, level: Level = "ordinal") -> float | None:
    """Krippendorff's alpha of (n, j) scores; NaN marks a missing score.

    1 is full agreement, 0 agreement by chance.

    None if no segment has two scores, all scores are equal, or more than 1,000 are distinct.

    Source: Krippendorff 2011, "Computing Krippendorff's alpha-reliability", sections C and D.

    >>> krippendorff_alpha(np.array([[1.0, 1], [2, 2], [3, 3]]))
    1.0
    """
    paired = judges[np.isfinite(judges).sum(axis=1) > 1]
    rows, columns = np.nonzero(np.isfinite(paired))
    scores, codes = np.unique(paired[rows, columns], return_inverse=True)
    if not 1 < len(scores) <= LARGEST:
        return None
    together = _coincidences(rows, codes)
    often = together.sum(axis=1)
    distances = _distances(scores, often, level)
    by_chance = often @ distances @ often / (often.sum() - 1)
    return float(1 - (together * distances).sum() / by_chance)


def _coincidences(rows: IntArray, codes: IntArray) -> FloatArray:
    weights = 1.0 / (np.bincount(rows)[rows] - 1)
    counts = csr_array((np.ones(len(rows)), (rows, codes)))
    weighted = csr_array((weights, (rows, codes)))
    pairs = (counts.T @ weighted).toarray()
    return np.asarray(pairs - np.diag(np.bincount(codes, weights)))


def _distances(scores: FloatArray, often: FloatArray, level: Level) -> FloatArray:
    if level == "nominal":
        return 1.0 - np.eye(len(scores))
    if level == "ordinal":  # a score lies in the middle of its ranks
        scores = np.cumsum(often) - often / 2
    differences = scores[:, None] - scores[None, :]
    if level == "ratio":
        sums = scores[:, None] + scores[None, :]
        differences = np.divide(differences, sums, out=np.zeros_like(sums), where=sums != 0)
    return np.asarray(differences**2)
