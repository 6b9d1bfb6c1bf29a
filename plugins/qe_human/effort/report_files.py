"""What an effort report leaves in a folder: a page, JSON, tables, plots."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from features.basics.array_types import FloatArray
from features.edits.edit_labels import ALL, CATEGORIES, WORD_CLASSES
from qe.data.writing import save_table
from qe.display import charts
from qe.display.charts import save
from qe.display.files import figures as embedded
from qe.display.files import render, write, write_json
from qe.display.numbers import interval, number
from qe.statistics.settings import LEVEL
from qe_human.effort.report import (
    EffortReport,
    category_title,
    correlations_table,
    edited,
    reordered,
    sets_table,
    strongest_table,
)
from qe_human.effort.sets import SetPair, discrepancies

STRONGEST_ON_PAGE = 12  # correlations by word class that are shown of each population


def page(
    report: EffortReport,
    title: str,
    languages: tuple[str, str] = ("", ""),
    plots: Mapping[str, bytes] | None = None,
) -> str:
    """The HTML page, all text escaped; `plots` maps titles to PNG, `languages` are ISO codes or empty."""
    recipe: Any = report.recipe
    limits, settings = recipe["limits"], ("samples", "permutations", "seed", "correction", "tagger")
    shown = [f"{key}: {recipe[key]}" for key in settings if key in recipe]
    shown.append(", ".join(f"{name} {version}" for name, version in recipe["versions"].items()))
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
        recipe=" · ".join(shown),
    )


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
            values |= {f"{name}.rho": c.rho, f"{name}.p_corrected": c.p_corrected}
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


_EDITS = [name for name in CATEGORIES if name not in ("match", "order_same")]


def edit_distribution(report: EffortReport) -> Figure:
    """Share of words in every edit category, of low and of high scores; Koponen 2012, figures 1 and 3."""
    columns = [CATEGORIES.index(name) for name in _EDITS]
    figure, panels = charts.panels(10.4, 4.9, columns=2, sharey=True)
    for axes, pair in zip(panels, report.pairs, strict=True):
        _bars(axes, report, pair, pair.name, lambda shares: shares[-1, columns])
        charts.rows(axes, [category_title(name) for name in _EDITS], (_EDITS[:5], _EDITS[5:]))
    charts.footnote(figure, "% of words (order: % of paired words)")
    return figure


def shares_by_class(report: EffortReport) -> Figure:
    """Edited and reordered words by word class; Koponen 2012, figures 2 and 4."""
    figure, panels = charts.panels(10.4, 7.2, 2, 2, sharex="col", sharey=True)
    shown = [(pair, measure) for pair in report.pairs for measure in (edited, reordered)]
    for axes, (pair, measure) in zip(panels, shown, strict=True):
        _bars(axes, report, pair, f"{pair.name}: {measure.__name__}", measure)
        charts.rows(axes, [*WORD_CLASSES, ALL])
    charts.footnote(figure, "% of words")
    return figure


def _bars(
    axes: Axes, report: EffortReport, pair: SetPair, title: str, measure: Callable[[FloatArray], FloatArray]
) -> None:
    for rows, shift, colour, label in (
        (pair.low, -0.2, charts.VERMILLION, "low score: much effort perceived"),
        (pair.high, 0.2, charts.BLUE, "high score: little effort perceived"),
    ):
        values = 100 * measure(report.counts.sums(rows))
        texts = [str(number(value, 1)) for value in values]
        charts.bars(axes, values, texts=texts, shift=shift, height=0.36, colour=colour, label=label)
    axes.margins(x=0.12)
    rates = report.ter[pair.rows]
    limits = interval((rates.min(), rates.max()), 2) if len(rates) else "no segment"
    charts.describe(axes, title, f"TER {limits} · n = {len(pair.low)} and {len(pair.high)}")


def correlation_forest(report: EffortReport) -> Figure:
    figure, panels = charts.panels(12.4, 5.0, columns=len(report.correlations), sharey=True, sharex=True)
    for axes, (name, correlations) in zip(panels, report.correlations.items(), strict=True):
        rows = [c for c in correlations if c.word_class == ALL]
        values = np.array([c.rho for c in rows])
        colours = np.where(values > 0, charts.BLUE, charts.VERMILLION)
        ends, filled = [c.ci for c in rows], [c.p_corrected <= LEVEL for c in rows]
        charts.forest(axes, values, ends, colours, filled=filled)
        charts.rows(axes, [category_title(c.category) for c in rows])
        axes.axvline(0, color=charts.INK, linewidth=1)
        first, _, rest = name.partition(", ")
        n = f"n = {max((c.n for c in rows), default=0):,}"
        note, label = f"{rest} · {n}" if rest else n, "Spearman with the score"
        charts.describe(axes, first, note, xlim=(-0.85, 0.85), xlabel=label)
    charts.footnote(figure, "filled: p ≤ .05 corrected · right of 0: the more, the less effort")
    return figure


PLOTS = {
    "Correlations of edit categories with the score, with intervals": correlation_forest,
    "Shares of edit categories in the four sets": edit_distribution,
    "Edited and reordered words by word class in the four sets": shares_by_class,
}
