"""Tables as text columns, read from TSV, CSV, JSONL, Parquet, XLSX, XLIFF and TMX.

All verbs use this one reader.
"""

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from features.basics.errors import InputError, unknown_name
from qe.data.delimited import Wanted, seen
from qe.data.headers import header_of
from qe.data.language_pairs import rows_of_pair
from qe.data.reading import Column, Reading
from qe.data.translation_files.kinds import translation_kind
from qe.data.translation_files.opened import Asked, opened
from qe.data.translation_files.xlsx import Sheet

_HALF = re.compile("[\ud800-\udfff]")
KINDS = {"tsv": "tsv", "csv": "csv", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet"}
ALL_KINDS = ("tsv", "csv", "jsonl", "parquet", "xlsx", "xliff", "tmx")
DECIMALS = (".", ",")
_NAMED = {**KINDS, "txt": "tsv", "tab": "tsv"}  # Excel saves "Unicode text" and tabs as .txt


@dataclass(frozen=True)
class Layout:
    """How a table lies on disk; what is None or empty is seen in the file, or told by its name.

    kind        tsv, csv, jsonl, parquet, xlsx, xliff or tmx
    wanted      delimiter, quoting and encoding, of TSV and CSV
    decimal     the decimal sign of numbers, a point or a comma
    asked       sheet and row of the header, of XLSX; names of languages, of XLIFF and TMX
    languages   of source and target: XLIFF and TMX must have them, and rows of a table with a column of
                language pairs that are of another pair are left out
    """

    kind: str | None = None
    wanted: Wanted = field(default_factory=Wanted)
    decimal: str | None = None
    asked: Asked = field(default_factory=Asked)
    languages: tuple[str, str] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The keys of the format `table` that say the same."""
        location = self.asked.location
        given = {"kind": self.kind, **vars(self.wanted), "decimal": self.decimal}
        given |= {
            "sheet": location.sheet or None,
            "header_row": location.header if location.header > 1 else None,
        }
        return {key: value for key, value in given.items() if value is not None}

    def check(self) -> None:
        """Raises InputError for what no table can have."""
        if self.kind is not None and self.kind not in ALL_KINDS:
            raise unknown_name("kind of table", self.kind, ALL_KINDS)
        if self.decimal is not None and self.decimal not in DECIMALS:
            raise InputError(f"{self.decimal!r} is no decimal sign", remedy="a point or a comma")
        self.wanted.check()


def is_table(path: Path) -> bool:
    """Whether a file's name says that it is a table."""
    ending = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    return ending in KINDS or translation_kind(path) is not None


def kind_of(path: Path) -> str:
    """The kind by the file's name. Raises InputError for any other name, and for a folder."""
    if path.is_dir():
        raise InputError(
            "is a folder, and a table is one file",
            location=path,
            remedy="name the file; files side by side become a table by `paste` (docs/own-data.md), or are "
            "read as they are by a format of `qe data formats`",
        )
    suffixes = [suffix.lstrip(".").lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    kind = translation_kind(path) or _NAMED.get(suffixes[-1] if suffixes else "")
    if kind is None:
        raise InputError(
            "the name does not tell what kind of table this is",
            location=path,
            remedy=f"set `kind` (--kind) to one of {', '.join(ALL_KINDS)}",
        )
    return kind


def read_table(reading: Reading, path: Path, layout: Layout | None = None) -> dict[str, Column]:
    """The columns of a table by name, every cell as text; an absent value (null) is empty text.

    Raises InputError for an unknown kind, rows that do not fit, and quoting that is evidently wrong.
    """
    layout = layout or Layout()
    layout.check()
    kind = layout.kind or kind_of(path)
    readers: dict[str, Callable[[], dict[str, Column]]] = {
        "jsonl": lambda: _json_lines(reading, path),
        "parquet": lambda: _parquet(reading, path),
        **dict.fromkeys(("tsv", "csv"), lambda: _delimited(reading, path, kind, layout)),
        **dict.fromkeys(("xlsx", "xliff", "tmx"), lambda: _of_translators(reading, path, layout)),
    }
    table = readers[kind]()
    if not table or not len(next(iter(table.values()))):
        raise InputError("the table has no rows", location=path)
    if layout.languages is not None and kind not in ("xliff", "tmx"):
        return columns_of_pair(reading, table, layout.languages, path)
    return table


def columns_of_pair(
    reading: Reading, table: Mapping[str, Column], languages: tuple[str, str], path: Path
) -> dict[str, Column]:
    """The rows of a table that are of one language pair, if a column says the pair; notes how many are not.

    Raises InputError if no row is of the pair.
    """
    texts = {name: column.texts for name, column in table.items()}
    rows, note = rows_of_pair(texts, languages, path)
    reading.note(path, len(note), note)
    return {name: column.take(rows) if note and rows else column for name, column in table.items()}


def texts_of(reading: Reading, path: Path, role: str) -> Column:
    """The texts of a file: its lines, or the column of a table that has the header of a role.

    Raises InputError for a table without such a header, or with several.
    """
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
    dialect = seen(reading.content(path), kind, layout.wanted)
    reading.note(path, 1 if dialect.told else 0, f"read with {dialect.told}")
    records = dialect.records(reading.text(path, dialect.encoding).split("\n")[:-1], path)
    _, header = next(records)
    check_header(header, f"{path}:{dialect.before + 1}")
    lines: list[int] = []
    cells: list[list[str]] = []
    for line, fields in records:
        if len(fields) != len(header):
            other = "false" if dialect.quoting else "true"
            quotes = any('"' in field for field in fields)
            raise InputError(
                f"expected {len(header)} fields as in the header, found {len(fields)}",
                location=f"{path}:{line}",
                remedy=f"if quotes are to be read otherwise here, set `quoting: {other}`" if quotes else "",
            )
        lines.append(line)
        cells.append(fields)
    return {
        name: Column([row[i] for row in cells], path, lines, decimal=layout.decimal)
        for i, name in enumerate(header)
    }


def check_header(header: Sequence[str], location: object) -> None:
    """Raises InputError if a header names a column twice."""
    repeated = [name for name in header if list(header).count(name) > 1]
    if repeated:
        raise InputError(f"the column '{repeated[0]}' occurs twice in the header", location=location)


def _of_translators(reading: Reading, path: Path, layout: Layout) -> dict[str, Column]:
    if layout.languages is None and translation_kind(path) != "xlsx":
        raise InputError("the languages of source and target are not known", location=path)
    reading.content(path)
    file = opened(path, layout.languages or ("", ""), layout.asked)
    header = [name for name in file.header if name]
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


def _json_lines(reading: Reading, path: Path) -> dict[str, Column]:
    records: list[dict[str, Any]] = []
    for number, line in enumerate(reading.text(path).split("\n")[:-1], start=1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"not JSON ({error.msg})", location=f"{path}:{number}") from None
        except (ValueError, RecursionError):  # Python reads whole numbers of up to 4,300 digits
            what = "JSON that is nested too deeply, or has a number of too many digits"
            raise InputError(what, location=f"{path}:{number}") from None
        if not isinstance(record, dict):
            raise InputError(
                "must be a JSON object", location=f"{path}:{number}", remedy="one object per line"
            )
        if records and record.keys() != records[0].keys():
            odd = sorted(record.keys() ^ records[0].keys())
            raise InputError(
                f"the keys differ from those of line 1: {', '.join(odd)}",
                location=f"{path}:{number}",
                remedy="give every line the same keys (null if there is no value)",
            )
        records.append(record)
    lines = range(1, len(records) + 1)
    return {name: _column([record[name] for record in records], path, lines) for name in records[0]}


def _parquet(reading: Reading, path: Path) -> dict[str, Column]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(reading.content(path)))
        check_header(table.column_names, path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last: names of columns
        reason = str(error).partition("\n")[0]
        raise InputError(f"not a Parquet file, or a damaged one ({reason})", location=path) from None
    rows = range(1, table.num_rows + 1)
    return {
        name: _column(_python_values(table[name], name, path), path, rows, "row ")
        for name in table.column_names
    }


def _python_values(column: Any, name: str, path: Path) -> list[Any]:
    try:
        return cast(list[Any], column.to_pylist())
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"the column '{name}' holds no UTF-8, or no dates ({error})", location=path
        ) from None


def _column(values: Sequence[Any], path: Path, lines: Sequence[int], unit: str = "") -> Column:
    absent = frozenset(row for row, value in enumerate(values) if value is None)
    texts = [_cell(value) for value in values]
    for row, text in enumerate(texts):
        if _HALF.search(text):  # JSON can write it; no text has it
            raise InputError(
                "half a surrogate pair", location=f"{path}:{unit}{lines[row]}", remedy="repair the text"
            )
    return Column(texts, path, lines, unit, absent)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, list | dict) else str(value)
