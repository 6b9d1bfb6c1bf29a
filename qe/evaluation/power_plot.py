"""The power curves of a report as a figure."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from qe.display.drawing import GREY, INK, PALETTE, new_figure, plain_axes
from qe.display.numbers import count, general
from qe.evaluation.power import MetricPower, Point, PowerReport
from qe.statistics.metric import title_of


def power_plot(report: PowerReport) -> Figure:
    """A row per metric: power over the gain at one size, and over sizes for one gain.

    The size is the one in question.
    """
    asked = any(one.by_size for one in report.metrics)
    rows, columns = len(report.metrics), 2 if asked else 1
    figure = new_figure(1.2 + 4.6 * columns, 1.0 + 2.9 * rows)
    panels = figure.subplots(rows, columns, squeeze=False)
    unit = report.recipe["unit"]
    for i, (row, one) in enumerate(zip(panels, report.metrics, strict=True)):
        colour = PALETTE[i % len(PALETTE)]
        _curve(row[0], one.by_gain, "difference", report.recipe["power"], one.detectable, colour)
        row[0].set(xlabel=f"true gain in {title_of(one.metric)}", ylabel="power")
        row[0].set_title(f"{title_of(one.metric)}: {one.size:,} {unit}s", loc="left", color=INK)
        if asked and one.by_size:
            needed = float("nan") if one.needed is None else float(one.needed)
            _curve(row[1], one.by_size, "size", report.recipe["power"], needed, colour)
            row[1].set(xlabel=f"{unit}s")
            row[1].set_title(_needs(one, unit), loc="left", color=INK)
        elif asked:
            row[1].set_axis_off()
    note = f"bars: ± 2 Monte-Carlo standard errors of {report.recipe['simulations']:,} virtual test sets"
    figure.supxlabel(note, fontsize=8.5, color=GREY)
    return figure


def _needs(one: MetricPower, unit: str) -> str:
    return f"a gain of {one.gain:g}" + ("" if one.needed is None else f": {one.needed:,} {unit}s")


def _curve(axes: Axes, points: Sequence[Point], key: str, power: float, at: float, colour: str) -> None:
    plain_axes(axes)
    x = [getattr(point, key) for point in points]
    y, error = np.array([(point.power, 2 * point.error) for point in points]).T
    axes.axhline(power, color=GREY, linewidth=1, linestyle="--")
    if not np.isnan(at):
        axes.axvline(at, color=GREY, linewidth=1, linestyle=":")
        axes.annotate(
            f" {count(at) if key == 'size' else general(at, 3)}", (at, 0.02), fontsize=8.5, color=INK
        )
    axes.errorbar(x, y, error, color=colour, marker="o", markersize=4.5, linewidth=1.8, capsize=2)
    axes.set(ylim=(0, 1.04), xlim=(0, None))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
