"""Plots of predictions, intervals, buckets, power and calibration, and parts of pages."""

import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter, ScalarFormatter
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
from qe.display.numbers import count, estimate, general, interval, number, signed, span
from qe.display.table import Column, Table
from qe.evaluation.coverage import BandCoverage, Coverage, ErrorCurve
from qe.evaluation.power import Point, PowerReport
from qe.evaluation.word_level import Bin
from qe.statistics.buckets import BucketReport, Buckets
from qe.statistics.family import Pair, Titles
from qe.statistics.intervals import percentile_interval
from qe.statistics.metric import title_of
from qe.statistics.resampling import bootstrap_scores

_CROWD = 3000  # points; more are drawn as a density


def predicted_against_gold(gold: ArrayLike, predicted: ArrayLike, scale: LabelScale) -> Figure:
    """Predictions (y) against gold labels (x), both (n,), with means per tenth."""
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
    told = f"{_count(len(x), lost)} · MAE {number(np.abs(y - x).mean())}"
    if x.std() > 0 and y.std() > 0:
        told += f" · Pearson {number(np.corrcoef(x, y)[0, 1])}"
    headline(axes, "Predictions against gold labels", told)
    return figure


def residuals(gold: ArrayLike, predicted: ArrayLike, scale: LabelScale) -> Figure:
    """Residuals (predicted - gold, in label units) over the prediction, and their distribution."""
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
    for item in (axes, margin):
        item.axhline(0, color=INK, linewidth=1, zorder=3)
        item.axhline(bias, color=VERMILLION, linewidth=1.4, linestyle="--", zorder=3, label="mean residual")
    legend(axes, "upper right")
    rmse = float(np.sqrt((residual**2).mean()))
    headline(axes, "Residuals", f"{_count(len(x), lost)} · mean {signed(bias)} · RMSE {number(rmse)}")
    return figure


def delta_avg_by_quantiles(per_n: Mapping[str, ArrayLike], segments: int | None = None) -> Figure:
    """DeltaAvg[n] over the number of quantiles n, one line per model.

    `per_n` has (k,) values for n = 2 .. k + 1, from `statistics.metrics.delta_avg.delta_avg_by_n`.
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
    last = max(len(curve) for curve in curves.values()) + 1
    ticks = [n for n in (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000, 100000) if n <= last]
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.set(xlabel="number of quantiles n (log scale)", ylabel="DeltaAvg[n] (label units)")
    legend(axes, "best", title="mean over n, best first")
    n = "" if segments is None else f"{_count(segments)} · "
    headline(axes, "DeltaAvg by number of quantiles", f"{n}higher is better; 0 is a random ranking")
    return figure


def errors_let_through(curves: Mapping[str, ErrorCurve], subtitle: str) -> Figure:
    """Share of all bad segments that is let through, by share published, with 95 % intervals."""
    figure, axes = canvas(6.4, 4.8)
    for index, (name, curve) in enumerate(curves.items()):
        colour, published = PALETTE[index % len(PALETTE)], 100 * curve.published
        axes.fill_between(published, *(100 * curve.ci.T), color=colour, alpha=0.15, linewidth=0)
        axes.plot(published, 100 * curve.errors, color=colour, linewidth=1.8, label=name or "by prediction")
    axes.plot([0, 100], [0, 100], color=GREY, linestyle=":", label="at random")
    axes.plot([0, 100], [0, 100], "s", color=INK, markersize=5, label="never (0) and always (100) skipping")
    axes.set(xlabel="segments skipped: published unseen (%)", ylabel="bad segments let through (%)")
    legend(axes, "upper left")
    headline(axes, "Errors let through", subtitle)
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


def scale_label(scale: LabelScale) -> str:
    direction = "higher is better" if scale.higher_is_better else "lower is better"
    if scale.low is None or scale.high is None:
        return f"{scale.name} ({direction})"
    return f"{scale.name} ({scale.low:g} to {scale.high:g}, {direction})"


def _count(n: int, undefined: int = 0) -> str:
    return f"n = {n:,} segments" + (f" ({undefined:,} undefined)" if undefined else "")


def _mean(values: FloatArray) -> float:
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else float("-inf")


_SHOWN = (0.5, 0.8, 0.9)  # levels whose coverage by band is drawn, where they were measured


def interval_coverage(measured: Sequence[Coverage], scale: LabelScale, location: str) -> Figure:
    """Coverage of prediction intervals by the requested level, and by band; `location` names the segments."""
    figure = new_figure(10.4, 4.4)
    grid = figure.add_gridspec(1, 3, width_ratios=(1, 1.2, 1.2))
    panels = [figure.add_subplot(grid[0, column]) for column in range(3)]
    for axes in panels:
        plain_axes(axes)
        axes.set_ylim(0, 1.02)
    held = np.array([entry.coverage for entry in measured])
    ends = np.array([entry.ci for entry in measured]).T
    reach = np.maximum(np.stack([held - ends[0], ends[1] - held]), 0)
    levels, style = [entry.level for entry in measured], dict[str, Any](fmt="o-", color=BLUE, markersize=5)
    panels[0].plot([0, 1], [0, 1], color=GREY, linewidth=1, label="held = requested")
    panels[0].errorbar(levels, held, reach, linewidth=1.4, label="held, 95 %", **style)
    panels[0].set(xlim=(0, 1.02), xlabel="requested level", ylabel="share of gold labels held")
    legend(panels[0], "upper left")
    chosen = [entry for entry in measured if entry.level in _SHOWN] or list(measured)
    _held_by_band(panels[1], {entry.level: entry.by_label for entry in chosen}, f"gold {scale_label(scale)}")
    by_prediction = {entry.level: entry.by_prediction for entry in chosen}
    _held_by_band(panels[2], by_prediction, f"predicted {scale_label(scale)}")
    legend(panels[2], "lower right", "requested level")
    headline(panels[0], "Coverage of prediction intervals", f"{location} · n = {measured[0].n:,}")
    return figure


def _held_by_band(axes: Axes, by_level: Mapping[float, Sequence[BandCoverage]], label: str) -> None:
    for (level, bands), colour in zip(by_level.items(), PALETTE * len(by_level), strict=False):
        places, held = range(len(bands)), [band.coverage for band in bands]
        axes.plot(places, held, "o-", color=colour, markersize=4, linewidth=1.4, label=f"{level:g}")
        axes.axhline(level, color=colour, linewidth=1, linestyle=":")
        axes.set_xticks(places, [f"{span(b.low, b.high, 3)}\nn = {count(b.n)}" for b in bands], fontsize=7)
    axes.set_xlabel(label)


MAX_LINES = 40  # buckets beyond which lines cannot be told apart


def bucket_forest(report: BucketReport, buckets: Buckets, titles: Titles = title_of) -> Figure | None:
    """Differences with their intervals in every bucket; None where there are too many to draw."""
    shown = report.by_kind(buckets.name)
    metrics = list(dict.fromkeys(item.metric for item in shown))
    pairs = list(dict.fromkeys(item.names for item in shown))
    lines = len(buckets.labels) * len(pairs)
    if lines > MAX_LINES:
        return None
    figure = new_figure(1.4 + 2.8 * len(metrics), 1.7 + 0.24 * lines)
    panels = figure.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
    for axes, metric in zip(panels, metrics, strict=True):
        own = [item for item in shown if item.metric == metric]
        _bucket_panel(axes, own, buckets.labels, pairs, report.level)
        minus = " minus ".join(pairs[0]) if len(pairs) == 1 else "difference"
        headline(axes, titles(metric), f"{minus}, 95 % interval")
    panels[0].set_ylabel(buckets.about)
    figure.supxlabel(f"filled: p ≤ {report.level:g}, corrected", fontsize=8)
    if len(pairs) > 1:
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _bucket_panel(
    axes: Axes, comparisons: Sequence[Pair], labels: Sequence[str], pairs: Sequence[tuple[str, str]],
    level: float,
) -> None:  # fmt: skip
    plain_axes(axes)
    axes.axvline(0, color=INK, linewidth=1)
    for place_of_pair, pair in enumerate(pairs):
        own = [item for item in comparisons if item.names == pair]
        colour = PALETTE[place_of_pair % len(PALETTE)]
        shift = (place_of_pair - (len(pairs) - 1) / 2) * 0.7 / len(pairs)
        for item in own:
            place = labels.index(item.bucket.label if item.bucket else "") + shift
            face = colour if item.p_corrected <= level else "white"
            label = " minus ".join(pair) if item is own[0] else None
            style: dict[str, Any] = {"markerfacecolor": face, "markersize": 7, "label": label, "zorder": 3}
            axes.plot(item.result.difference, place, "o", color=colour, **style)
            axes.plot(item.ci, (place, place), color=colour, linewidth=1.6)
    axes.set_yticks(np.arange(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)


def power_plot(report: PowerReport) -> Figure:
    """A row per metric: power over the gain at one size, and over sizes for one gain."""
    asked = any(item.by_size for item in report.metrics)
    rows, columns = len(report.metrics), 2 if asked else 1
    figure = new_figure(1.2 + 4.6 * columns, 1.0 + 2.9 * rows)
    panels = figure.subplots(rows, columns, squeeze=False)
    unit = report.recipe["unit"]
    for i, (row, item) in enumerate(zip(panels, report.metrics, strict=True)):
        colour = PALETTE[i % len(PALETTE)]
        _curve(row[0], item.by_gain, "difference", report.recipe["power"], item.detectable, colour)
        row[0].set(xlabel=f"true gain in {title_of(item.metric)}", ylabel="power")
        row[0].set_title(f"{title_of(item.metric)}: {item.size:,} {unit}s", loc="left", color=INK)
        if asked and item.by_size:
            needed = float("nan") if item.needed is None else float(item.needed)
            _curve(row[1], item.by_size, "size", report.recipe["power"], needed, colour)
            row[1].set(xlabel=f"{unit}s")
            reached = "" if item.needed is None else f": {item.needed:,} {unit}s"
            row[1].set_title(f"a gain of {item.gain:g}{reached}", loc="left", color=INK)
        elif asked:
            row[1].set_axis_off()
    note = f"bars: ± 2 Monte-Carlo standard errors of {report.recipe['simulations']:,} virtual test sets"
    figure.supxlabel(note, fontsize=8.5, color=GREY)
    return figure


def _curve(axes: Axes, points: Sequence[Point], key: str, power: float, marker: float, colour: str) -> None:
    plain_axes(axes)
    x = [getattr(point, key) for point in points]
    y, error = np.array([(point.power, 2 * point.error) for point in points]).T
    axes.axhline(power, color=GREY, linewidth=1, linestyle="--")
    if not np.isnan(marker):
        axes.axvline(marker, color=GREY, linewidth=1, linestyle=":")
        shown = count(marker) if key == "size" else general(marker, 3)
        axes.annotate(f" {shown}", (marker, 0.02), fontsize=8.5, color=INK)
    axes.errorbar(x, y, error, color=colour, marker="o", markersize=4.5, linewidth=1.8, capsize=2)
    axes.set(ylim=(0, 1.04), xlim=(0, None))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))


def reliability_plot(parts: Mapping[str, Mapping[str, Sequence[Bin]]]) -> Figure:
    """One panel a part (words, gaps, ...), one line a system; dots are bins of about equal mass."""
    figure = new_figure(1.0 + 4.2 * len(parts), 4.6)
    panels = figure.subplots(1, len(parts), squeeze=False)[0]
    for axes, (part, systems) in zip(panels, parts.items(), strict=True):
        _reliability_panel(axes, systems)
        n = sum(item.n for item in next(iter(systems.values())))
        of = "source words" if part == "source" else part
        headline(axes, f"Reliability of {of}", f"n = {n:,} · bins of equal mass · bars: 95 %")
    return figure


def _reliability_panel(axes: Axes, systems: Mapping[str, Sequence[Bin]]) -> None:
    plain_axes(axes)
    z = 1.959964  # of Wilson's interval
    highest = max(max(item.predicted, item.observed) for bins in systems.values() for item in bins)
    limit = min(1.0, 1.08 * highest + 0.01)
    axes.plot([0, limit], [0, limit], color=GREY, linewidth=1, label="share = probability")
    for row, (name, bins) in enumerate(systems.items()):
        predicted, share, n = np.array([(each.predicted, each.observed, each.n) for each in bins]).T
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        reach = np.maximum(np.stack([share - (middle - half), middle + half - share]), 0)
        axes.errorbar(
            predicted, share, reach, fmt="o-", color=PALETTE[row % len(PALETTE)], markersize=4,
            linewidth=1.4, label=name,
        )  # fmt: skip
    axes.set(xlim=(0, limit), ylim=(0, limit), xlabel="mean P(BAD) of the bin", ylabel="share of BAD tags")
    legend(axes, "upper left")


BANDS = 5


@dataclass(frozen=True)
class Band:
    """Segments with a value from `low` to `high`: number, mean absolute error (95 % interval), mean error."""

    low: float
    high: float
    n: int
    mae: float
    ci: tuple[float, float]
    bias: float


def error_bands(
    values: FloatArray, gold: FloatArray, predicted: FloatArray, *, bands: int = BANDS
) -> list[Band]:
    """Bands with about equal numbers of the (n,) segments, by `values`; equal values share a band."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, bands + 1)[1:-1], method="higher"))
    places = np.searchsorted(edges, values, side="right")
    found = []
    for rows in (places == place for place in np.unique(places)):
        band, errors = values[rows], (predicted - gold)[rows]
        sizes = np.abs(errors)
        means = bootstrap_scores(sizes[:, None], lambda sums: sums[..., 0], samples=1000, seed=0)[0]
        ci = percentile_interval(means / len(sizes))
        limits = float(band.min()), float(band.max())
        found.append(Band(*limits, len(sizes), float(sizes.mean()), ci, float(errors.mean())))
    return found


def bands_table(title: str, bands: Sequence[Band], digits: int) -> str:
    columns = [Column("band"), Column("segments"), Column("mean absolute error", "mae")]
    rows = [
        [interval((b.low, b.high), digits), count(b.n), estimate(b.mae, b.ci), signed(b.bias)] for b in bands
    ]
    return Table(title, [*columns, Column("mean error", "bias")], rows).html()


def png(figure: Figure, dpi: int = 120) -> bytes:
    """The same figure gives the same bytes."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=dpi, metadata={"Software": None})
    return stream.getvalue()


def errors_by_band(bands: Sequence[Band], name: str, label: str, digits: int) -> Figure:
    figure, axes = canvas(7.0, 3.9)
    places = np.arange(len(bands))
    values = np.array([band.mae for band in bands])
    reach = np.abs(np.array([band.ci for band in bands]).T - values)
    axes.errorbar(places, values, reach, fmt="o", color=BLUE, capsize=3)
    names = [f"{interval((band.low, band.high), digits)}\nn = {count(band.n)}" for band in bands]
    axes.set_xticks(places, names)
    axes.set(xlabel=label, ylabel="mean absolute error (label units)")
    axes.set_ylim(bottom=0)
    headline(axes, f"Error by {name}", "95 % bootstrap intervals; bands of about equal size")
    return figure


def score_distributions(scores: FloatArray, training: FloatArray | None, scale: LabelScale) -> Figure:
    figure, axes = canvas(7.6, 3.9)
    both = scores if training is None else np.concatenate([scores, training])
    bins = np.linspace(both.min(), both.max() + 1e-9, 31).tolist()
    filled: dict[str, Any] = {"color": BLUE, "alpha": 0.55}
    outline: dict[str, Any] = {"histtype": "step", "color": VERMILLION, "linewidth": 1.8}
    for name, values, style in (("this file", scores, filled), ("training", training, outline)):
        if values is not None:
            shares, label = np.full(len(values), 100 / len(values)), f"{name}, n = {len(values):,}"
            axes.hist(values, bins, weights=shares, label=label, **style)
    axes.set(xlabel=f"predicted {scale_label(scale)}", ylabel="% of the segments")
    legend(axes, "best")
    headline(axes, "Scores", f"median {number(np.median(scores), 2)}, mean {number(scores.mean(), 2)}")
    return figure


@dataclass(frozen=True)
class ShownSegment:
    """A segment of a page; facts, notes: (name, value); words: of the translation, with P(BAD)."""

    source: str | None
    target: str | None
    facts: Sequence[tuple[str, str]]
    notes: Sequence[tuple[str, str]] = ()
    words: Sequence[tuple[str, float]] = ()


def words_of(output: Mapping[str, Any]) -> list[tuple[str, float]]:
    tokens, bad = output.get("tokens"), output.get("bad")
    if isinstance(tokens, str) and isinstance(bad, str):
        tokens, bad = tokens.split(" "), [float(value) for value in bad.split()]
    if not isinstance(tokens, list) or not isinstance(bad, list) or len(tokens) != len(bad):
        return []
    return [(str(token), float(value)) for token, value in zip(tokens, bad, strict=True)]
