"""Tables out: TSV, CSV, JSONL and Parquet, whole or in pieces."""

import csv
import gzip
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from features.basics.errors import InputError
from features.storage.files import atomic_file, check_writable
from qe.data.table_rows import NAMED, Kind, Types, ending_of
from qe.data.translation_files.segments import KINDS as TRANSLATIONS

if TYPE_CHECKING:
    import pandas as pd

KINDS: tuple[Kind, ...] = ("tsv", "csv", "jsonl", "parquet")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # OWASP, "CSV Injection"
_SPACES = str.maketrans("\t\n\r", "   ")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?")
Rows = Sequence[Mapping[str, Any]]


def kind_of(path: Path) -> Kind:
    ending = ending_of(path)
    kind = NAMED.get(ending)
    if kind is None:
        raise InputError(
            f"cannot tell the kind of file from the ending '{ending}'",
            location=path,
            remedy=f"known: {', '.join(KINDS)} (and .gz and .zst of the first three); "
            f"{', '.join(each.lstrip('.') for each in TRANSLATIONS)} (and .gz of all but the last)",
        )
    return kind


def check_output(path: Path) -> None:
    """Raises InputError if `save_table` could not write `path`; call it before long work."""
    kind_of(path)
    check_writable(path)


def encode(rows: Rows, types: Types, kind: Kind, safe: bool = False, end: str = "\n") -> bytes:
    """Rows as the bytes of a headerless piece of a table; a piece of Parquet is a whole file.

    A JSON object has the columns that its row has; in other kinds every row has all of them. In TSV and CSV
    lists are JSON or joined by blanks, and `safe` puts an apostrophe before text that a spreadsheet would
    take for a formula.
    """
    if kind == "parquet":
        sink = io.BytesIO()
        pq.write_table(arrow_table(rows, types), sink)
        return sink.getvalue()
    if kind == "jsonl":
        return b"".join(_json_line({c: row[c] for c in types if c in row}) + end.encode() for row in rows)
    cells = ([_cell(row[c], safe) for c in types] for row in rows)
    if kind == "tsv":
        lines = ("\t".join(cell.translate(_SPACES) for cell in line) for line in cells)
        return "".join(line + end for line in lines).encode()
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end).writerows(cells)
    return text.getvalue().encode()


def _json_line(row: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair in a column that is kept
        return json.dumps(row, allow_nan=False).encode("ascii")


def _cell(value: Any, safe: bool = False) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        text = json.dumps(value, ensure_ascii=False)
    elif isinstance(value, list):
        text = " ".join(map(_cell, value))
    elif value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    else:
        text = repr(value) if isinstance(value, float) else str(value)
    formula = safe and text.startswith(_FORMULA) and not _NUMBER.fullmatch(text)
    return f"'{text}" if formula else text


def header(types: Types, kind: Kind, end: str = "\n") -> bytes:
    return b"" if kind == "jsonl" else encode([dict(zip(types, types, strict=True))], types, kind, end=end)


def arrow_table(rows: Rows, types: Types) -> pa.Table:
    return pa.Table.from_pylist([{c: row[c] for c in types} for row in rows], schema=pa.schema(types.items()))


@contextmanager
def writing(path: Path, output: Path) -> Iterator[IO[bytes]]:
    """The file `path` to write bytes to, compressed as the name of `output` says.

    Gzip has no name and no time, so that equal content gives equal bytes.
    """
    packed = output.suffix.lower()
    with path.open("wb") as raw:
        if packed == ".zst":
            with pa.CompressedOutputStream(pa.PythonFile(raw, mode="w"), "zstd") as compressed:
                yield cast(IO[bytes], compressed)
        elif packed == ".gz":
            with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as stream:
                yield cast(IO[bytes], stream)
        else:
            yield raw


@contextmanager
def table_writer(
    temporary: Path,
    output: Path,
    types: Types,
    *,
    start: bytes = b"",
    end: str = "\n",
    metadata: Mapping[bytes, bytes] | None = None,
) -> Iterator[Callable[[Rows | bytes], object]]:
    """Yields a function that writes rows, or a piece, to `temporary`, as a table of the kind of `output`.

    start     bytes before the header (a byte order mark)
    end       end of lines
    metadata  of a Parquet file
    """
    kind = kind_of(output)
    if kind == "parquet":
        with pq.ParquetWriter(temporary, pa.schema(types.items(), metadata)) as writer:

            def write_table(rows: Rows | bytes) -> None:
                if isinstance(rows, bytes):
                    writer.write_table(pq.read_table(io.BytesIO(rows)))
                elif rows:
                    writer.write_table(arrow_table(rows, types))

            yield write_table
        return
    with writing(temporary, output) as stream:
        stream.write(start + header(types, kind, end))
        yield lambda rows: stream.write(
            rows if isinstance(rows, bytes) else encode(rows, types, kind, end=end)
        )


def write_rows(path: Path, rows: Rows, types: Types) -> None:
    with atomic_file(path) as temporary, table_writer(temporary, path, types) as write:
        write(rows)


def save_table(table: "pd.DataFrame", path: Path) -> None:
    """Writes a DataFrame, by the name of the file; undefined values are empty, JSON has ten digits."""
    kind = kind_of(path)
    with atomic_file(path) as temporary:
        if kind == "parquet":
            table.to_parquet(temporary, index=False)
            return
        text = (
            table.to_json(orient="records", lines=True, force_ascii=False)
            if kind == "jsonl"
            else table.to_csv(sep="\t" if kind == "tsv" else ",", index=False)
        )
        with writing(temporary, path) as stream:
            stream.write(text.encode())
