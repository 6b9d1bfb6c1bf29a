"""A learning curve as a figure."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from qe.evaluation.plots import BLUE, _canvas, _title
from qe.evaluation.table import TITLES
from qe.training.learning_curve import LearningCurve


def learning_curve_plot(curve: LearningCurve, metric: str) -> Figure:
    """Mean of the draws by training rows, with the interval over segments; every draw as a point."""
    figure, axes = _canvas(7.0, 4.4)
    rows = [size.rows for size in curve.sizes]
    if all(size.interval(metric) for size in curve.sizes):
        low, high = np.array([size.interval(metric) for size in curve.sizes], np.float64).T
        axes.fill_between(rows, low, high, color=BLUE, alpha=0.15, linewidth=0, label="95 %, over segments")
    for size in curve.sizes:
        values = [draw.metrics[metric] for draw in size.draws]
        axes.plot([size.rows] * len(values), values, "o", color=BLUE, alpha=0.45, markersize=4, mew=0)
    axes.plot(rows, [size.mean(metric) for size in curve.sizes], color=BLUE, linewidth=1.8, label="mean")
    axes.set_xscale("log")
    axes.set_xticks(rows, minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set(xlabel="training rows", ylabel=TITLES.get(metric, metric))
    axes.legend(loc="best", frameon=False, fontsize=8.5)
    draws = len(curve.sizes[0].draws)
    _title(axes, "Learning curve", f"out of fold · {draws} draws of the rows at each size")
    return figure
