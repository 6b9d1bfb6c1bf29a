"""What an effort report leaves in a folder: a page, JSON, tables, plots."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from features.edits.edit_categories import ALL
from qe.data.labels import save_table
from qe.display.drawing import save
from qe.display.files import write, write_json
from qe.display.numbers import number
from qe.display.page import figures as embedded
from qe.display.page import render
from qe_human.effort.edit_plots import correlation_forest, edit_distribution, shares_by_class
from qe_human.effort.effort_tables import category_title, correlations_table, sets_table, strongest_table
from qe_human.effort.report import EffortReport
from qe_human.effort.sets import discrepancies

STRONGEST_ON_PAGE = 12  # correlations by word class that are shown of each population


def page(
    report: EffortReport,
    title: str,
    languages: tuple[str, str] = ("", ""),
    plots: Mapping[str, bytes] | None = None,
) -> str:
    """The page; all text of the data is escaped.

    plots      what each shows -> PNG
    languages  ISO codes of source and target, for hyphenation and speech; empty if not known
    """
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


PLOTS = {
    "Correlations of edit categories with the score, with intervals": correlation_forest,
    "Shares of edit categories in the four sets": edit_distribution,
    "Edited and reordered words by word class in the four sets": shares_by_class,
}


def write_report(
    report: EffortReport, folder: Path, title: str, languages: tuple[str, str] = ("", "")
) -> None:
    """effort.html, report.json, correlations.tsv, segments.tsv, plots/*.png."""
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
    """One row per population, word class and category."""
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
    """Figures by dotted name, for tracking; undefined ones are NaN. `low TER, low score.segments`, `low
    TER.form_changed.rho`, `low TER.noun.form_changed.rho`, ....
    """
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
    """One row per segment: scores, the set it is in (empty: none), shares of all categories."""
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
