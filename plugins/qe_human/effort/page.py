"""The effort report as one HTML page that needs no other file. It holds tables, plots and segments with
marked edits.
"""

from collections.abc import Mapping
from typing import Any

from qe.display.numbers import number
from qe.display.page import figures, render
from qe_human.effort.effort_tables import category_title, correlations_table, sets_table, strongest_table
from qe_human.effort.report import EffortReport

STRONGEST = 12  # correlations by word class that are shown of each population


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
        figures=figures(plots or {}),
        correlations=correlations_table(report).html(),
        strongest=[
            strongest_table(name, correlations, STRONGEST).html()
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
