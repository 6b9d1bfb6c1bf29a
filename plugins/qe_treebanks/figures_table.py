"""Figures of an annotator on a treebank as a table."""

from collections.abc import Mapping
from typing import Any

from qe.display.numbers import count, number
from qe.display.table import Column, Table

_DIGITS = 4


def figures_table(figures: Mapping[str, Any], title: str) -> Table:
    """A table with a row for each annotated layer, and for each type in a layer. Cells without a figure are
    empty.
    """
    rows: dict[str, Mapping[str, Any]] = {}
    for name, row in figures.items():
        if isinstance(row, Mapping):
            rows[name] = {key: value for key, value in row.items() if key != "types"}
            rows |= {f"{name}: {kind}": of_kind for kind, of_kind in row.get("types", {}).items()}
    names = list(dict.fromkeys(key for row in rows.values() for key in row))
    columns = [Column(""), *(Column(name, drop=place) for place, name in enumerate(names))]
    return Table(
        title, columns, [[name, *(_cell(row.get(key)) for key in names)] for name, row in rows.items()]
    )


def _cell(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value)
    return number(value, _DIGITS) if isinstance(value, float) else count(value)
