"""The search as a figure: a metric per trial."""

from typing import Literal

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.display.drawing import (
    BLUE,
    GREY,
    VERMILLION,
    canvas,
    headline,
    legend,
)
from qe.display.numbers import number
from qe.statistics.metric import title_of
from qe.training.search import SearchResult


def study_history(
    values: ArrayLike,
    best: ArrayLike | None,
    direction: Literal["maximize", "minimize"],
    metric: str,
) -> Figure:
    """The objective per trial, in trial order, and the best value so far.

    values  (n,) one per trial, NaN for trials without a value (failed, pruned)
    best    (n,) best value so far; None: computed from the values

    Values so bad that they would flatten the rest lie at the edge of the plot as triangles. Raises
    InputError where no trial has a value.
    """
    heights = np.asarray(values, np.float64)
    finished = np.isfinite(heights)
    if not finished.any():
        raise InputError("no finished trial to plot")
    line = _best_so_far(heights, direction) if best is None else np.asarray(best, np.float64)
    trials = np.arange(1, len(heights) + 1)
    figure, axes = canvas(7.6, 4.4)
    low, high = _history_limits(heights[finished], direction)
    inside = finished & (heights >= low) & (heights <= high)
    outside = finished & ~inside
    axes.plot(
        trials[inside], heights[inside], "o", color=BLUE, alpha=0.55, markersize=5, mew=0, label="trial"
    )
    if outside.any():
        edge, marker = (low, "v") if direction == "maximize" else (high, "^")
        label = f"{outside.sum()} beyond the axis"
        axes.plot(
            trials[outside], np.full(outside.sum(), edge), marker, color=GREY, clip_on=False, label=label
        )
    axes.step(trials, line, where="post", color=VERMILLION, linewidth=1.8, label="best so far")
    axes.set(xlabel="trial", ylabel=metric, ylim=(low, high), xlim=(0.5, len(heights) + 0.5))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    legend(axes, "lower right" if direction == "maximize" else "upper right")
    winner = int((np.nanargmax if direction == "maximize" else np.nanargmin)(heights))
    counted = f"finished trials: n = {finished.sum():,}" + (
        f" of {len(heights):,}" if not finished.all() else ""
    )
    headline(
        axes, "Search", f"{counted} · best {number(heights[winner], 4)} at trial {winner + 1} ({direction})"
    )
    return figure


def _history_limits(values: FloatArray, direction: str) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    quarter, median, three = np.percentile(values, [25, 50, 75])
    reach = 3 * max(three - quarter, 0.02 * abs(median), 1e-9)
    if direction == "maximize":
        low = max(low, float(quarter - reach))
    else:
        high = min(high, float(three + reach))
    margin = 0.06 * (high - low) or max(0.1 * abs(low), 0.01)
    return low - margin, high + margin


def _best_so_far(values: FloatArray, direction: str) -> FloatArray:
    best = np.fmax if direction == "maximize" else np.fmin
    return np.asarray(best.accumulate(values), np.float64)


def pareto_front(result: SearchResult) -> Figure:
    """All trials by the first two objectives, with the Pareto front.

    No trial beats one of the front on every objective.
    """
    table, front = result.history(), [one["trial"] for one in result.front()]
    across, up = result.metrics[:2]
    figure, axes = canvas(6.4, 5.2)
    axes.plot(table[across], table[up], "o", color=GREY, markersize=5, mew=0, label="trial")
    best = table[table["trial"].isin(front)].sort_values(across)
    axes.plot(best[across], best[up], "o-", color=VERMILLION, markersize=6, label="front")
    for _, row in best.iterrows():
        axes.annotate(
            f"{row['trial']:.0f}", (row[across], row[up]), xytext=(4, 4), textcoords="offset points"
        )
    axes.set(xlabel=title_of(across), ylabel=title_of(up))
    legend(axes, "best")
    headline(axes, "Pareto front", f"{len(best)} of {len(table)} trials, with their numbers")
    return figure
