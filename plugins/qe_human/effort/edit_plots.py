"""Plots of an effort report: edit distributions, word classes, correlations."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.edits.edit_categories import ALL, CATEGORIES, WORD_CLASSES
from qe.display.drawing import BLUE, INK, VERMILLION, headline, new_figure, plain_axes
from qe.display.numbers import interval, number
from qe.statistics.result import LEVEL
from qe_human.effort.effort_tables import category_title
from qe_human.effort.report import EffortReport, edited, reordered

_SCORES = {"low": VERMILLION, "high": BLUE}
_LABELS = {"low": "low score: much effort perceived", "high": "high score: little effort perceived"}
_EDITS = [name for name in CATEGORIES if name not in ("match", "order_same")]


def edit_distribution(report: EffortReport) -> Figure:
    """Share of words in every edit category, of low and of high scores. The plot follows Koponen 2012,
    figures 1 and 3.
    """

    def shares(rows: NDArray[np.int64]) -> FloatArray:
        return report.counts.sums(rows)[-1, [CATEGORIES.index(name) for name in _EDITS]]

    figure = new_figure(10.4, 4.9)
    for axes, k in zip(figure.subplots(1, 2, sharey=True), (0, 1), strict=True):
        _bars(axes, report, k, [category_title(name) for name in _EDITS], shares)
        axes.axhline(4.5, color=INK, linewidth=0.6)  # edits above, orders below
        axes.set_xlabel("% of words (order: % of paired words)")
    _legend_below(figure)
    return figure


def shares_by_class(report: EffortReport) -> Figure:
    """Edited and reordered words by word class; Koponen 2012, figures 2 and 4."""
    figure = new_figure(10.4, 7.2)
    panels = figure.subplots(2, 2, sharex="col", sharey=True)
    classes = [*WORD_CLASSES, ALL]
    for k, row in enumerate(panels):
        for axes, (what, measure) in zip(row, (("edited", edited), ("reordered", reordered)), strict=True):

            def shares(
                rows: NDArray[np.int64], measure: Callable[[FloatArray], FloatArray] = measure
            ) -> FloatArray:
                return measure(report.counts.sums(rows))

            _bars(axes, report, k, classes, shares, f"{report.pairs[k].name}: {what}")
            axes.set_xlabel(f"{what} words (%)")
    _legend_below(figure)
    return figure


def _legend_below(figure: Figure) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=9)


def _bars(
    axes: Axes,
    report: EffortReport,
    pair: int,
    names: Sequence[str],
    shares: Callable[[NDArray[np.int64]], FloatArray],
    title: str | None = None,
) -> None:
    plain_axes(axes)
    place = np.arange(len(names))
    chosen = report.pairs[pair]
    for shift, (score, rows) in zip((-0.2, 0.2), (("low", chosen.low), ("high", chosen.high)), strict=True):
        values = 100 * shares(rows)
        axes.barh(place + shift, np.nan_to_num(values), 0.36, color=_SCORES[score], label=_LABELS[score])
        for y, value in zip(place + shift, values, strict=True):
            axes.annotate(
                number(value, 1), (float(np.nan_to_num(value)), y), (3, 0), textcoords="offset points",
                va="center", fontsize=7.5, color=INK,
            )  # fmt: skip
    axes.set_yticks(place, names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.margins(x=0.12)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    subtitle = f"TER {_range(report, pair)} · n = {len(chosen.low)} and {len(chosen.high)}"
    headline(axes, title or chosen.name, subtitle)


def _range(report: EffortReport, pair: int) -> str:
    rates = report.ter[report.pairs[pair].rows]
    return interval((rates.min(), rates.max()), 2) if len(rates) else "no segment"


def correlation_forest(report: EffortReport) -> Figure:
    """Correlations of all categories with the effort score, over all words, with 95 % intervals."""
    figure = new_figure(12.4, 5.0)
    panels = figure.subplots(1, len(report.correlations), sharey=True, sharex=True)
    for axes, (name, correlations) in zip(panels, report.correlations.items(), strict=True):
        plain_axes(axes)
        rows = [c for c in correlations if c.word_class == ALL]
        for y, correlation in enumerate(rows):
            rho, (low, high) = correlation.association.rho, correlation.association.ci
            sure = correlation.p_corrected <= LEVEL
            axes.plot([low, high], [y, y], color=INK, linewidth=1)
            axes.plot(rho, y, "o", color=BLUE if rho > 0 else VERMILLION, markersize=6,
                      fillstyle="full" if sure else "none")  # fmt: skip
        axes.axvline(0, color=INK, linewidth=1)
        axes.set_yticks(np.arange(len(rows)), [category_title(c.category) for c in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(-0.85, 0.85)
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("Spearman with the score")
        first, _, rest = name.partition(", ")
        n = f"n = {max((c.association.n for c in rows), default=0):,}"
        headline(axes, first, f"{rest} · {n}" if rest else n)
    figure.supxlabel("filled: p ≤ .05 corrected · right of 0: the more, the less effort", fontsize=9)
    return figure
