"""Tables of translations: their kinds, and how rows are written, in chunks, in each of them."""

import csv
import gzip
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, cast

import pyarrow as pa
import pyarrow.parquet as pq

from features.basics.errors import InputError
from qe.data.translation_files.kinds import KINDS as TRANSLATIONS

Kind = Literal["tsv", "csv", "jsonl", "parquet"]
Packed = Literal["", "gz", "zst"]  # how a file of text is compressed
Types = Mapping[str, pa.DataType]
NUMBERS = frozenset({"score", "low", "high", "outside"})  # output columns; the others are text
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
_BLOCK = 1 << 20
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?")
KINDS: tuple[Kind, ...] = ("tsv", "csv", "jsonl", "parquet")


def kind_of(path: Path) -> Kind:
    """The kind by the file's name, `.gz` and `.zst` aside.

    Raises InputError for any other name.
    """
    suffixes = [s.lstrip(".").lower() for s in path.suffixes if s.lower() not in (".gz", ".zst")]
    ending = suffixes[-1] if suffixes else ""
    ending = {"ndjson": "jsonl", "txt": "tsv", "pq": "parquet"}.get(ending, ending)
    if ending not in KINDS:
        raise InputError(
            f"cannot tell the kind of file from the ending '{ending}'",
            location=path,
            remedy=f"known: {', '.join(KINDS)} (and .gz and .zst of the first three); "
            f"{', '.join(each.lstrip('.') for each in TRANSLATIONS)} (and .gz of all but the last)",
        )
    return ending


def encode(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    kind: Kind,
    types: Types | None = None,
    safe: bool = False,
    end: str = "\n",
) -> bytes:
    """Rows as the bytes of a headerless piece of a table, lines ended by `end`.

    A piece of Parquet is a file of its own.

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
        lines = (_json_line({c: row[c] for c in columns if c in row}) for row in rows)
        return b"".join(line + end.encode() for line in lines)
    text = io.StringIO(newline="")
    if kind == "csv":
        writer = csv.writer(text, lineterminator=end)
        writer.writerows([_cell(row[c]) for c in columns] for row in rows)
    else:
        for row in rows:
            text.write("\t".join(_plain(_cell(row[c])) for c in columns) + end)
    return text.getvalue().encode("utf-8")


def _json_line(row: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair in a column that is kept
        return json.dumps(row, allow_nan=False).encode("ascii")


def header(columns: Sequence[str], kind: Kind, end: str = "\n") -> bytes:
    """What stands before the first row."""
    if kind == "jsonl":
        return b""
    return encode([dict(zip(columns, columns, strict=True))], columns, kind, end=end)


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
    packed: Packed,
    types: Types | None = None,
    metadata: Mapping[bytes, bytes] | None = None,
) -> None:
    """Writes the table made of the pieces, in order; equal pieces give equal bytes.

    metadata  what a Parquet file says of itself
    """
    if kind == "parquet":
        schema = arrow_table([], columns, types).schema.with_metadata(metadata)
        with pq.ParquetWriter(path, schema) as writer:
            for piece in pieces:
                writer.write_table(pq.read_table(piece))
        return
    with writing(path, packed) as stream:
        stream.write(header(columns, kind))
        for piece in pieces:
            stream.write(piece.read_bytes())


@contextmanager
def writing(path: Path, packed: Packed) -> Iterator[IO[bytes]]:
    """A file to write bytes to.

    gzip has no name and no time, so that equal content gives equal bytes.
    """
    with path.open("wb") as raw:
        if not packed:
            yield raw
            return
        if packed == "zst":
            with _Zstd(raw) as compressed:
                yield cast(IO[bytes], compressed)
            return
        with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as stream:
            yield cast(IO[bytes], stream)


def packed_as(path: Path) -> Packed:
    """How a file is compressed, by its name.

    >>> packed_as(Path("scores.tsv.zst")), packed_as(Path("scores.GZ")), packed_as(Path("scores.tsv"))
    ('zst', 'gz', '')
    """
    packed: Mapping[str, Packed] = {".gz": "gz", ".zst": "zst"}
    return packed.get(path.suffix.lower(), "")


class _Zstd(io.BufferedIOBase):
    def __init__(self, raw: IO[bytes]) -> None:
        self._stream = pa.CompressedOutputStream(pa.PythonFile(raw, mode="w"), "zstd")
        self._rest = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, content: Any, /) -> int:
        self._rest += content
        while len(self._rest) >= _BLOCK:
            self._stream.write(bytes(self._rest[:_BLOCK]))
            del self._rest[:_BLOCK]
        return len(content)

    def close(self) -> None:
        if not self.closed:
            self._stream.write(bytes(self._rest))
            self._stream.close()
        super().close()


def whole(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], kind: Kind, types: Types, safe: bool
) -> bytes:
    """A table in one piece, with its header."""
    return (b"" if kind == "parquet" else header(columns, kind)) + encode(rows, columns, kind, types, safe)


def _no_formula(value: Any) -> Any:
    r"""A text that a spreadsheet would compute, behind an apostrophe.

    >>> _no_formula("=1+1"), _no_formula("-3.5"), _no_formula(-3.5), _no_formula("- no")
    ("'=1+1", '-3.5', -3.5, "'- no")
    """
    if isinstance(value, list):
        value = _cell(value)
    formula = isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value)
    return f"'{value}" if formula else value


def _cell(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return " ".join(map(_cell, value))
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def _plain(text: str) -> str:
    return text.replace("\t", " ").replace("\n", " ").replace("\r", " ")
