"""Plots of predictions, intervals, buckets, power and calibration, and parts of pages."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.data.dataset import LabelScale
from qe.display import charts
from qe.display.charts import describe
from qe.display.numbers import count, estimate, general, interval, number, signed, span
from qe.display.table import Column, Table
from qe.evaluation.coverage import Coverage, ErrorCurve
from qe.evaluation.power import Point, PowerReport
from qe.evaluation.word_level import Bin
from qe.statistics.buckets import BucketReport, Buckets
from qe.statistics.family import Titles
from qe.statistics.intervals import percentile_interval
from qe.statistics.metric import title_of
from qe.statistics.resampling import bootstrap_scores


def predicted_against_gold(gold: ArrayLike, predicted: ArrayLike, scale: LabelScale) -> Figure:
    """Predictions (y) against gold labels (x), both (n,), with means per tenth."""
    x, y, undefined = _pairs(gold, predicted)
    figure, (axes,) = charts.panels(6.4, 6.2)
    low, high = ends = _limits(scale, x, y)
    axes.plot(ends, ends, color=charts.GREY, linewidth=1, label="prediction = gold", zorder=2.5)
    charts.scatter(axes, x, y, (*ends, *ends))
    if len(x) >= 50:
        means = np.array([[x[rows].mean(), y[rows].mean()] for rows in np.array_split(np.argsort(y), 10)])
        label = "means per tenth of the predictions"
        charts.curve(axes, means[:, 0], means[:, 1], place=1, marker="o", label=label, zorder=3)
    note = f"{_count(len(x), undefined)} · MAE {number(np.abs(y - x).mean())}"
    if x.std() > 0 and y.std() > 0:
        note += f" · Pearson {number(np.corrcoef(x, y)[0, 1])}"
    describe(
        axes, "Predictions against gold labels", note, "upper left", xlim=(low, high), ylim=(low, high),
        aspect="equal", xlabel=f"gold {scale_label(scale)}", ylabel=f"predicted {scale_label(scale)}",
    )  # fmt: skip
    return figure


def residuals(gold: ArrayLike, predicted: ArrayLike, scale: LabelScale) -> Figure:
    """Residuals (predicted - gold, in label units) over the prediction, and their distribution."""
    x, y, undefined = _pairs(gold, predicted)
    residual = y - x
    bias, rmse = float(residual.mean()), float(np.sqrt((residual**2).mean()))
    figure, (axes, margin) = charts.panels(8.4, 4.8, columns=2, width_ratios=(4, 1), sharey=True)
    reach = max(float(np.abs(residual).max()) * 1.08, 1e-9)
    low, high = _limits(scale, y)
    charts.scatter(axes, y, residual, (low, high, -reach, reach), margin=margin)
    bins = np.linspace(-reach, reach, 32).tolist()
    margin.hist(residual, bins=bins, orientation="horizontal", color=charts.SKY)
    for panel in (axes, margin):
        panel.axhline(0, color=charts.INK, linewidth=1, zorder=3)
        panel.axhline(bias, color=charts.VERMILLION, linestyle="--", zorder=3, label="mean residual")
    note = f"{_count(len(x), undefined)} · mean {signed(bias)} · RMSE {number(rmse)}"
    describe(
        axes, "Residuals", note, "upper right", xlim=(low, high), ylim=(-reach, reach),
        xlabel=f"predicted {scale_label(scale)}", ylabel="residual: predicted - gold (label units)",
    )  # fmt: skip
    margin.set_xlabel("segments")
    return figure


def delta_avg_by_quantiles(per_n: Mapping[str, ArrayLike], segments: int | None = None) -> Figure:
    """DeltaAvg[n] over the number of quantiles n, one line per model.

    `per_n` has (k,) values for n = 2 .. k + 1, from `statistics.metrics.delta_avg.delta_avg_by_n`.
    """
    curves = {name: np.asarray(values, np.float64) for name, values in per_n.items()}
    means = {name: v[np.isfinite(v)].mean() for name, v in curves.items() if np.isfinite(v).any()}
    if not means:
        raise InputError("no value of DeltaAvg to plot", remedy="it needs at least 4 segments")
    figure, (axes,) = charts.panels(7.6, 4.8)
    for place, name in enumerate(sorted(curves, key=lambda name: -means.get(name, -np.inf))):
        label = f"{number(means.get(name))}  {textwrap.shorten(name, 60)}"
        charts.curve(axes, np.arange(len(curves[name])) + 2, curves[name], place=place, label=label)
    axes.axhline(0, color=charts.INK, linewidth=1, zorder=1)
    last = max(len(curve) for curve in curves.values()) + 1
    ticks = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000, 100000)
    charts.log_ticks(axes, [n for n in ticks if n <= last])
    note = "higher is better; 0 is a random ranking"
    describe(
        axes, "DeltaAvg by number of quantiles", note if segments is None else f"{_count(segments)} · {note}",
        "best", "mean over n, best first", xlabel="number of quantiles n (log scale)",
        ylabel="DeltaAvg[n] (label units)",
    )  # fmt: skip
    return figure


def errors_let_through(curves: Mapping[str, ErrorCurve], subtitle: str) -> Figure:
    """Share of all bad segments that is let through, by share published, with 95 % intervals."""
    figure, (axes,) = charts.panels(6.4, 4.8)
    for place, (name, curve) in enumerate(curves.items()):
        shares = 100 * curve.published, 100 * curve.errors, 100 * curve.ci
        charts.curve(axes, *shares, place, label=name or "by prediction")
    axes.plot([0, 100], [0, 100], color=charts.GREY, linestyle=":", label="at random")
    axes.plot([0, 100], [0, 100], "s", color=charts.INK, label="never (0) and always (100) skipping")
    describe(
        axes, "Errors let through", subtitle, "upper left",
        xlabel="segments skipped: published unseen (%)", ylabel="bad segments let through (%)",
    )  # fmt: skip
    return figure


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


_SHOWN = (0.5, 0.8, 0.9)  # levels whose coverage by band is drawn, where they were measured


def interval_coverage(measured: Sequence[Coverage], scale: LabelScale, location: str) -> Figure:
    """Coverage of prediction intervals by the requested level, and by band; `location` names the segments."""
    figure, (by_level, *by_band) = charts.panels(11.4, 4.4, columns=3, width_ratios=(1, 1.4, 1.4))
    by_level.plot([0, 1], [0, 1], color=charts.GREY, linewidth=1, label="held = requested")
    levels, held, ends = zip(*((entry.level, entry.coverage, entry.ci) for entry in measured), strict=True)
    charts.curve(by_level, levels, held, ends, bars=True, marker="o", label="held, 95 %")
    describe(
        by_level, "Coverage of prediction intervals", f"{location} · n = {measured[0].n:,}", "upper left",
        xlim=(0, 1.02), ylim=(0, 1.02), xlabel="requested level", ylabel="share of gold labels held",
    )  # fmt: skip
    chosen = [entry for entry in measured if entry.level in _SHOWN] or list(measured)
    for axes, name, key in zip(by_band, ("gold", "predicted"), ("by_label", "by_prediction"), strict=True):
        for place, entry in enumerate(chosen):
            bands = getattr(entry, key)
            shares = [band.coverage for band in bands]
            charts.curve(axes, range(len(bands)), shares, place=place, marker="o", label=f"{entry.level:g}")
            colour = axes.lines[-1].get_color()
            axes.axhline(entry.level, color=colour, linewidth=1, linestyle=":")
            names = [f"{span(band.low, band.high, 3)}\nn = {count(band.n)}" for band in bands]
            axes.set_xticks(range(len(bands)), names, fontsize=7)
        describe(axes, "", ylim=(0, 1.02), xlabel=f"{name} {scale_label(scale)}")
    by_band[1].legend(loc="lower right", title="requested level", fontsize=8.5)
    return figure


MAX_LINES = 40  # buckets beyond which lines cannot be told apart


def bucket_forest(report: BucketReport, buckets: Buckets, titles: Titles = title_of) -> Figure | None:
    """Differences with their intervals in every bucket; None where there are too many to draw."""
    shown = report.by_kind(buckets.name)
    metrics = list(dict.fromkeys(item.metric for item in shown))
    pairs = list(dict.fromkeys(item.names for item in shown))
    lines = len(buckets.labels) * len(pairs)
    if lines > MAX_LINES:
        return None
    figure, panels = charts.panels(
        1.4 + 2.8 * len(metrics), 1.9 + 0.26 * lines, columns=len(metrics), sharey=True
    )
    minus = " minus ".join(pairs[0]) if len(pairs) == 1 else "difference"
    for axes, metric in zip(panels, metrics, strict=True):
        axes.axvline(0, color=charts.INK, linewidth=1)
        for place, pair in enumerate(pairs):
            own = {i.bucket.label: i for i in shown if i.bucket and (i.metric, i.names) == (metric, pair)}
            items = [own.get(label) for label in buckets.labels]
            charts.forest(
                axes, [np.nan if item is None else item.result.difference for item in items],
                [(np.nan, np.nan) if item is None else item.ci for item in items],
                charts.PALETTE[place % len(charts.PALETTE)],
                filled=[item is not None and item.p_corrected <= report.level for item in items],
                shift=(place - (len(pairs) - 1) / 2) * 0.7 / len(pairs), label=" minus ".join(pair),
            )  # fmt: skip
        charts.rows(axes, buckets.labels)
        describe(axes, titles(metric), f"{minus}, 95 % interval")
    panels[0].set_ylabel(buckets.about)
    charts.footnote(figure, f"filled: p ≤ {report.level:g}, corrected")
    return figure


def power_plot(report: PowerReport) -> Figure:
    """A row per metric: power over the gain at one size, and over sizes for one gain."""
    columns = 2 if any(item.by_size for item in report.metrics) else 1
    figure, panels = charts.panels(
        1.2 + 4.6 * columns, 1.0 + 2.9 * len(report.metrics), len(report.metrics), columns
    )
    unit, power = report.recipe["unit"], report.recipe["power"]
    for place, item in enumerate(report.metrics):
        by_gain, *by_size = panels[columns * place : columns * (place + 1)]
        gains = [point.difference for point in item.by_gain]
        _power_curve(by_gain, gains, item.by_gain, power, item.detectable, general(item.detectable, 3), place)
        label = f"true gain in {title_of(item.metric)}"
        describe(by_gain, f"{title_of(item.metric)}: {item.size:,} {unit}s", xlabel=label, ylabel="power (%)")
        for axes in by_size:
            if not item.by_size:
                axes.set_axis_off()
                continue
            sizes = [point.size for point in item.by_size]
            _power_curve(axes, sizes, item.by_size, power, item.needed, count(item.needed), place)
            reached = "" if item.needed is None else f": {item.needed:,} {unit}s"
            describe(axes, f"a gain of {item.gain:g}{reached}", xlabel=f"{unit}s")
    note = f"bars: ± 2 Monte-Carlo standard errors of {report.recipe['simulations']:,} virtual test sets"
    figure.supxlabel(note, fontsize=8.5, color=charts.GREY)
    return figure


def _power_curve(
    axes: Axes, x: Sequence[float], points: Sequence[Point], power: float, reached: float | None,
    text: object, place: int,
) -> None:  # fmt: skip
    ends = [(100 * (p.power - 2 * p.error), 100 * (p.power + 2 * p.error)) for p in points]
    charts.curve(axes, x, [100 * point.power for point in points], ends, place, bars=True, marker="o")
    axes.axhline(100 * power, color=charts.GREY, linewidth=1, linestyle="--")
    if reached is not None and not np.isnan(reached):
        axes.axvline(reached, color=charts.GREY, linewidth=1, linestyle=":")
        axes.annotate(f" {text}", (reached, 2), fontsize=8.5, color=charts.INK)
    axes.set(ylim=(0, 104), xlim=(0, None))


def reliability_plot(parts: Mapping[str, Mapping[str, Sequence[Bin]]]) -> Figure:
    """One panel a part (words, gaps, ...), one line a system; dots are bins of about equal mass."""
    figure, panels = charts.panels(1.0 + 4.2 * len(parts), 4.6, columns=len(parts))
    z = 1.959964  # of Wilson's interval
    for axes, (part, systems) in zip(panels, parts.items(), strict=True):
        limit = 0.0
        for place, (name, bins) in enumerate(systems.items()):
            predicted, share, n = np.array([(each.predicted, each.observed, each.n) for each in bins]).T
            middle = (share + z * z / (2 * n)) / (1 + z * z / n)
            half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
            ends = np.stack([middle - half, middle + half], axis=1)
            charts.curve(axes, predicted, share, ends, place, bars=True, marker="o", label=name)
            limit = max(limit, min(1.0, 1.08 * max(*predicted, *share) + 0.01))
        axes.plot([0, limit], [0, limit], color=charts.GREY, linewidth=1, label="share = probability")
        counted = sum(item.n for item in next(iter(systems.values())))
        describe(
            axes, f"Reliability of {'source words' if part == 'source' else part}",
            f"n = {counted:,} · bins of equal mass · bars: 95 %", "upper left", xlim=(0, limit),
            ylim=(0, limit), xlabel="mean P(BAD) of the bin", ylabel="share of BAD tags",
        )  # fmt: skip
    return figure


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


def errors_by_band(bands: Sequence[Band], name: str, label: str, digits: int) -> Figure:
    figure, (axes,) = charts.panels(7.0, 3.9)
    places, ends = range(len(bands)), [band.ci for band in bands]
    charts.curve(axes, places, [band.mae for band in bands], ends, bars=True, linestyle="none", marker="o")
    axes.set_xticks(places, [f"{interval((b.low, b.high), digits)}\nn = {count(b.n)}" for b in bands])
    describe(
        axes, f"Error by {name}", "95 % bootstrap intervals; bands of about equal size",
        xlabel=label, ylabel="mean absolute error (label units)", ylim=(0, None),
    )  # fmt: skip
    return figure


def score_distributions(scores: FloatArray, training: FloatArray | None, scale: LabelScale) -> Figure:
    figure, (axes,) = charts.panels(7.6, 3.9)
    both = scores if training is None else np.concatenate([scores, training])
    bins = np.linspace(both.min(), both.max() + 1e-9, 31).tolist()
    filled: dict[str, Any] = {"color": charts.BLUE, "alpha": 0.55}
    outline: dict[str, Any] = {"histtype": "step", "color": charts.VERMILLION, "linewidth": 1.8}
    for name, values, style in (("this file", scores, filled), ("training", training, outline)):
        if values is not None:
            shares, label = np.full(len(values), 100 / len(values)), f"{name}, n = {len(values):,}"
            axes.hist(values, bins, weights=shares, label=label, **style)
    note = f"median {number(np.median(scores), 2)}, mean {number(scores.mean(), 2)}"
    label = f"predicted {scale_label(scale)}"
    describe(axes, "Scores", note, "best", xlabel=label, ylabel="% of the segments")
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
