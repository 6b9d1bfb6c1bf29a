"""Coverage of prediction intervals as a figure."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qe.data.dataset import LabelScale
from qe.display.drawing import BLUE, GREY, PALETTE, headline, legend, new_figure, plain_axes
from qe.display.numbers import count, span
from qe.evaluation.coverage import BandCoverage, Coverage
from qe.evaluation.prediction_plots import scale_label

_SHOWN = (0.5, 0.8, 0.9)  # levels whose coverage by band is drawn, where they were measured


def interval_coverage(measured: Sequence[Coverage], scale: LabelScale, location: str) -> Figure:
    """Coverage of prediction intervals by the requested level, and by band.

    Bands are of labels and of predictions.

    measured  one entry per level, all of the same segments
    location  which segments, for the subtitle
    """
    figure = new_figure(10.4, 4.4)
    grid = figure.add_gridspec(1, 3, width_ratios=(1, 1.2, 1.2))
    panels = [figure.add_subplot(grid[0, column]) for column in range(3)]
    for axes in panels:
        plain_axes(axes)
        axes.set_ylim(0, 1.02)
    _asked_and_held(panels[0], measured)
    chosen = [entry for entry in measured if entry.level in _SHOWN] or list(measured)
    _held_by_band(panels[1], {entry.level: entry.by_label for entry in chosen}, f"gold {scale_label(scale)}")
    by_prediction = {entry.level: entry.by_prediction for entry in chosen}
    _held_by_band(panels[2], by_prediction, f"predicted {scale_label(scale)}")
    legend(panels[2], "lower right", "level asked for")
    headline(panels[0], "Coverage of prediction intervals", f"{location} · n = {measured[0].n:,}")
    return figure


def _held_by_band(axes: Axes, by_level: Mapping[float, Sequence[BandCoverage]], what: str) -> None:
    for (level, bands), colour in zip(by_level.items(), PALETTE * len(by_level), strict=False):
        places, held = range(len(bands)), [band.coverage for band in bands]
        axes.plot(places, held, "o-", color=colour, markersize=4, linewidth=1.4, label=f"{level:g}")
        axes.axhline(level, color=colour, linewidth=1, linestyle=":")
        axes.set_xticks(places, [f"{span(b.low, b.high, 3)}\nn = {count(b.n)}" for b in bands], fontsize=7)
    axes.set_xlabel(what)


def _asked_and_held(axes: Axes, measured: Sequence[Coverage]) -> None:
    asked = [entry.level for entry in measured]
    held = np.array([entry.coverage for entry in measured])
    ends = np.array([entry.ci for entry in measured]).T
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, label="held = asked for")
    reach = np.maximum(np.stack([held - ends[0], ends[1] - held]), 0)
    axes.errorbar(asked, held, reach, fmt="o-", color=BLUE, markersize=5, linewidth=1.4, label="held, 95 %")
    axes.set(xlim=(0, 1.02), xlabel="level asked for", ylabel="share of gold labels held")
    legend(axes, "upper left")
