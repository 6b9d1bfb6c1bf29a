"""A power report as a table, and what it rests on."""

from qe.display.numbers import Shown, count, general, number
from qe.display.table import Column, Table
from qe.evaluation.power import MetricPower, PowerReport
from qe.statistics.metric import METRICS, title_of


def power_table(report: PowerReport) -> Table:
    """A row per metric: the gain that is found, its power, the units that a gain needs.

    The units are for the gain asked about.
    """
    unit, asked = report.recipe["unit"], any(one.by_size for one in report.metrics)
    columns = [
        Column("Metric"), Column(f"gain seen in {count(report.metrics[0].size)} {unit}s", "detectable"),
        Column("power there"), Column("overstated", drop=1),
    ]  # fmt: skip
    columns += [Column("gain asked"), Column(f"{unit}s needed", "needed")] if asked else []
    return Table("", columns, [_row(one, asked) for one in report.metrics], _notes(report))


def _row(one: MetricPower, asked: bool) -> list[str]:
    there = one.there
    cells = [title_of(one.metric), number(one.detectable, METRICS.get(one.metric).digits + 1)]
    if there is None:
        cells += [number(None), number(None)]
    else:
        cells += [_with_error(there.power, 2 * there.error), _times(there.exaggeration)]
    if not asked:
        return cells
    return [*cells, general(one.gain), count(one.needed)] if one.by_size else [*cells, "", ""]


def _with_error(value: float, error: float) -> Shown:
    return Shown(f"{number(value)} ± {number(error)}", value=value)


def _times(value: float) -> Shown:
    return Shown(f"x {number(value, 2)}", value=value)


def _notes(report: PowerReport) -> list[str]:
    recipe = report.recipe
    among = f" among {recipe['comparisons']} comparisons" if recipe["comparisons"] > 1 else ""
    return [
        f"gain seen: found with power {recipe['power']:g} at level {recipe['level']:g}{among}; pilot of"
        f" {count(recipe['pilot'])} {recipe['unit']}s; {count(recipe['simulations'])} virtual test sets a"
        f" point, {count(recipe['samples'])} exchanges each, seed {recipe['seed']}",
        "overstated: mean of the differences that are found there, over the true one",
        *(f"note: {note}" for note in report.notes),
    ]
