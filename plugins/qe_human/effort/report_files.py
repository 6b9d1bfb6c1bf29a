"""What an effort report leaves in a folder: a page, JSON, tables, plots."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.edits.edit_labels import ALL, CATEGORIES, WORD_CLASSES
from qe.data.writing import save_table
from qe.display.drawing import BLUE, INK, VERMILLION, headline, new_figure, plain_axes, save
from qe.display.files import figures as embedded
from qe.display.files import render, write, write_json
from qe.display.numbers import interval, number
from qe.statistics.result import LEVEL
from qe_human.effort.report import (
    EffortReport,
    category_title,
    correlations_table,
    edited,
    reordered,
    sets_table,
    strongest_table,
)
from qe_human.effort.sets import discrepancies

STRONGEST_ON_PAGE = 12  # correlations by word class that are shown of each population


def page(
    report: EffortReport,
    title: str,
    languages: tuple[str, str] = ("", ""),
    plots: Mapping[str, bytes] | None = None,
) -> str:
    """The HTML page, all text escaped; `plots` maps titles to PNG, `languages` are ISO codes or empty."""
    limits = report.recipe["limits"]
    return render(
        "qe_human.effort",
        "page.html",
        {"number": number, "category": category_title},
        title=title,
        report=report,
        languages=languages,
        limits=f"score at most {limits['low_effort']:g} and TER at most {limits['low_ter']:g}; "
        f"score at least {limits['high_effort']:g} and TER at least {limits['high_ter']:g}",
        sets=sets_table(report).html(),
        figures=embedded(plots or {}),
        correlations=correlations_table(report).html(),
        strongest=[
            strongest_table(name, correlations, STRONGEST_ON_PAGE).html()
            for name, correlations in report.correlations.items()
        ],
        recipe=_recipe(report),
    )


def _recipe(report: EffortReport) -> str:
    recipe: Any = report.recipe
    shown = {
        key: recipe[key]
        for key in ("samples", "permutations", "seed", "correction", "tagger")
        if key in recipe
    }
    versions = ", ".join(f"{name} {version}" for name, version in recipe["versions"].items())
    return " · ".join([*(f"{key}: {value}" for key, value in shown.items()), versions])


def write_report(
    report: EffortReport, folder: Path, title: str, languages: tuple[str, str] = ("", "")
) -> None:
    """Writes effort.html, report.json, correlations.tsv, segments.tsv, plots/*.png."""
    folder.mkdir(parents=True, exist_ok=True)
    plots = {}
    for text, draw in PLOTS.items():
        path = folder / "plots" / f"{draw.__name__}.png"
        save(draw(report), path, dpi=120)
        plots[text] = path.read_bytes()
    write(folder / "effort.html", page(report, title, languages, plots))
    write_json(folder / "report.json", report.to_json())
    save_table(correlation_table(report), folder / "correlations.tsv")
    save_table(segment_table(report), folder / "segments.tsv")


def correlation_table(report: EffortReport) -> pd.DataFrame:
    rows = []
    for population, correlations in report.correlations.items():
        for correlation in correlations:
            values = correlation.to_json()
            lots = values.pop("lots") or {"mean": None, "sd": None}
            rows.append(
                {"population": population, **values, "lots_mean": lots["mean"], "lots_sd": lots["sd"]}
            )
    return pd.DataFrame(rows)


def figures(report: EffortReport) -> dict[str, float]:
    """Figures by dotted name (`low TER.noun.form_changed.rho`), for tracking; undefined ones are NaN."""
    values: dict[str, float] = {}
    for name, rows in report.sets.items():
        described = report.describe(rows)
        for figure in ("segments", "tokens", "mean_ter", "mean_effort", "edited", "reordered"):
            value = described[figure]
            values[f"{name}.{figure}"] = float("nan") if value is None else float(value)
    for population, correlations in report.correlations.items():
        for c in correlations:
            name = ".".join([population, *([] if c.word_class == ALL else [c.word_class]), c.category])
            values |= {f"{name}.rho": c.association.rho, f"{name}.p_corrected": c.p_corrected}
    return values


def segment_table(report: EffortReport) -> pd.DataFrame:
    numbers = pd.DataFrame(
        {
            "segment": range(1, len(report.effort) + 1),
            "effort": report.effort,
            "ter": report.ter,
            "discrepancy": discrepancies(report.effort, report.ter),
        }
    )
    sets = [""] * len(numbers)
    for name, rows in report.sets.items():
        for row in rows.tolist():
            sets[row] = "; ".join(filter(None, (sets[row], name)))
    return pd.concat([numbers.assign(set=sets), report.table], axis=1)


_SCORES = {"low": VERMILLION, "high": BLUE}
_LABELS = {"low": "low score: much effort perceived", "high": "high score: little effort perceived"}
_EDITS = [name for name in CATEGORIES if name not in ("match", "order_same")]


def edit_distribution(report: EffortReport) -> Figure:
    """Share of words in every edit category, of low and of high scores; Koponen 2012, figures 1 and 3."""

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


PLOTS = {
    "Correlations of edit categories with the score, with intervals": correlation_forest,
    "Shares of edit categories in the four sets": edit_distribution,
    "Edited and reordered words by word class in the four sets": shares_by_class,
}
