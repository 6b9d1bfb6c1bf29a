"""Report plots: figures of one experiment, drawn with Agg, without pyplot's global state."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator, ScalarFormatter
from numpy.typing import ArrayLike

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.storage.files import atomic_file
from qe.data.dataset import LabelScale
from qe.evaluation.coverage import BandCoverage, Coverage

# Okabe and Ito (2008), distinguishable with every common colour blindness.
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
)  # fmt: skip
_PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
_DASHES = ("-", "--", ":", "-.")
_INK, _GREY, _PALE = "#222222", "#6B6B6B", "#E3E3E3"
_SHOWN = (0.5, 0.8, 0.9)  # levels whose coverage by band is drawn, where they were measured
_CROWD = 3000  # points; more are drawn as a density


def predicted_against_gold(gold: ArrayLike, predicted: ArrayLike, scale: LabelScale) -> Figure:
    """Predictions (y) against gold labels (x), both (n,), with the mean gold label per tenth of predictions.

    Pairs with an undefined value are not drawn, and the subtitle counts them. Raises InputError where
    nothing is left to draw.
    """
    x, y, lost = _pairs(gold, predicted)
    figure, axes = _canvas(6.4, 6.2)
    low, high = _limits(scale, x, y)
    axes.plot([low, high], [low, high], color=_GREY, linewidth=1, label="prediction = gold", zorder=2.5)
    _cloud(figure, [axes], x, y, (low, high, low, high))
    if len(x) >= 50:
        means = np.array([[x[rows].mean(), y[rows].mean()] for rows in np.array_split(np.argsort(y), 10)])
        label = "means per tenth of the predictions"
        axes.plot(*means.T, "o-", color=VERMILLION, markersize=5, linewidth=1.4, label=label, zorder=3)
    axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")
    axes.set(xlabel=f"gold {_scale_label(scale)}", ylabel=f"predicted {_scale_label(scale)}")
    _legend(axes, "upper left")
    mae = np.abs(y - x).mean()
    _title(axes, "Predictions against gold labels", f"{_count(len(x), lost)} · MAE {mae:.3f}{_pearson(x, y)}")
    return figure


def residuals(gold: ArrayLike, predicted: ArrayLike, scale: LabelScale) -> Figure:
    """Residuals (predicted - gold, in label units) over the prediction, and their distribution.

    Undefined pairs and errors as in `predicted_against_gold`.
    """
    x, y, lost = _pairs(gold, predicted)
    residual = y - x
    figure = _figure(8.4, 4.8)
    grid = figure.add_gridspec(1, 2, width_ratios=(4, 1))
    axes = figure.add_subplot(grid[0])
    margin = figure.add_subplot(grid[1], sharey=axes)
    _plain(axes)
    _plain(margin)
    reach = max(float(np.abs(residual).max()) * 1.08, 1e-9)
    low, high = _limits(scale, y)
    _cloud(figure, [axes, margin], y, residual, (low, high, -reach, reach))
    axes.set(xlim=(low, high), ylim=(-reach, reach))
    axes.set(xlabel=f"predicted {_scale_label(scale)}", ylabel="residual: predicted - gold (label units)")
    bins = np.linspace(-reach, reach, 32).tolist()
    margin.hist(residual, bins=bins, orientation="horizontal", color=SKY, edgecolor="white", linewidth=0.5)
    margin.set_xlabel("segments")
    margin.tick_params(labelleft=False)
    bias = float(residual.mean())
    for one in (axes, margin):
        one.axhline(0, color=_INK, linewidth=1, zorder=3)
        one.axhline(bias, color=VERMILLION, linewidth=1.4, linestyle="--", zorder=3, label="mean residual")
    _legend(axes, "upper right")
    rmse = float(np.sqrt((residual**2).mean()))
    _title(axes, "Residuals", f"{_count(len(x), lost)} · mean {bias:+.3f} · RMSE {rmse:.3f}")
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
    figure, axes = _canvas(7.6, 4.8)
    for i, (name, curve) in enumerate(sorted(curves.items(), key=lambda item: -_mean(item[1]))):
        colour, dash = _PALETTE[i % len(_PALETTE)], _DASHES[i // len(_PALETTE) % len(_DASHES)]
        label = f"{_mean(curve):z.3f}  {textwrap.shorten(name, 60)}"
        axes.plot(np.arange(len(curve)) + 2, curve, color=colour, linestyle=dash, linewidth=1.8, label=label)
    axes.axhline(0, color=_INK, linewidth=1, zorder=1)
    _quantile_axis(axes, max(len(curve) for curve in curves.values()) + 1)
    axes.set(xlabel="number of quantiles n (log scale)", ylabel="DeltaAvg[n] (label units)")
    _legend(axes, "best", title="mean over n, best first")
    n = "" if segments is None else f"{_count(segments)} · "
    _title(axes, "DeltaAvg by number of quantiles", f"{n}higher is better; 0 is a random ranking")
    return figure


def interval_coverage(measured: Sequence[Coverage], scale: LabelScale, where: str) -> Figure:
    """Coverage of prediction intervals by the level asked for, by band of labels and of predictions.

    measured  one entry per level, all of the same segments
    where     which segments, for the subtitle
    """
    figure = _figure(10.4, 4.4)
    grid = figure.add_gridspec(1, 3, width_ratios=(1, 1.2, 1.2))
    panels = [figure.add_subplot(grid[0, column]) for column in range(3)]
    for axes in panels:
        _plain(axes)
        axes.set_ylim(0, 1.02)
    _asked_and_held(panels[0], measured)
    chosen = [entry for entry in measured if entry.level in _SHOWN] or list(measured)
    _held_by_band(panels[1], {entry.level: entry.by_label for entry in chosen}, f"gold {_scale_label(scale)}")
    by_prediction = {entry.level: entry.by_prediction for entry in chosen}
    _held_by_band(panels[2], by_prediction, f"predicted {_scale_label(scale)}")
    _legend(panels[2], "lower right", "level asked for")
    _title(panels[0], "Coverage of prediction intervals", f"{where} · n = {measured[0].n:,}")
    return figure


def _held_by_band(axes: Axes, by_level: Mapping[float, Sequence[BandCoverage]], what: str) -> None:
    """A line per level, from band to band; the level itself is dotted."""
    for (level, bands), colour in zip(by_level.items(), _PALETTE * len(by_level), strict=False):
        places, held = range(len(bands)), [band.coverage for band in bands]
        axes.plot(places, held, "o-", color=colour, markersize=4, linewidth=1.4, label=f"{level:g}")
        axes.axhline(level, color=colour, linewidth=1, linestyle=":")
        axes.set_xticks(places, [f"{b.low:.3g} to\n{b.high:.3g}\nn = {b.n:,}" for b in bands], fontsize=7)
    axes.set_xlabel(what)


def _asked_and_held(axes: Axes, measured: Sequence[Coverage]) -> None:
    """The share of labels held over the level asked for, with 95 % intervals."""
    asked = [entry.level for entry in measured]
    held = np.array([entry.coverage for entry in measured])
    ends = np.array([entry.ci for entry in measured]).T
    axes.plot([0, 1], [0, 1], color=_GREY, linewidth=1, label="held = asked for")
    reach = np.maximum(np.stack([held - ends[0], ends[1] - held]), 0)
    axes.errorbar(asked, held, reach, fmt="o-", color=BLUE, markersize=5, linewidth=1.4, label="held, 95 %")
    axes.set(xlim=(0, 1.02), xlabel="level asked for", ylabel="share of gold labels held")
    _legend(axes, "upper left")


def feature_importance(
    names: Sequence[str],
    values: ArrayLike,
    spread: ArrayLike | None = None,
    top: int = 30,
    *,
    unit: str = "importance",
    spread_name: str = "± 1 standard deviation",
) -> Figure:
    """The `top` features of highest importance, highest first.

    values  (k,) importance per name; undefined ones are not drawn, and the subtitle counts them
    spread  (k,) half-length of each whisker, in the same unit
    unit    what the x axis says

    Raises InputError if names and values differ in number, or nothing is defined.
    """
    heights = np.asarray(values, np.float64)
    if len(names) != len(heights):
        raise InputError(
            f"every feature needs an importance, but got {len(names)} names, {len(heights)} values"
        )
    defined = np.flatnonzero(np.isfinite(heights))
    if not len(defined):
        raise InputError("no feature importance to plot")
    rows = defined[np.argsort(-heights[defined], kind="stable")][:top]
    figure, axes = _canvas(8.0, 1.5 + 0.24 * max(len(rows), 4))
    place = np.arange(len(rows))
    axes.barh(place, heights[rows], height=0.66, color=BLUE)
    if spread is not None:
        whisker = np.nan_to_num(np.asarray(spread, np.float64)[rows])
        axes.errorbar(heights[rows], place, xerr=whisker, fmt="none", ecolor=_INK, elinewidth=1, capsize=2)
    axes.axvline(0, color=_INK, linewidth=1)
    axes.set_yticks(place, [names[i] for i in rows], fontsize=8.5)
    axes.set(ylim=(len(rows) - 0.4, -0.6), xlabel=unit)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    shown = (
        f"top {len(rows)} of {len(names)} features" if len(rows) < len(names) else f"n = {len(rows)} features"
    )
    lost = len(names) - len(defined)
    note = (f" · {lost} undefined" if lost else "") + ("" if spread is None else f" · {spread_name}")
    _title(axes, "Feature importance", shown + note)
    return figure


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
    figure, axes = _canvas(7.6, 4.4)
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
            trials[outside], np.full(outside.sum(), edge), marker, color=_GREY, clip_on=False, label=label
        )
    axes.step(trials, line, where="post", color=VERMILLION, linewidth=1.8, label="best so far")
    axes.set(xlabel="trial", ylabel=metric, ylim=(low, high), xlim=(0.5, len(heights) + 0.5))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    _legend(axes, "lower right" if direction == "maximize" else "upper right")
    winner = int((np.nanargmax if direction == "maximize" else np.nanargmin)(heights))
    counted = f"finished trials: n = {finished.sum():,}" + (
        f" of {len(heights):,}" if not finished.all() else ""
    )
    _title(axes, "Search", f"{counted} · best {heights[winner]:.4f} at trial {winner + 1} ({direction})")
    return figure


def save(figure: Figure, path: Path, dpi: int = 150) -> None:
    """Writes a PNG, atomically; the same figure gives the same bytes."""
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=dpi, metadata={"Software": None})


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    figure = _figure(width, height)
    axes = figure.add_subplot()
    _plain(axes)
    return figure, axes


def _plain(axes: Axes) -> None:
    """Only the lines that carry something."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_GREY)
    axes.tick_params(colors=_GREY, labelcolor=_INK)
    axes.grid(True, color=_PALE, linewidth=0.7)
    axes.set_axisbelow(True)


def _title(axes: Axes, title: str, subtitle: str) -> None:
    axes.set_title(f"{title}\n", loc="left", fontsize=13, fontweight="bold", color=_INK)
    axes.annotate(
        subtitle,
        (0, 1),
        (0, 8),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=9.5,
        color=_GREY,
    )


_Place = Literal["upper left", "upper right", "lower right", "best"]


def _legend(axes: Axes, place: _Place, title: str | None = None) -> None:
    axes.legend(loc=place, title=title, fontsize=8.5, title_fontsize=8.5, framealpha=0.9, edgecolor="none")


def _cloud(
    figure: Figure, row: list[Axes], x: FloatArray, y: FloatArray, extent: tuple[float, float, float, float]
) -> None:
    """Points in the first of a row of axes; if there are too many to tell apart, a density."""
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
    """(gold, predicted, how many pairs were undefined), the undefined ones left out."""
    x, y = np.asarray(gold, np.float64), np.asarray(predicted, np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise InputError(f"gold and predicted must have equal length, but got {x.shape} and {y.shape}")
    defined = np.isfinite(x) & np.isfinite(y)
    if not defined.any():
        raise InputError("no pair of gold label and prediction to plot")
    return x[defined], y[defined], int((~defined).sum())


def _limits(scale: LabelScale, *values: FloatArray) -> tuple[float, float]:
    """The label scale where it is closed, else the range of the values; with a margin."""
    everything = np.concatenate(values)
    low = float(everything.min()) if scale.low is None else min(scale.low, float(everything.min()))
    high = float(everything.max()) if scale.high is None else max(scale.high, float(everything.max()))
    margin = 0.04 * (high - low) or 0.5
    return low - margin, high + margin


def _history_limits(values: FloatArray, direction: str) -> tuple[float, float]:
    """The range of the values, cut on the bad side where a few trials would flatten all the others."""
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
    """NaN until the first value."""
    best = np.fmax if direction == "maximize" else np.fmin
    return np.asarray(best.accumulate(values), np.float64)


def _quantile_axis(axes: Axes, last: int) -> None:
    """A logarithmic axis with round numbers of quantiles."""
    axes.set_xscale("log")
    ticks = [n for n in (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000, 100000) if n <= last]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(ScalarFormatter())


def _scale_label(scale: LabelScale) -> str:
    direction = "higher is better" if scale.higher_is_better else "lower is better"
    if scale.low is None or scale.high is None:
        return f"{scale.name} ({direction})"
    return f"{scale.name} ({scale.low:g} to {scale.high:g}, {direction})"


def _count(n: int, lost: int = 0) -> str:
    return f"n = {n:,} segments" + (f" ({lost:,} undefined)" if lost else "")


def _pearson(x: FloatArray, y: FloatArray) -> str:
    """The correlation as text, nothing where a side is constant."""
    return f" · Pearson {np.corrcoef(x, y)[0, 1]:.3f}" if x.std() > 0 and y.std() > 0 else ""


def _mean(values: FloatArray) -> float:
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else float("-inf")
