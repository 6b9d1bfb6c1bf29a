"""An effort report as tables for a terminal, and the texts that the page shares with them."""

from collections.abc import Mapping, Sequence
from typing import Any

from features.edits.edit_labels import ALL
from qe.display.numbers import NumberText, count, estimate, number, percent, starred
from qe.display.table import Column, Table
from qe.statistics.result import LEVEL
from qe_human.effort.correlations import Correlation
from qe_human.effort.report import EffortReport

STRONGEST = 6  # correlations by word class that are shown of each population


def category_title(name: str) -> str:
    """The name of a category for people.

    >>> category_title("distance_2_or_more"), category_title("pos_changed")
    ('distance 2 or more', 'POS changed')
    """
    return name.replace("_", " ").replace("pos ", "POS ")


def overall(report: EffortReport) -> list[tuple[Correlation, ...]]:
    columns = [
        [c for c in correlations if c.word_class == ALL] for correlations in report.correlations.values()
    ]
    return list(zip(*columns, strict=True))


def strongest(correlations: Sequence[Correlation], count: int) -> list[Correlation]:
    known = [c for c in correlations if c.word_class != ALL and c.association.rho == c.association.rho]
    return sorted(known, key=lambda c: -abs(c.association.rho))[:count]


def sets_table(report: EffortReport) -> Table:
    """The four sets; Koponen 2012, table 1."""
    columns = [Column("set"), Column("segments"), Column("tokens", drop=3), Column("mean TER")]
    columns += [Column("mean score"), Column("edited words", drop=1), Column("reordered words", drop=2)]
    rows = [_set(name, report.describe(rows)) for name, rows in report.sets.items()]
    return Table(f"{count(len(report.effort))} segments", columns, rows)


def _set(name: str, description: Mapping[str, Any]) -> list[str]:
    means = [number(description[key], 2) for key in ("mean_ter", "mean_effort")]
    return [name, count(description["segments"]), count(description["tokens"]), *means,
            percent(description["edited"]), percent(description["reordered"])]  # fmt: skip


def correlations_table(report: EffortReport) -> Table:
    """Correlations over all words, with intervals; Koponen 2012, tables 2 and 3."""
    title = "Spearman with the score (higher: less effort), 95 % intervals"
    rows = [[category_title(row[0].category), *map(correlation_cell, row)] for row in overall(report)]
    columns = [Column("category"), *map(Column, report.correlations)]
    return Table(
        title,
        columns,
        rows,
        [f"p corrected ({report.recipe['correction']}) over all categories and word classes"],
    )


def strongest_table(name: str, correlations: Sequence[Correlation], count: int) -> Table:
    rows = [
        (f"{c.word_class}, {category_title(c.category)}", correlation_cell(c))
        for c in strongest(correlations, count)
    ]
    return Table(f"strongest by word class, {name}", [Column("words"), Column("Spearman")], rows)


def correlation_cell(correlation: Correlation) -> NumberText:
    found = correlation.association
    return starred(estimate(found.rho, found.ci, 2), correlation.p_corrected, LEVEL)
