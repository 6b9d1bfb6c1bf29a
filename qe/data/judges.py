"""Several judges: labels by weights from the spread of scores, disagreement, kappa and alpha."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import rankdata
from sklearn.metrics import cohen_kappa_score

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.display.summary import Printable

LARGEST = 1000  # grades, or distinct scores, that tables of all pairs of them are made for


def weighted_kappa(
    scores_a: FloatArray, scores_b: FloatArray, weights: Literal["linear", "quadratic"] = "quadratic"
) -> float | None:
    """Cohen's weighted kappa over the segments that both judged; 1 is full agreement, 0 agreement by chance.

    None if scores are not whole numbers, both judges always gave the same score, or grades are more than
    1,000 apart. Source: Cohen 1968, "Weighted kappa", by scikit-learn.

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
    """Krippendorff's alpha of (n, j) scores, NaN if missing; 1 is full agreement, 0 agreement by chance.

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
    weights = 1.0 / (np.bincount(rows)[rows] - 1)
    counts = csr_array((np.ones(len(rows)), (rows, codes)))
    weighted = csr_array((weights, (rows, codes)))
    pairs = (counts.T @ weighted).toarray()
    together = np.asarray(pairs - np.diag(np.bincount(codes, weights)))
    often = together.sum(axis=1)
    if level == "ordinal":  # a score lies in the middle of its ranks
        scores = np.cumsum(often) - often / 2
    differences = scores[:, None] - scores[None, :]
    if level == "nominal":
        differences = 1.0 - np.eye(len(scores))
    elif level == "ratio":
        sums = scores[:, None] + scores[None, :]
        differences = np.divide(differences, sums, out=np.zeros_like(sums), where=sums != 0)
    distances = differences**2
    by_chance = often @ distances @ often / (often.sum() - 1)
    return float(1 - (together * distances).sum() / by_chance)


MAX_DIFFERENCE = 1.0


@dataclass(frozen=True, eq=False)
class JudgedLabels(Printable):
    """Labels of n segments.

    Attributes
    ----------
    scores : array of float
        (n,) weighted mean of the judges; NaN for rows without a score, and for excluded rows.
    weights : array of float
        (j,) of the judges; they sum to 1.
    differences : array of float
        (n,) highest minus lowest score of a row; NaN without scores.
    excluded : array of bool
        (n,) rows whose judges differ by more than is allowed.
    """

    scores: FloatArray
    weights: FloatArray
    differences: FloatArray
    excluded: NDArray[np.bool_]

    def table(self) -> pd.DataFrame:
        """One row per segment: id (from 1), label, difference of the judges, whether it is excluded."""
        return pd.DataFrame(
            {
                "id": range(1, len(self.scores) + 1),
                "label": self.scores,
                "difference": self.differences,
                "excluded": self.excluded,
            }
        )

    def to_json(self) -> dict[str, Any]:
        """Segments, excluded ones, weights, mean and standard deviation of the labels."""
        labels = self.scores[np.isfinite(self.scores)]
        return {
            "segments": len(self.scores),
            "excluded": int(self.excluded.sum()),
            "weights": self.weights.tolist(),
            "mean": float(labels.mean()),
            "sd": float(labels.std()),
        }


def judged_labels(judges: FloatArray, max_difference: float | None = MAX_DIFFERENCE) -> JudgedLabels:
    """Labels from individual scores.

    Source: Callison-Burch et al. 2012, "Findings of the 2012 Workshop on Statistical Machine Translation",
    6.1: differences above 1 are dropped; the judges, by standard deviation, weigh 3, 2 and 1.

    Parameters
    ----------
    judges : array of float
        (n, j), NaN for a score that is missing: the row's other judges share its weight.
    max_difference : float or None, default=MAX_DIFFERENCE
        Rows whose scores differ by more are excluded, and do not count for weights; None: none.

    Examples
    --------
    >>> labels = judged_labels(np.array([[1.0, 2, 1], [3, 3, 3], [5, 4, 4], [1, 5, 2]]))
    >>> labels.scores.round(2).tolist(), labels.excluded.tolist()
    ([1.17, 3.0, 4.5, nan], [False, False, False, True])

    Raises InputError for fewer than two judges, for a `max_difference` below 0, or if all rows are excluded.
    """
    scores = np.asarray(judges, np.float64)
    if max_difference is not None and not max_difference >= 0:
        raise InputError(f"the largest difference of judges is a number from 0, but got {max_difference}")
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise InputError(f"scores of two judges or more are needed, but got shape {scores.shape}")
    there = np.isfinite(scores).any(axis=1)
    differences = np.full(len(scores), np.nan)
    differences[there] = np.nanmax(scores[there], axis=1) - np.nanmin(scores[there], axis=1)
    excluded = differences > (np.inf if max_difference is None else max_difference + 1e-9)
    kept = there & ~excluded
    if not kept.any():
        raise InputError(
            f"the judges differ by more than {max_difference} on every segment",
            remedy="allow larger differences",
        )
    weights = judge_weights(scores[kept])
    labels = np.full(len(scores), np.nan)
    labels[kept] = weighted_means(scores[kept], weights)
    return JudgedLabels(labels, weights, differences, excluded)


def judge_weights(judges: FloatArray) -> FloatArray:
    """(j,) weights of judges from (n, j) scores: ranks of standard deviations, over the sum of ranks.

    Judges with equal deviations share their weights; NaN is left out. Source: findings of WMT12, 6.1.
    """
    deviations = np.array([np.std(column[np.isfinite(column)]) for column in judges.T])
    ranks = rankdata(np.round(deviations, 12))
    return np.asarray(ranks / ranks.sum())


def weighted_means(judges: FloatArray, weights: FloatArray) -> FloatArray:
    """(n,) means of the (n, j) scores by (j,) weights, over the judges that each row has."""
    shares = np.where(np.isfinite(judges), weights, 0.0)
    return np.asarray((np.nan_to_num(judges) * shares).sum(axis=1) / shares.sum(axis=1))
