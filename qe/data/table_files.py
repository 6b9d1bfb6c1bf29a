"""Tables as text columns, read from TSV, CSV, JSONL, Parquet, XLSX, XLIFF and TMX."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from qe.data.delimited import dialect_of
from qe.data.headers import header_of, rows_of_pair
from qe.data.reading import Column, Reading
from qe.data.table_rows import Layout, ParquetInput, Row, check_header, is_table, json_rows, kind_of
from qe.data.translation_files.opened import opened
from qe.data.translation_files.xlsx import Sheet


def read_table(reading: Reading, path: Path, layout: Layout | None = None) -> dict[str, Column]:
    """The columns of a table by name, every cell as text; an absent value (null) is empty text."""
    layout = layout or Layout()
    layout.check()
    kind = layout.kind or kind_of(path)
    if kind == "jsonl":
        table = _collected(json_rows(reading.text(path).split("\n")[:-1]), path)
    elif kind == "parquet":
        reading.content(path)  # its checksum goes to the provenance
        table = _collected(ParquetInput(path).rows(strict=True), path, "row ")
    elif kind in ("tsv", "csv"):
        table = _delimited(reading, path, kind, layout)
    else:
        table = _of_translators(reading, path, kind, layout)
    if not table or not len(next(iter(table.values()))):
        raise InputError("the table has no rows", location=path)
    if layout.languages is not None and kind not in ("xliff", "tmx"):
        return columns_of_pair(reading, table, layout.languages, path)
    return table


def columns_of_pair(
    reading: Reading, table: Mapping[str, Column], languages: tuple[str, str], path: Path
) -> dict[str, Column]:
    texts = {name: column.texts for name, column in table.items()}
    rows, note = rows_of_pair(texts, languages, path)
    reading.note(path, len(note), note)
    return {name: column.take(rows) if note and rows else column for name, column in table.items()}


def texts_of(reading: Reading, path: Path, role: str) -> Column:
    if not is_table(path):
        return reading.lines(path)
    table = read_table(reading, path)
    header = role if role in table else header_of(role, list(table), path)
    if not header:
        raise InputError(
            f"no column is known as the {role}",
            location=path,
            remedy=f"it has {', '.join(table)}; name it {role}, or give a file with one text per line",
        )
    return reading.stripped(table[header])


def _delimited(reading: Reading, path: Path, kind: str, layout: Layout) -> dict[str, Column]:
    dialect = dialect_of(path, kind, layout.csv)
    reading.note(path, 1 if dialect.differences else 0, f"read with {dialect.differences}")
    records = dialect.records(reading.text(path, dialect.encoding).split("\n")[:-1], path)
    _, header = next(records)
    check_header(header, f"{path}:{dialect.preamble + 1}")
    lines: list[int] = []
    cells: list[list[str]] = []
    for line, fields in records:
        if len(fields) != len(header):
            raise InputError(
                f"expected {len(header)} fields as in the header, found {len(fields)}",
                location=f"{path}:{line}",
                remedy=dialect.remedy(fields),
            )
        lines.append(line)
        cells.append(fields)
    return {
        name: Column([row[i] for row in cells], path, lines, decimal=layout.decimal)
        for i, name in enumerate(header)
    }


def _of_translators(reading: Reading, path: Path, kind: str, layout: Layout) -> dict[str, Column]:
    if layout.languages is None and kind != "xlsx":
        raise InputError("the languages of source and target are not known", location=path)
    reading.content(path)
    file = opened(path, layout.languages or ("", ""), layout.options, kind)
    header = [name for name in file.header if name]
    check_header(header, path)
    unit = "row " if isinstance(file, Sheet) else "segment "
    numbered = [(row.number or number, row) for number, row in enumerate(file.rows, start=1)]
    if isinstance(file, Sheet):
        for line, row in numbered:
            for reason in row.reasons.values():
                reading.defect(reason, location=f"{path}:{unit}{line}")
    else:
        there = [(number, row) for number, row in numbered if not row.reasons]
        reading.note(path, len(numbered) - len(there), "{n} segments without a translation are left out")
        numbered = there
    lines, rows = [number for number, _ in numbered], [row for _, row in numbered]
    return {
        name: Column([row.texts.get(name, "") for row in rows], path, lines, unit, decimal=layout.decimal)
        for name in header
    }


def _collected(rows: Iterable[Row], path: Path, unit: str = "") -> dict[str, Column]:
    records: list[dict[str, Any]] = []
    for number, (record, reason) in enumerate(rows, start=1):
        if reason:
            raise InputError(reason, location=f"{path}:{unit}{number}")
        if records and record.keys() != records[0].keys():
            odd = sorted(record.keys() ^ records[0].keys())
            raise InputError(
                f"the keys differ from those of line 1: {', '.join(odd)}",
                location=f"{path}:{unit}{number}",
                remedy="give every line the same keys (null if there is no value)",
            )
        records.append(record)
    names = records[0] if records else ()
    return {name: Column.of_values([record[name] for record in records], path, unit) for name in names}
