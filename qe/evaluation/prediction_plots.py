"""Figures of predictions against gold labels."""

import textwrap
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter
from numpy.typing import ArrayLike

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.data.dataset import LabelScale
from qe.display.drawing import (
    BLUE,
    DASHES,
    GREY,
    INK,
    PALETTE,
    SKY,
    VERMILLION,
    canvas,
    headline,
    legend,
    new_figure,
    plain_axes,
)
from qe.display.numbers import number, signed

_CROWD = 3000  # points; more are drawn as a density


def predicted_against_gold(gold: ArrayLike, predicted: ArrayLike, scale: LabelScale) -> Figure:
    """Predictions (y) against gold labels (x), both (n,), with means per tenth.

    The means are of gold labels per tenth of predictions.

    Pairs with an undefined value are not drawn, and the subtitle counts them. Raises InputError where
    nothing is left to draw.
    """
    x, y, lost = _pairs(gold, predicted)
    figure, axes = canvas(6.4, 6.2)
    low, high = _limits(scale, x, y)
    axes.plot([low, high], [low, high], color=GREY, linewidth=1, label="prediction = gold", zorder=2.5)
    _cloud(figure, [axes], x, y, (low, high, low, high))
    if len(x) >= 50:
        means = np.array([[x[rows].mean(), y[rows].mean()] for rows in np.array_split(np.argsort(y), 10)])
        label = "means per tenth of the predictions"
        axes.plot(*means.T, "o-", color=VERMILLION, markersize=5, linewidth=1.4, label=label, zorder=3)
    axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")
    axes.set(xlabel=f"gold {scale_label(scale)}", ylabel=f"predicted {scale_label(scale)}")
    legend(axes, "upper left")
    mae = np.abs(y - x).mean()
    headline(
        axes, "Predictions against gold labels", f"{_count(len(x), lost)} · MAE {number(mae)}{_pearson(x, y)}"
    )
    return figure


def residuals(gold: ArrayLike, predicted: ArrayLike, scale: LabelScale) -> Figure:
    """Residuals (predicted - gold, in label units) over the prediction, and their distribution.

    Undefined pairs and errors as in `predicted_against_gold`.
    """
    x, y, lost = _pairs(gold, predicted)
    residual = y - x
    figure = new_figure(8.4, 4.8)
    grid = figure.add_gridspec(1, 2, width_ratios=(4, 1))
    axes = figure.add_subplot(grid[0])
    margin = figure.add_subplot(grid[1], sharey=axes)
    plain_axes(axes)
    plain_axes(margin)
    reach = max(float(np.abs(residual).max()) * 1.08, 1e-9)
    low, high = _limits(scale, y)
    _cloud(figure, [axes, margin], y, residual, (low, high, -reach, reach))
    axes.set(xlim=(low, high), ylim=(-reach, reach))
    axes.set(xlabel=f"predicted {scale_label(scale)}", ylabel="residual: predicted - gold (label units)")
    bins = np.linspace(-reach, reach, 32).tolist()
    margin.hist(residual, bins=bins, orientation="horizontal", color=SKY, edgecolor="white", linewidth=0.5)
    margin.set_xlabel("segments")
    margin.tick_params(labelleft=False)
    bias = float(residual.mean())
    for one in (axes, margin):
        one.axhline(0, color=INK, linewidth=1, zorder=3)
        one.axhline(bias, color=VERMILLION, linewidth=1.4, linestyle="--", zorder=3, label="mean residual")
    legend(axes, "upper right")
    rmse = float(np.sqrt((residual**2).mean()))
    headline(axes, "Residuals", f"{_count(len(x), lost)} · mean {signed(bias)} · RMSE {number(rmse)}")
    return figure


def delta_avg_by_quantiles(per_n: Mapping[str, ArrayLike], segments: int | None = None) -> Figure:
    """DeltaAvg[n] over the number of quantiles n, one line per model.

    per_n     model -> (k,) values for n = 2 .. k + 1, from `statistics.metrics.delta_avg.delta_avg_by_n`
    segments  how many segments were ranked, for the subtitle

    Raises InputError if no model has a value.
    """
    curves = {name: np.asarray(values, np.float64) for name, values in per_n.items()}
    if not any(np.isfinite(curve).any() for curve in curves.values()):
        raise InputError("no value of DeltaAvg to plot", remedy="it needs at least 4 segments")
    figure, axes = canvas(7.6, 4.8)
    for i, (name, curve) in enumerate(sorted(curves.items(), key=lambda item: -_mean(item[1]))):
        colour, dash = PALETTE[i % len(PALETTE)], DASHES[i // len(PALETTE) % len(DASHES)]
        label = f"{number(_mean(curve))}  {textwrap.shorten(name, 60)}"
        axes.plot(np.arange(len(curve)) + 2, curve, color=colour, linestyle=dash, linewidth=1.8, label=label)
    axes.axhline(0, color=INK, linewidth=1, zorder=1)
    _quantile_axis(axes, max(len(curve) for curve in curves.values()) + 1)
    axes.set(xlabel="number of quantiles n (log scale)", ylabel="DeltaAvg[n] (label units)")
    legend(axes, "best", title="mean over n, best first")
    n = "" if segments is None else f"{_count(segments)} · "
    headline(axes, "DeltaAvg by number of quantiles", f"{n}higher is better; 0 is a random ranking")
    return figure


def _cloud(
    figure: Figure, row: list[Axes], x: FloatArray, y: FloatArray, extent: tuple[float, float, float, float]
) -> None:
    axes = row[0]
    if len(x) <= _CROWD:
        alpha = 0.55 if len(x) <= 600 else 0.3
        axes.plot(x, y, "o", color=BLUE, alpha=alpha, markersize=4.5, mew=0, zorder=2)
        return
    density = axes.hexbin(
        x, y, gridsize=36, extent=extent, bins="log", mincnt=1, cmap="Blues", linewidths=0.1
    )
    figure.colorbar(density, ax=row, label="segments (log scale)", shrink=0.8)


def _pairs(gold: ArrayLike, predicted: ArrayLike) -> tuple[FloatArray, FloatArray, int]:
    x, y = np.asarray(gold, np.float64), np.asarray(predicted, np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise InputError(f"gold and predicted must have equal length, but got {x.shape} and {y.shape}")
    defined = np.isfinite(x) & np.isfinite(y)
    if not defined.any():
        raise InputError("no pair of gold label and prediction to plot")
    return x[defined], y[defined], int((~defined).sum())


def _limits(scale: LabelScale, *values: FloatArray) -> tuple[float, float]:
    everything = np.concatenate(values)
    low = float(everything.min()) if scale.low is None else min(scale.low, float(everything.min()))
    high = float(everything.max()) if scale.high is None else max(scale.high, float(everything.max()))
    margin = 0.04 * (high - low) or 0.5
    return low - margin, high + margin


def _quantile_axis(axes: Axes, last: int) -> None:
    axes.set_xscale("log")
    ticks = [n for n in (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000, 100000) if n <= last]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(ScalarFormatter())


def scale_label(scale: LabelScale) -> str:
    direction = "higher is better" if scale.higher_is_better else "lower is better"
    if scale.low is None or scale.high is None:
        return f"{scale.name} ({direction})"
    return f"{scale.name} ({scale.low:g} to {scale.high:g}, {direction})"


def _count(n: int, lost: int = 0) -> str:
    return f"n = {n:,} segments" + (f" ({lost:,} undefined)" if lost else "")


def _pearson(x: FloatArray, y: FloatArray) -> str:
    return f" · Pearson {number(np.corrcoef(x, y)[0, 1])}" if x.std() > 0 and y.std() > 0 else ""


def _mean(values: FloatArray) -> float:
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else float("-inf")
