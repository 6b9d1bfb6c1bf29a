"""Tables as records and CSV: numbers keep all their digits."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qe.display.numbers import NumberText
from qe.display.sheet import Sheet


def records(sheet: Sheet) -> list[dict[str, Any]]:
    """A mapping a row: column -> value; an interval is a mapping itself."""
    rows = zip(*(strip.cells for strip in sheet.strips), strict=True)
    return [{strip.name: _value(cell) for strip, cell in zip(sheet.strips, row, strict=True)} for row in rows]


def csv_text(sheet: Sheet) -> str:
    """The records with their columns; `NAME low` and `NAME high` for an interval."""
    rows = [dict(_flat(record)) for record in records(sheet)]
    return csv_of(rows, [strip.name for strip in sheet.strips])


def csv_of(rows: Sequence[Mapping[str, Any]], empty: Sequence[str] = ()) -> str:
    """CSV with the names that any row has, in order (`empty` without rows); undefined values are empty."""
    names = dict.fromkeys(name for row in rows for name in row)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(names or empty), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _value(cell: str) -> Any:
    return cell.value if isinstance(cell, NumberText) else cell


def _flat(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from ((name if part == "value" else f"{name} {part}", one) for part, one in value.items())
        else:
            yield name, value
