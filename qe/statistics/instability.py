"""Optimizer instability: how far scores spread over test sets and over optimizer runs.

Clark et al. 2011, section 4.1.
"""

from dataclasses import dataclass

import numpy as np

from features.basics.array_types import FloatArray
from qe.statistics.bootstrap import bootstrap_scores
from qe.statistics.groups import Groups
from qe.statistics.result import Aggregate, as_runs


@dataclass(frozen=True)
class Instability:
    """One system over its optimizer runs, in units of the metric.

    Attributes
    ----------
    runs : tuple of float
        (r,) score of each run on the test set.
    mean : float
        Mean over runs.
    pooled : float
        Score of the statistics of all runs together.
    s_sel : float
        Test set selection: bootstrap standard deviation, averaged over runs.
    s_test : float
        Standard deviation over runs on the test set (n - 1); NaN for one run.
    s_dev : float
        The same on the development set; NaN if no scores are given.
    median_run : int
        Index of the run with the median score (the lower one of an even number), on the development set
        if scores on it are given (section 6, of manual analysis), else on the test set.
    """

    runs: tuple[float, ...]
    mean: float
    pooled: float
    s_sel: float
    s_test: float
    s_dev: float
    median_run: int


def instability(
    statistics: FloatArray,
    aggregate: Aggregate,
    *,
    dev_scores: FloatArray | None = None,
    samples: int = 1000,
    seed: int = 0,
    groups: Groups | None = None,
) -> Instability:
    """Measures one system from (runs, n, k) statistics.

    `dev_scores` (runs,) are its scores on a development set.
    """
    runs = as_runs(statistics)
    drawn = bootstrap_scores(runs, aggregate, samples=samples, seed=seed, groups=groups)
    return from_scores(runs, aggregate, drawn, dev_scores)


def from_scores(
    runs: FloatArray, aggregate: Aggregate, drawn: FloatArray, dev_scores: FloatArray | None = None
) -> Instability:
    """The same from bootstrap scores (runs, samples) that are there already."""
    sums = runs.sum(axis=1)
    scores = aggregate(sums)
    chosen_by = scores if dev_scores is None else np.asarray(dev_scores, np.float64)
    return Instability(
        runs=tuple(float(score) for score in scores),
        mean=float(scores.mean()),
        pooled=float(aggregate(sums.sum(axis=0))),
        s_sel=float(np.mean([spread(run) for run in drawn])),
        s_test=spread(scores),
        s_dev=spread(np.asarray(dev_scores, np.float64)) if dev_scores is not None else float("nan"),
        median_run=int(np.argsort(chosen_by, kind="stable")[(len(scores) - 1) // 2]),
    )


def spread(scores: FloatArray) -> float:
    """Standard deviation with n - 1; NaN for fewer than two scores."""
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan")
