"""The reliability diagram: how often tags are BAD, over how probable that was said to be."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from features.basics.array_types import FloatArray, IntArray
from qe.display.drawing import GREY, PALETTE, headline, legend, new_figure, plain_axes
from qe.evaluation.reliability import Bin


def reliability_plot(parts: Mapping[str, Mapping[str, Sequence[Bin]]]) -> Figure:
    """One panel a part (words, gaps, ...), one line a system; dots are bins of about equal mass."""
    figure = new_figure(1.0 + 4.2 * len(parts), 4.6)
    panels = figure.subplots(1, len(parts), squeeze=False)[0]
    for axes, (part, systems) in zip(panels, parts.items(), strict=True):
        _panel(axes, systems)
        n = sum(one.n for one in next(iter(systems.values())))
        of = "source words" if part == "source" else part
        headline(axes, f"Reliability of {of}", f"n = {n:,} · bins of equal mass · bars: 95 %")
    return figure


def _panel(axes: Axes, systems: Mapping[str, Sequence[Bin]]) -> None:
    plain_axes(axes)
    highest = max(max(one.predicted, one.observed) for bins in systems.values() for one in bins)
    limit = min(1.0, 1.08 * highest + 0.01)
    axes.plot([0, limit], [0, limit], color=GREY, linewidth=1, label="share = probability")
    for number, (name, bins) in enumerate(systems.items()):
        predicted = np.array([one.predicted for one in bins])
        observed = np.array([one.observed for one in bins])
        axes.errorbar(
            predicted, observed, _reach(observed, np.array([one.n for one in bins])), fmt="o-",
            color=PALETTE[number % len(PALETTE)], markersize=4, linewidth=1.4, label=name,
        )  # fmt: skip
    axes.set(xlim=(0, limit), ylim=(0, limit), xlabel="mean P(BAD) of the bin", ylabel="share of BAD tags")
    legend(axes, "upper left")


def _reach(share: FloatArray, n: IntArray) -> FloatArray:
    z = 1.959964
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return np.maximum(np.stack([share - (middle - half), middle + half - share]), 0)
