"""Learning curves as a figure."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from qe.display.drawing import BLUE, ORANGE, canvas, headline
from qe.statistics.metric import title_of
from qe.training.learning_curve import ALONE, LearningCurve


def learning_curve_plot(curves: Mapping[str, LearningCurve], metric: str) -> Figure:
    """Mean over draws by training rows, with the interval over segments; draws as points."""
    figure, axes = canvas(7.0, 4.4)
    for name, curve in curves.items():
        _draw(axes, curve, metric, name if len(curves) > 1 else "mean", BLUE if name == ALONE else ORANGE)
    rows = [size.rows for curve in curves.values() for size in curve.sizes]
    axes.set_xscale("log")
    axes.set_xticks(sorted(set(rows)), minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set(xlabel="training rows", ylabel=title_of(metric))
    axes.legend(loc="best", frameon=False, fontsize=8.5)
    draws = max(len(size.draws) for curve in curves.values() for size in curve.sizes)
    headline(axes, "Learning curve", f"out of fold · {draws} draws of the rows, of all rows one")
    return figure


def _draw(axes: Axes, curve: LearningCurve, metric: str, label: str, colour: str) -> None:
    rows = [size.rows for size in curve.sizes]
    if all(size.interval(metric) for size in curve.sizes):
        low, high = np.array([size.interval(metric) for size in curve.sizes], np.float64).T
        label_of_band = "" if axes.collections else "95 %, over segments"
        axes.fill_between(rows, low, high, color=colour, alpha=0.15, linewidth=0, label=label_of_band)
    for size in curve.sizes:
        values = [draw.metrics[metric] for draw in size.draws]
        axes.plot([size.rows] * len(values), values, "o", color=colour, alpha=0.45, markersize=4, mew=0)
    axes.plot(rows, [size.mean(metric) for size in curve.sizes], color=colour, linewidth=1.8, label=label)
