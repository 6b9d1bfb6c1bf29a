"""The runs of all systems as a figure."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qe.display.drawing import BLUE, INK, PALETTE, SKY, VERMILLION, new_figure
from qe.systems.one_run_each import SingleRuns
from qe.systems.results import SystemsComparison, SystemScore
from qe.systems.text_metric import title_of

DIRECTIONS = {True: "higher is better", False: "lower is better", None: "neither direction is better"}


def runs_plot(comparison: SystemsComparison) -> Figure:
    """Plot a panel per metric: runs as points on the distribution of each system's mean.

    The distribution is the bootstrap's.
    """
    names = list(comparison.scores)
    figure = new_figure(1.2 + 1.3 * len(names) * len(comparison.metrics), 3.6)
    panels = figure.subplots(1, len(comparison.metrics), squeeze=False)[0]
    for axes, (metric, kind) in zip(panels, comparison.metrics.items(), strict=True):
        for place, name in enumerate(names):
            _draw(axes, place, comparison.scores[name][metric])
        axes.set_title(f"{title_of(metric)}\n({DIRECTIONS[kind.higher_is_better]})", fontsize=9)
        axes.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=8)
    figure.supxlabel("points: runs; bars: means; shapes: bootstrap of the mean", fontsize=8)
    return figure


def _draw(axes: Axes, place: int, score: SystemScore) -> None:
    drawn, runs = score.bootstrap[np.isfinite(score.bootstrap)], score.instability.runs
    if len(drawn) > 1 and np.ptp(drawn) > 0:
        (body,) = cast(list[Artist], axes.violinplot(drawn, [place], widths=0.8, showextrema=False)["bodies"])
        body.set(facecolor=SKY, alpha=0.35)
    offsets = np.linspace(-0.12, 0.12, len(runs)) if len(runs) > 1 else [0.0]
    axes.plot(place + np.asarray(offsets), runs, "o", color=BLUE, markersize=5)
    axes.hlines(score.instability.mean, place - 0.25, place + 0.25, color=VERMILLION)


def by_runs_plot(comparisons: Sequence[SingleRuns]) -> Figure:
    """Plot a panel per metric: differences from the baseline by number of runs.

    The plot follows Clark et al. 2011, Figure 2.
    """
    metrics = list(dict.fromkeys(item.metric for item in comparisons))
    figure = new_figure(1.2 + 2.6 * len(metrics), 3.2)
    panels = figure.subplots(1, len(metrics), squeeze=False)[0]
    for axes, metric in zip(panels, metrics, strict=True):
        own = [item for item in comparisons if item.metric == metric]
        for number, item in enumerate(own):
            shift = (number - (len(own) - 1) / 2) * 0.5 / len(own)
            _draw_by_runs(axes, item, shift, PALETTE[number % len(PALETTE)])
        axes.axhline(0, color=INK, linewidth=1)
        axes.set_title(title_of(metric), fontsize=9)
        axes.set_xticks([each.runs for each in own[0].by_number])
        axes.legend(fontsize=8, frameon=False)
    figure.supxlabel("runs of each system; bars: 95 % of the ways to choose them", fontsize=8)
    return figure


def _draw_by_runs(axes: Axes, item: SingleRuns, shift: float, colour: str) -> None:
    places = [each.runs + shift for each in item.by_number]
    axes.plot(places, [each.median for each in item.by_number], "o", color=colour, label=item.system)
    for place, each in zip(places, item.by_number, strict=True):
        axes.plot((place, place), each.bounds, color=colour, linewidth=1.6)
