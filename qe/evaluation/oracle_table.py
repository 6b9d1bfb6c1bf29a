"""Oracles as a table for people: how far the best possible ranking is from the systems."""

from collections.abc import Mapping
from typing import Any

from qe.display.numbers import Shown, percent
from qe.display.table import Column, Table
from qe.statistics.metric import METRICS

ORACLE_METRICS = ("delta_avg", "spearman", "mae", "rmse")
_WITH_INTERVAL = ("delta_avg", "mae")


def oracle_table(oracles: Mapping[str, Mapping[str, Any]], best: str | None = None) -> Table:
    """One row per oracle.

    oracles  name -> JSON values, as `Oracle.to_json` gives them
    best     a system: what share of each oracle's DeltaAvg it reaches is shown
    """
    title = "oracles: they know the post-edits, the oracle effort the labels"
    columns = [Column("oracle")]
    columns += [Column(METRICS.get(m).title, m, drop=m not in _WITH_INTERVAL) for m in ORACLE_METRICS]
    if best is not None:
        title += f"\nreached: {best}, in % of their DeltaAvg"
        columns.append(Column("reached"))
    rows = [_row(name, values, best) for name, values in oracles.items()]
    return Table(title, columns, rows)


def _row(name: str, values: Mapping[str, Any], best: str | None) -> list[str]:
    cells = [name, *(_cell(values, metric) for metric in ORACLE_METRICS)]
    return cells if best is None else [*cells, percent(values.get("reached", {}).get(best), 0)]


def best_system(systems: Mapping[str, float | None]) -> str | None:
    """The system with the highest DeltaAvg; None without systems."""
    known = {name: value for name, value in systems.items() if value is not None and value == value}
    return max(known, key=lambda name: known[name]) if known else None


def _cell(values: Mapping[str, Any], metric: str) -> Shown:
    bounds = values.get("ci", {}).get(metric) if metric in _WITH_INTERVAL else None
    return METRICS.get(metric).shown(values.get(metric), bounds)
