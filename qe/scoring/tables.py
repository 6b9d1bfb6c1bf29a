"""Tables of new translations: read and written in chunks, row for row, in the kinds people have."""

import csv
import gzip
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, cast

import pyarrow as pa
import pyarrow.parquet as pq

from features.basics.errors import InputError
from features.basics.longest import too_long
from features.storage.files import read_lines
from qe.data.translation_files.kinds import KINDS as TRANSLATIONS

Kind = Literal["tsv", "csv", "jsonl", "parquet"]
_LONGEST_FIELD = 2**31 - 1  # characters in CSV: a line is in memory already
Types = Mapping[str, pa.DataType]
Row = tuple[dict[str, Any], str]  # (columns, reason why the row cannot be used or "")
NUMBERS = frozenset({"score", "low", "high"})  # output columns; the others are text
_SPAN = pa.struct(
    {
        "start": pa.int64(),
        "end": pa.int64(),
        "text": pa.string(),
        "mass": pa.float64(),
        "edits": pa.float64(),
    }
)
# Output columns with a list in every row: JSON and Parquet lists; in TSV and CSV, spans as JSON, the others
# joined by blanks.
LISTS: Mapping[str, pa.DataType] = {
    "tokens": pa.list_(pa.string()),
    "bad": pa.list_(pa.float64()),
    "gaps": pa.list_(pa.float64()),
    "tags": pa.list_(pa.string()),
    "gap_tags": pa.list_(pa.string()),
    "spans": pa.list_(_SPAN),
    "source_tokens": pa.list_(pa.string()),
    "source_bad": pa.list_(pa.float64()),
    "source_tags": pa.list_(pa.string()),
}
PROBABILITIES = ("tokens", "bad", "gaps")  # of them, what every model gives that judges words
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # OWASP, "CSV Injection"
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?")
TEXTS = ("source", "target", "pseudo_reference", "back_translation")
KINDS: tuple[Kind, ...] = ("tsv", "csv", "jsonl", "parquet")


def kind_of(path: Path) -> Kind:
    """The kind by the file's name, `.gz` aside.

    Raises InputError for any other name.
    """
    suffixes = [s.lstrip(".").lower() for s in path.suffixes if s.lower() != ".gz"]
    ending = suffixes[-1] if suffixes else ""
    ending = {"ndjson": "jsonl", "txt": "tsv", "pq": "parquet"}.get(ending, ending)
    if ending not in KINDS:
        raise InputError(
            f"cannot tell the kind of file from the ending '{ending}'",
            where=path,
            remedy=f"known: {', '.join(KINDS)} (and .gz of the first three); "
            f"{', '.join(each.lstrip('.') for each in TRANSLATIONS)} (and .gz of all but the last)",
        )
    return ending


def read_rows(path: Path, *, whole: bool = False) -> Iterator[Row]:
    """The rows of a table; a row that cannot be read comes with a reason, never vanishes.

    whole  whether values beside id, source and target, too, make a row unreadable if they are

    TSV is unquoted (a quotation mark is a character), CSV quoted. Raises InputError for a file that cannot
    be read at all: no header, not UTF-8, not the kind its name says.
    """
    kind = kind_of(path)
    if kind == "parquet":
        return _parquet_rows(path, whole)
    if kind == "jsonl":
        return json_rows(read_lines(path))
    return _delimited_rows(path, kind)


def read_parallel(source: Path, target: Path) -> Iterator[Row]:
    """Rows from two text files, one segment per line.

    Raises InputError, with both counts, where the files differ in length (before the last row is given).
    """
    left, right = read_lines(source), read_lines(target)
    number = 0
    while True:
        a, b = next(left, None), next(right, None)
        if a is None and b is None:
            return
        if a is None or b is None:
            short, long = (source, target) if a is None else (target, source)
            rest = 1 + sum(1 for _ in (right if a is None else left))
            raise InputError(
                f"the two sides must have the same number of lines, but {short} has {number} "
                f"and {long} has {number + rest}"
            )
        number += 1
        yield {"source": a, "target": b}, ""


def count_rows(source: Sequence[Path]) -> int:
    """How many rows a table (one path) or two parallel text files have, from one reading.

    Raises InputError as `read_rows` does.
    """
    path = source[0]
    kind = None if len(source) == 2 else kind_of(path)
    if kind == "parquet":
        return int(pq.ParquetFile(path).metadata.num_rows)
    if kind == "csv":
        return sum(1 for _ in read_rows(path))
    return sum(1 for _ in read_lines(path)) - (kind == "tsv")


def chunks(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """Rows in lists of `size`, the last one shorter."""
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _delimited_rows(path: Path, kind: Kind) -> Iterator[Row]:
    lines = read_lines(path)
    header_line = next(lines, None)
    if not header_line:
        raise InputError("is empty", where=path, remedy="the first line names the columns")
    if kind == "tsv":
        header = header_line.split("\t")
        records: Iterator[list[str]] = (line.split("\t") for line in lines)
    else:
        records = _csv_records(_with_line_ends(header_line, lines), path)
        header = next(records)
    check_header(header, path)
    return rows_of(header, records)


def _with_line_ends(first: str, rest: Iterable[str]) -> Iterator[str]:
    yield first + "\n"
    for line in rest:
        yield line + "\n"


def _csv_records(lines: Iterable[str], path: Path) -> Iterator[list[str]]:
    csv.field_size_limit(_LONGEST_FIELD)  # of the whole process: a reader has no limit of its own
    reader = csv.reader(lines, strict=True)
    try:
        yield from reader
    except csv.Error as error:
        raise InputError(f"not valid CSV ({error})", where=f"{path}:{reader.line_num}") from None


def rows_of(header: Sequence[str], records: Iterable[Sequence[str]]) -> Iterator[Row]:
    """Records as rows; one with more or fewer fields than the header says so as its reason."""
    for fields in records:
        if len(fields) == len(header):
            yield dict(zip(header, fields, strict=True)), ""
        else:
            there = dict(zip(header, fields, strict=False))
            yield there, f"{len(fields)} fields where the header has {len(header)}"


def json_rows(lines: Iterable[str]) -> Iterator[Row]:
    """JSONL lines as rows; one that is no JSON object says so as its reason."""
    for line in lines:
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            yield {}, f"not valid JSON ({error.msg})"
        except RecursionError:
            yield {}, "not valid JSON (nested too deeply)"
        except ValueError:  # Python reads whole numbers of up to 4,300 digits
            yield {}, "not valid JSON (a whole number of too many digits)"
        else:
            yield (value, unusable_id(value)) if isinstance(value, dict) else ({}, "not a JSON object")


def unusable_id(row: dict[str, Any]) -> str:
    """Why a row's id cannot be written, or an empty string; if it cannot, it is taken from the row."""
    name = row.get("id")
    if isinstance(name, dict | list):
        row["id"] = None
        return "the id is neither text nor a number"
    if isinstance(name, str) and any("\ud800" <= letter <= "\udfff" for letter in name):
        row["id"] = None
        return "the id holds half a surrogate pair"
    return ""


def _parquet_rows(path: Path, whole: bool = False) -> Iterator[Row]:
    try:
        file = pq.ParquetFile(path)
        names = file.schema_arrow.names
    except FileNotFoundError:
        raise InputError("no such file", where=path) from None
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:  # the last: names of columns
        raise InputError(f"not a Parquet file ({error})", where=path) from None
    check_header(names, path)
    batches = file.iter_batches(batch_size=4096)
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"a damaged Parquet file ({reason})", where=path) from None
        if batch is None:
            return
        try:
            values = batch.to_pylist()
        except (ValueError, OverflowError):  # Python has no such dates or text: each value by itself
            yield from _readable_parts(batch, whole)
        else:
            yield from ((value, "") for value in values)


def _readable_parts(batch: pa.RecordBatch, whole: bool) -> Iterator[Row]:
    """Rows in which some values cannot be read; those that need such a value say so as their reason."""
    for number in range(batch.num_rows):
        row: dict[str, Any] = {}
        reason = ""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                row[name] = column[number].as_py()
            except (ValueError, OverflowError):
                row[name] = None
                if whole or name in ("id", "source", "target"):
                    reason = reason or f"{name} cannot be read: no UTF-8, or a date that no calendar has"
        yield row, reason


def check_header(header: Sequence[str], path: object) -> None:
    """Raises InputError if a header names a column twice."""
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise InputError(f"the header names {sorted(twice)} more than once", where=f"{path}:1")


def unusable(columns: Mapping[str, Any], needed: Sequence[str]) -> str:
    """Why a row cannot be scored, or an empty string."""
    for name in needed:
        value = columns.get(name)
        if value is None:
            return f"no {name}"
        if not isinstance(value, str):
            return f"{name} is not text"
        if name in ("source", "target") and not value.strip():
            return f"empty {name}"
        if name in TEXTS and (reason := too_long(value)):
            return f"{name} has {reason}"
    return ""


def columns_of(path: Path) -> list[str] | None:
    """The columns a table declares; None for JSONL, where every row says its own."""
    kind = kind_of(path)
    if kind == "jsonl":
        return None
    if kind == "parquet":
        next(_parquet_rows(path), None)
        return list(pq.read_schema(path).names)
    first = next(read_lines(path), None)
    if not first:
        raise InputError("is empty", where=path, remedy="the first line names the columns")
    return first.split("\t") if kind == "tsv" else next(_csv_records([first], path))


def encode(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    kind: Kind,
    types: Types | None = None,
    safe: bool = False,
) -> bytes:
    """Rows as the bytes of a headerless piece of a table (Parquet: a file of its own).

    A JSON object has the columns that its row has, in order; in other kinds every row has all of them.

    safe  whether text that a spreadsheet would take for a formula gets an apostrophe before it (TSV and CSV)
    """
    if safe and kind in ("tsv", "csv"):
        rows = [{name: _no_formula(value) for name, value in row.items()} for row in rows]
    if kind == "parquet":
        sink = io.BytesIO()
        pq.write_table(arrow_table(rows, columns, types), sink)
        return sink.getvalue()
    if kind == "jsonl":
        return b"".join(_json_line({c: row[c] for c in columns if c in row}) for row in rows)
    text = io.StringIO(newline="")
    if kind == "csv":
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([_cell(row[c]) for c in columns] for row in rows)
    else:
        for row in rows:
            text.write("\t".join(_plain(_cell(row[c])) for c in columns) + "\n")
    return text.getvalue().encode("utf-8")


def _json_line(row: Mapping[str, Any]) -> bytes:
    try:
        return (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair in a column that is kept
        return (json.dumps(row, allow_nan=False) + "\n").encode("ascii")


def header(columns: Sequence[str], kind: Kind) -> bytes:
    """What stands before the first row."""
    if kind == "jsonl":
        return b""
    return encode([dict(zip(columns, columns, strict=True))], columns, kind)


def arrow_table(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], types: Types | None = None
) -> pa.Table:
    """Rows as an Arrow table.

    types  of columns that are kept from the input; of the others, `score` and interval bounds are double,
           lists as `LISTS` says, the rest string
    """
    of = types_of({c: c for c in columns}) | dict(types or {})
    schema = pa.schema([(c, of[c]) for c in columns])
    return pa.Table.from_pylist([{c: row[c] for c in columns} for row in rows], schema=schema)


def types_of(headers: Mapping[str, str]) -> dict[str, pa.DataType]:
    """Header -> type of the columns that scoring adds (name -> header)."""
    return {h: pa.float64() if c in NUMBERS else LISTS.get(c, pa.string()) for c, h in headers.items()}


def join(
    pieces: Sequence[Path],
    path: Path,
    columns: Sequence[str],
    kind: Kind,
    gzipped: bool,
    types: Types | None = None,
) -> None:
    """Writes the table made of the pieces, in order; equal pieces give equal bytes."""
    if kind == "parquet":
        empty = arrow_table([], columns, types)
        with pq.ParquetWriter(path, empty.schema) as writer:
            for piece in pieces:
                writer.write_table(pq.read_table(piece))
        return
    with writing(path, gzipped) as stream:
        stream.write(header(columns, kind))
        for piece in pieces:
            stream.write(piece.read_bytes())


@contextmanager
def writing(path: Path, gzipped: bool) -> Iterator[IO[bytes]]:
    """A file to write bytes to; gzip without a name and a time, so that equal content gives equal bytes."""
    with path.open("wb") as raw:
        if not gzipped:
            yield raw
            return
        with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as stream:
            yield cast(IO[bytes], stream)


def whole(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], kind: Kind, types: Types, safe: bool
) -> bytes:
    """A table in one piece, with its header."""
    return (b"" if kind == "parquet" else header(columns, kind)) + encode(rows, columns, kind, types, safe)


def _no_formula(value: Any) -> Any:
    r"""
    >>> _no_formula("=1+1"), _no_formula("-3.5"), _no_formula(-3.5), _no_formula("- no")
    ("'=1+1", '-3.5', -3.5, "'- no")
    """
    if isinstance(value, list):
        value = _cell(value)
    formula = isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value)
    return f"'{value}" if formula else value


def _cell(value: Any) -> str:
    """A value as text; nothing for None, all digits of a number; the values of a list joined by blanks, or
    JSON where they are objects.
    """
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return " ".join(map(_cell, value))
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def _plain(text: str) -> str:
    """A cell of an unquoted table cannot hold tabs or line ends: they become spaces."""
    return text.replace("\t", " ").replace("\n", " ").replace("\r", " ")
