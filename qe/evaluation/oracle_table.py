"""Oracles as a table for people: how far the best possible ranking is from the systems."""

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

_METRICS = {"delta_avg": "DeltaAvg", "spearman": "Spearman", "mae": "MAE", "rmse": "RMSE"}
_WITH_INTERVAL = ("delta_avg", "mae")


def oracle_table(oracles: Mapping[str, Mapping[str, Any]], best: str | None = None) -> Table:
    """One row per oracle.

    oracles  name -> JSON values, as `Oracle.to_json` gives them
    best     a system: what share of each oracle's DeltaAvg it reaches is shown
    """
    title = "oracles: they know the post-edits, the oracle effort the labels"
    if best is not None:
        title += f"\nreached: {best}, in % of their DeltaAvg"
    table = Table("oracle", title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in _METRICS.values():
        table.add_column(heading, justify="right", no_wrap=True)
    if best is not None:
        table.add_column("reached", justify="right", no_wrap=True)
    for name, values in oracles.items():
        cells = [_cell(values, metric) for metric in _METRICS]
        share = values.get("reached", {}).get(best)
        if best is not None:
            cells.append("-" if share is None else f"{100 * share:.0f} %")
        table.add_row(name, *cells)
    return table


def best_system(systems: Mapping[str, float | None]) -> str | None:
    """The system with the highest DeltaAvg; None without systems."""
    known = {name: value for name, value in systems.items() if value is not None and value == value}
    return max(known, key=lambda name: known[name]) if known else None


def _cell(values: Mapping[str, Any], metric: str) -> str:
    value = values.get(metric)
    if value is None:
        return "-"
    bounds = values.get("ci", {}).get(metric) if metric in _WITH_INTERVAL else None
    return f"{value:.3f}" + (f" {bounds[0]:.3f}..{bounds[1]:.3f}" if bounds else "")
