"""Run scores: systems over their optimizer runs, on the real test set and on virtual ones."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.progress import Progress
from qe.statistics.additive import Additive
from qe.statistics.comparisons import Comparisons
from qe.statistics.groups import Groups, group_sums
from qe.statistics.instability import from_scores, spread
from qe.statistics.intervals import jackknife_scores
from qe.statistics.levels import Levels
from qe.statistics.result import Aggregate
from qe.statistics.scored import Drawn
from qe.systems.results import SystemScore


@dataclass(frozen=True, eq=False)
class DrawnRuns:
    """Bootstrap scores of one system by one metric.

    They are (runs, samples) and, pooled, (samples,); also s_sel.

    NaN with one unit of any level: every virtual test set is the real one, and says nothing of the spread.
    """

    runs: FloatArray
    pooled: FloatArray
    s_sel: float


AllDrawn = Mapping[tuple[str, str], DrawnRuns]
"""(system, metric) -> its bootstrap scores, all of the same virtual test sets."""


def draw(scored: Additive, levels: Levels, samples: int, seed: int, progress: Progress) -> AllDrawn:
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
            drawn[name, metric] = DrawnRuns(scores, pooled, float(np.mean(spreads)))
    return drawn


def pooled(drawn: AllDrawn) -> Drawn:
    """(samples,) scores of all runs together."""
    return {key: one.pooled for key, one in drawn.items()}


def system_score(
    comparisons: Comparisons, scored: Additive, drawn: DrawnRuns, system: str, metric: str,
    dev_scores: FloatArray | None,
) -> SystemScore:  # fmt: skip
    """The mean over runs, with its interval and the spreads over test sets and runs."""
    runs, aggregate = scored.runs(system, metric), scored.measures[metric].aggregate
    summary = replace(from_scores(runs, aggregate, drawn.runs, dev_scores), s_sel=drawn.s_sel)
    mean: FloatArray = drawn.runs.mean(axis=0)
    left_out = [_left_out(runs, aggregate, groups) for _, groups in comparisons.levels.each()]
    return SystemScore(summary, comparisons.of_drawn(mean, summary.mean, left_out), mean)


def _left_out(runs: FloatArray, aggregate: Aggregate, groups: Groups | None) -> FloatArray:
    scores = [jackknife_scores(run, aggregate) for run in group_sums(runs, groups)]
    return np.asarray(np.mean(scores, axis=0))


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
