"""Differences in buckets as a picture: one panel a metric, one line a bucket.

Every line has its interval.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qe.display.drawing import INK, PALETTE, headline, new_figure, plain_axes
from qe.statistics.buckets import BucketReport, Buckets
from qe.statistics.family import Pair, Titles
from qe.statistics.metric import title_of

MOST = 40  # buckets beyond which lines cannot be told apart


def bucket_forest(report: BucketReport, buckets: Buckets, titles: Titles = title_of) -> Figure | None:
    """Differences with their intervals in every bucket; None where there are too many to draw."""
    shown = report.by_kind(buckets.name)
    metrics = list(dict.fromkeys(one.metric for one in shown))
    pairs = list(dict.fromkeys((one.system, one.baseline) for one in shown))
    lines = len(buckets.labels) * len(pairs)
    if lines > MOST:
        return None
    figure = new_figure(1.4 + 2.8 * len(metrics), 1.7 + 0.24 * lines)
    panels = figure.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
    for axes, metric in zip(panels, metrics, strict=True):
        _panel(axes, [one for one in shown if one.metric == metric], buckets.labels, pairs, report.level)
        headline(axes, titles(metric), "difference, 95 % interval")
    figure.supxlabel(f"filled: p ≤ {report.level:g}, corrected", fontsize=8)
    if len(pairs) > 1:
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _panel(
    axes: Axes,
    shown: Sequence[Pair],
    labels: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    level: float,
) -> None:
    plain_axes(axes)
    axes.axvline(0, color=INK, linewidth=1)
    for number, pair in enumerate(pairs):
        own = [one for one in shown if (one.system, one.baseline) == pair]
        colour = PALETTE[number % len(PALETTE)]
        shift = (number - (len(pairs) - 1) / 2) * 0.7 / len(pairs)
        for one in own:
            place = labels.index(one.bucket.label if one.bucket else "") + shift
            face = colour if one.p_corrected <= level else "white"
            label = f"{pair[0]} : {pair[1]}" if one is own[0] else None
            axes.plot(
                one.result.difference,
                place,
                "o",
                color=colour,
                markerfacecolor=face,
                markersize=7,
                label=label,
                zorder=3,
            )
            axes.plot(one.ci, (place, place), color=colour, linewidth=1.6)
    axes.set_yticks(np.arange(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
