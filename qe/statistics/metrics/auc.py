"""AUC: the area under the ROC curve of two classes."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from qe.statistics.metric import RankedMetric
from qe.statistics.metrics._classes import worse
from qe.statistics.metrics._ranks import tie_groups


class Auc(RankedMetric):
    """Chance that a segment of the better class is predicted higher than a worse one.

    Ties count half.

    0 .. 1, .5 for a guess; NaN if the labels have only one class.

    Source: Hanley and McNeil 1982.

    >>> Auc().score(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.9, 0.2, 0.1, 0.2]))
    0.875
    """

    title = "AUC"
    help = "chance that the better class is predicted higher"
    kind = "classes"
    higher_is_better = True

    def resample(self, gold: FloatArray, predicted: FloatArray, counts: NDArray[np.int32]) -> FloatArray:
        bad, _ = worse(gold, np.zeros_like(gold))
        groups, count = tie_groups(predicted)
        scores = np.empty(len(counts))
        _resample(bad, groups, count, counts, scores)
        return scores


@numba.njit(cache=True, nogil=True)
def _resample(bad: Any, groups: Any, count: int, counts: Any, scores: Any) -> None:
    sides = np.empty((2, count))
    for b in range(len(counts)):
        sides[:] = 0.0
        for i in range(len(groups)):
            sides[0 if bad[i] else 1, groups[i]] += counts[b, i]
        below, won = 0.0, 0.0
        for g in range(count):
            won += sides[1, g] * (below + 0.5 * sides[0, g])
            below += sides[0, g]
        pairs = below * sides[1].sum()
        scores[b] = won / pairs if pairs > 0.0 else np.nan
