"""One-sided t tests of a difference, with the jackknife's standard error."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from features.basics.array_types import FloatArray


def exceeds(difference: float, left_out: Sequence[FloatArray], bound: float, least: float = 0.0) -> float:
    """p-value of the hypothesis that the true difference is no larger than the bound.

    left_out  for each kind of units, (u,) differences with one unit left out
    least     p-value of what is certain: a difference that is above the bound whichever unit is left out

    For a mean of paired values this is the paired t test. NaN if a difference is undefined, or with one unit.
    """
    if np.isnan(difference) or any(np.isnan(d).any() or len(d) < 2 for d in left_out):
        return float("nan")
    error = float(np.sqrt(sum((len(d) - 1) / len(d) * np.sum((d - d.mean()) ** 2) for d in left_out)))
    if not error > 1e-12 * max(abs(difference), abs(bound)):
        return least if difference > bound else 1.0
    return float(stats.t.sf((difference - bound) / error, min(map(len, left_out)) - 1))
