"""Run scores: systems over their optimizer runs, on the real test set and on virtual ones."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.progress import Progress
from qe.statistics.comparisons import Comparisons
from qe.statistics.intervals import jackknife_scores
from qe.statistics.levels import Levels, group_sums
from qe.statistics.result import Aggregate
from qe.statistics.scored import Additive, VirtualScores
from qe.systems.results import Instability, SystemScore


@dataclass(frozen=True, eq=False)
class RunDistributions:
    """Bootstrap scores of one system by one metric.

    They are (runs, samples) and, pooled, (samples,); also s_sel.

    NaN with one unit of any level: every virtual test set is the real one, and says nothing of the spread.
    """

    runs: FloatArray
    pooled: FloatArray
    s_sel: float


AllRuns = Mapping[tuple[str, str], RunDistributions]
"""(system, metric) -> its bootstrap scores, all of the same virtual test sets."""


def draw(scored: Additive, levels: Levels, samples: int, seed: int, progress: Progress) -> AllRuns:
    """Bootstrap scores of every run and of all runs together."""
    drawn = {}
    known = 1.0 if levels.smallest > 1 else np.nan
    for name, sums in scored.resampled_runs(levels, samples, seed, progress):
        runs = scored.statistics[name]
        units = None if levels.crossed else group_sums(runs, levels.single)
        for metric, measure in scored.measures.items():
            part, aggregate = sums[..., measure.columns], measure.aggregate
            scores = known * aggregate(part)
            spreads = [
                spread(scores[r])
                if units is None
                else _selection_spread(units[r][:, measure.columns], part[r], scores[r], aggregate)
                for r in range(len(runs))
            ]
            pooled = known * scored.pooled(sums, metric)
            drawn[name, metric] = RunDistributions(scores, pooled, float(np.mean(spreads)))
    return drawn


def pooled(bootstrap: AllRuns) -> VirtualScores:
    """(samples,) scores of all runs together."""
    return {key: item.pooled for key, item in bootstrap.items()}


def system_score(
    comparisons: Comparisons, scored: Additive, bootstrap: RunDistributions, system: str, metric: str,
    dev_scores: FloatArray | None,
) -> SystemScore:  # fmt: skip
    """The mean over runs, with its interval and the spreads over test sets and runs."""
    runs, aggregate = scored.runs(system, metric), scored.measures[metric].aggregate
    summary = replace(from_scores(runs, aggregate, bootstrap.runs, dev_scores), s_sel=bootstrap.s_sel)
    mean: FloatArray = bootstrap.runs.mean(axis=0)
    jackknife = [
        np.mean([jackknife_scores(run, aggregate) for run in group_sums(runs, groups)], axis=0)
        for _, groups in comparisons.levels.items()
    ]
    return SystemScore(summary, comparisons.interval_of(mean, summary.mean, jackknife), mean)


def _selection_spread(units: FloatArray, sums: FloatArray, scores: FloatArray, aggregate: Aggregate) -> float:
    plain = spread(scores)
    total = units.sum(axis=0)
    steps = np.diag(1e-4 * np.maximum(np.abs(total), 1))
    gradient = (aggregate(total + steps) - aggregate(total - steps)) / (2 * steps.diagonal())
    linear = spread(sums @ gradient)
    if not np.isfinite(gradient).all() or not linear > 0:
        return plain
    exact = float(np.sqrt(np.var(units @ gradient) * len(units)))
    return plain * exact / linear


def from_scores(
    runs: FloatArray, aggregate: Aggregate, bootstrap: FloatArray, dev_scores: FloatArray | None = None
) -> Instability:
    """One system from (runs, n, k) statistics and bootstrap scores (runs, samples).

    `dev_scores` (runs,) are its scores on a development set.
    """
    sums = runs.sum(axis=1)
    scores = aggregate(sums)
    chosen_by = scores if dev_scores is None else np.asarray(dev_scores, np.float64)
    return Instability(
        runs=tuple(float(score) for score in scores),
        mean=float(scores.mean()),
        pooled=float(aggregate(sums.sum(axis=0))),
        s_sel=float(np.mean([spread(run) for run in bootstrap])),
        s_test=spread(scores),
        s_dev=spread(np.asarray(dev_scores, np.float64)) if dev_scores is not None else float("nan"),
        median_run=int(np.argsort(chosen_by, kind="stable")[(len(scores) - 1) // 2]),
    )


def spread(scores: FloatArray) -> float:
    """Standard deviation with n - 1; NaN for fewer than two scores."""
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan")
