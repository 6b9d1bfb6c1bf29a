"""An effort report as tables for a terminal, and the texts that the page shares with them."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from features.edits.edit_categories import ALL
from qe.people.effort.correlations import Correlation
from qe.people.effort.report import EffortReport

_STRONGEST = 6  # correlations by word class that are shown of each population
_LEVEL = 0.05


def category_title(name: str) -> str:
    """The name of a category for people.

    >>> category_title("distance_2_or_more"), category_title("pos_changed")
    ('distance 2 or more', 'POS changed')
    """
    return name.replace("_", " ").replace("pos ", "POS ")


def number(value: float | None, digits: int) -> str:
    """The number with its sign; '-' if it is undefined.

    >>> number(-0.254, 2), number(float("nan"), 2)
    ('-0.25', '-')
    """
    return "-" if value is None or value != value else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """A share in per cent.

    >>> percent(0.254)
    '25.4 %'
    """
    return "-" if value is None or value != value else f"{100 * value:.1f} %"


def overall(report: EffortReport) -> list[tuple[Correlation, ...]]:
    """The correlations over all words: a row per category, a column per population."""
    columns = [
        [c for c in correlations if c.word_class == ALL] for correlations in report.correlations.values()
    ]
    return list(zip(*columns, strict=True))


def strongest(correlations: Sequence[Correlation], count: int) -> list[Correlation]:
    """The correlations of single word classes that differ most from 0."""
    known = [c for c in correlations if c.word_class != ALL and c.association.rho == c.association.rho]
    return sorted(known, key=lambda c: -abs(c.association.rho))[:count]


def sets_table(report: EffortReport) -> Table:
    """The four sets; Koponen 2012, table 1."""
    title = f"{len(report.effort):,} segments"
    table = Table("set", title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("segments", "tokens", "mean TER", "mean score", "edited", "reordered"):
        table.add_column(heading, justify="right")
    for name, rows in report.sets.items():
        description = report.describe(rows)
        means = (number(description[key], 2) for key in ("mean_ter", "mean_effort"))
        shares = (percent(description[key]) for key in ("edited", "reordered"))
        table.add_row(name, str(description["segments"]), str(description["tokens"]), *means, *shares)
    return table


def correlations_table(report: EffortReport) -> Table:
    """Correlations over all words, with intervals; Koponen 2012, tables 2 and 3."""
    title = "Spearman with the score (higher: less effort), 95 % intervals"
    table = Table("category", title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in report.correlations:
        table.add_column(name, justify="right")
    for row in overall(report):
        table.add_row(category_title(row[0].category), *map(_cell, row))
    return table


def correlation_lines(report: EffortReport) -> list[str]:
    """The strongest correlations by word class, a line for each population; what the mark means."""
    lines = []
    for name, correlations in report.correlations.items():
        shown = ", ".join(map(_named, strongest(correlations, _STRONGEST)))
        lines.append(f"strongest by word class, {name}: {shown}")
    correction = report.recipe["correction"]
    return [*lines, f"*: p <= {_LEVEL}, corrected ({correction}) over all categories and word classes"]


def _named(correlation: Correlation) -> str:
    rho = number(correlation.association.rho, 2)
    return (
        f"{correlation.word_class} {category_title(correlation.category)} {rho}{_mark(correlation).strip()}"
    )


def _cell(correlation: Correlation) -> str:
    low, high = correlation.association.ci
    interval = "-" if low != low else f"{low:.2f}..{high:.2f}"
    return f"{number(correlation.association.rho, 2)} ({interval}){_mark(correlation)}"


def _mark(correlation: Correlation) -> str:
    return "*" if correlation.p_corrected <= _LEVEL else " "
