"""Tables of translations: headers of columns, kinds, the columns that stay, and how rows are written."""

import csv
import gzip
import io
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Self, cast

import pyarrow as pa
import pyarrow.parquet as pq

from features.basics.assignments import assignments
from features.basics.errors import InputError, did_you_mean, unknown_name
from features.core.extractor import TableColumns
from qe.data.headers import header_of, known_headers, named_header
from qe.data.reading import with_points
from qe.data.table_rows import NAMED, NUMBER, Kind, Row, Types, Unreadable, ending_of, unusable_id
from qe.data.translation_files.segments import KINDS as TRANSLATIONS


def name_pairs(
    texts: Iterable[str], location: object, key: str = "NAME", value: str = "HEADER"
) -> dict[str, str]:
    """`NAME=HEADER,...` as NAME -> HEADER; without a header, an empty one."""
    pairs = (pair for text in texts for pair in text.split(","))
    return assignments(pairs, f"{key}={value}", location, empty=True)


def added_headers(
    names: Iterable[str], existing: Collection[str], suffix: str, location: object
) -> dict[str, str]:
    headers = {name: name + suffix for name in names}
    for header in headers.values():
        if header in existing:
            raise InputError(
                f"has a column '{header}' already, and scoring adds one of that name",
                location=location,
                remedy="rename it, or name ours otherwise: --suffix _qe",
            )
    return headers


@dataclass(frozen=True)
class Needs:
    """The columns that a reader takes from tables, by its own names.

    columns        those that every row must have
    reader         its name, in messages
    headers        name -> header in the training data
    table_columns  those that features read by name; the input may lack optional ones
    """

    columns: Sequence[str]
    reader: str
    headers: Mapping[str, str] = field(default_factory=dict)
    table_columns: TableColumns = field(default_factory=dict)

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.columns, *self.table_columns)))

    @classmethod
    def joined(cls, parts: Sequence["Needs"], reader: str, further: Sequence[str] = ()) -> Self:
        """Needs of several readers together; the first counts where their headers differ."""
        columns = dict.fromkeys(name for part in parts for name in part.columns)
        headers = {name: header for part in reversed(parts) for name, header in part.headers.items()}
        named = {name: column for part in parts for name, column in part.table_columns.items()}
        return cls(tuple(columns | dict.fromkeys(further)), reader, headers, named)


@dataclass(frozen=True)
class Names:
    """Headers of columns in an input, by the model's names; a name without a header is its own.

    `decimal` is the sign of numbers in the input; None: a comma if it cannot separate thousands. `numbers`
    are the model's names of columns that hold numbers.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    decimal: str | None = None
    numbers: Collection[str] = (NUMBER,)

    def header(self, name: str) -> str:
        return self.headers.get(name, name)

    def for_table(
        self, needs: Needs, headers: Sequence[str], declared: Sequence[str] | None, location: object
    ) -> "Names":
        """The headers of a table, checked; `declared` are those of all its rows, or None if they differ."""
        names = self.completed(needs, headers, location)
        names.check(needs, declared, location)
        return names

    def completed(self, needs: Needs, headers: Sequence[str], location: object) -> "Names":
        """Add headers for names that the user has not given: those of the training data, or usual ones."""
        found = dict(self.headers)
        for name in (*needs.all, "id"):
            if name in found or name in headers:
                continue
            header = needs.headers.get(
                name, named_header(name, headers) if name in needs.table_columns else ""
            )
            if header not in headers:
                several = name == "id" and len(known_headers(name, headers, found.values())) > 1
                header = "" if several else header_of(name, headers, location, assigned=found.values())
            if header:
                found[name] = header
        numbers = (NUMBER, *(name for name, column in needs.table_columns.items() if column.number))
        return replace(self, headers=found, numbers=numbers)

    def notes(self, options: "Names") -> tuple[str, ...]:
        """A phrase about headers that are not among the user's options, or none."""
        found = [f"{name} = {header}" for name, header in self.headers.items() if name not in options.headers]
        return (", ".join(found),) if found else ()

    def absent(self, table_columns: TableColumns, headers: Sequence[str]) -> tuple[str, ...]:
        """A note on the columns that features read by name and the input lacks, or none."""
        lacking = [name for name in table_columns if self.header(name) not in headers]
        return (f"no column {', '.join(lacking)}: its values are imputed",) if lacking else ()

    def check(self, needs: Needs, declared: Sequence[str] | None, location: object) -> None:
        """Raises InputError for names that no model column has, and for headers that the input lacks."""
        known = tuple(dict.fromkeys((*needs.all, "id")))
        for name, header in self.headers.items():
            if name not in known:
                raise unknown_name("column", name, known, location="--columns")
            if not header:
                raise InputError(f"'{name}' is given no header", location="--columns")
        for name in () if declared is None else (*needs.columns, *self.headers):
            header = self.header(name)
            if declared is None or header in declared:
                continue
            noun = "header" if name in self.headers else "column"
            others = [h for h in map(self.header, needs.columns) if h not in (header, *declared)]
            problem = f"{needs.reader} needs the {noun} '{header}'"
            problem += "".join(f", and '{other}'" for other in others)
            has = f"the input has {', '.join(declared)}{did_you_mean(header, declared)}"
            if name in needs.table_columns:
                has += "; --missing-columns impute scores without it"
            raise InputError(
                problem if name in needs.columns else f"there is no column '{header}'",
                location=location,
                remedy=f"{has}; --columns {name}=HEADER names another",
            )

    def view(self, row: Row) -> Row:
        """The row by the model's names; its other columns stay."""
        if not self.headers and row[0].keys().isdisjoint(self.numbers):
            return row
        columns, reason = row
        named = {name: columns[header] for name, header in self.headers.items() if header in columns}
        view = {name: value for name, value in columns.items() if name not in self.headers} | named
        for name in self.numbers:
            number = view.get(name)
            if isinstance(number, str) and "," in number:
                view[name] = with_points([number], self.decimal)[0]
        return view, reason or unusable_id(view)


NUMBERS = frozenset({"score", "low", "high", "outside"})  # output columns; the others are text
_SPAN = {"start": "int64", "end": "int64", "text": "string", "mass": "double", "edits": "double"}
_NUMBERS, _TEXTS = pa.list_(pa.float64()), pa.list_(pa.string())
# Output columns with a list in every row: JSON and Parquet lists; in TSV and CSV, spans as JSON, the others
# joined by blanks.
LISTS: Mapping[str, pa.DataType] = {
    "spans": pa.list_(pa.struct([(name, pa.type_for_alias(kind)) for name, kind in _SPAN.items()])),
    **dict.fromkeys(("bad", "gaps", "source_bad"), _NUMBERS),
    **dict.fromkeys(("tokens", "tags", "gap_tags", "source_tokens", "source_tags"), _TEXTS),
}
PROBABILITIES = ("tokens", "bad", "gaps")  # the lists that every model with a word-level part gives
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # OWASP, "CSV Injection"
_SPACES = str.maketrans("\t\n\r", "   ")
_BLOCK = 1 << 20
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?")
KINDS: tuple[Kind, ...] = ("tsv", "csv", "jsonl", "parquet")


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


def encode(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    kind: Kind,
    types: Types | None = None,
    safe: bool = False,
    end: str = "\n",
) -> bytes:
    """Rows as the bytes of a headerless piece of a table; a piece of Parquet is a whole file.

    A JSON object has the columns that its row has; in other kinds every row has all of them. `safe` puts an
    apostrophe before text that a spreadsheet would take for a formula (TSV and CSV).
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
            text.write("\t".join(_cell(row[c]).translate(_SPACES) for c in columns) + end)
    return text.getvalue().encode("utf-8")


def _json_line(row: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair in a column that is kept
        return json.dumps(row, allow_nan=False).encode("ascii")


def header(columns: Sequence[str], kind: Kind, end: str = "\n") -> bytes:
    if kind == "jsonl":
        return b""
    return encode([dict(zip(columns, columns, strict=True))], columns, kind, end=end)


def arrow_table(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], types: Types | None = None
) -> pa.Table:
    """Rows as an Arrow table, with the types of kept columns; of the others only numbers are no strings."""
    of = types_of({c: c for c in columns}) | dict(types or {})
    schema = pa.schema([(c, of[c]) for c in columns])
    return pa.Table.from_pylist([{c: row[c] for c in columns} for row in rows], schema=schema)


def types_of(headers: Mapping[str, str]) -> dict[str, pa.DataType]:
    return {h: pa.float64() if c in NUMBERS else LISTS.get(c, pa.string()) for c, h in headers.items()}


@contextmanager
def writing(path: Path, output: Path) -> Iterator[IO[bytes]]:
    """The file `path` to write bytes to, compressed as the name of `output` says.

    Gzip has no name and no time, so that equal content gives equal bytes.
    """
    packed = output.suffix.lower()
    with path.open("wb") as raw:
        if packed == ".zst":
            with _Zstd(raw) as compressed:
                yield cast(IO[bytes], compressed)
        elif packed == ".gz":
            with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as stream:
                yield cast(IO[bytes], stream)
        else:
            yield raw


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


@contextmanager
def table_writer(
    temporary: Path,
    output: Path,
    columns: Sequence[str],
    types: Types | None = None,
    *,
    start: bytes = b"",
    end: str = "\n",
    metadata: Mapping[bytes, bytes] | None = None,
) -> Iterator[Callable[[Sequence[Mapping[str, Any]] | bytes], None]]:
    """Yields a function that writes rows, or a piece, to `temporary`, as a table of the kind of `output`.

    start     bytes before the header (a byte order mark)
    end       end of lines
    metadata  of a Parquet file
    """
    kind = kind_of(output)
    if kind == "parquet":
        schema = arrow_table([], columns, types).schema.with_metadata(metadata)
        with pq.ParquetWriter(temporary, schema) as writer:

            def write_table(rows: Sequence[Mapping[str, Any]] | bytes) -> None:
                if isinstance(rows, bytes):
                    writer.write_table(pq.read_table(io.BytesIO(rows)))
                elif rows:
                    writer.write_table(arrow_table(rows, columns, types))

            yield write_table
        return
    with writing(temporary, output) as stream:
        stream.write(start + header(columns, kind, end))

        def write_text(rows: Sequence[Mapping[str, Any]] | bytes) -> None:
            stream.write(rows if isinstance(rows, bytes) else encode(rows, columns, kind, types, end=end))

        yield write_text


def _no_formula(value: Any) -> Any:
    """A text that a spreadsheet would compute, behind an apostrophe."""
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


@dataclass(frozen=True)
class KeptColumns:
    """Columns that a table keeps from its input (with their types), and the added columns behind them.

    Text stays unchanged, except that TSV cannot hold tabs and line ends (they become spaces). Other values
    are written to TSV and CSV as JSON, dates as ISO 8601; JSON has null for NaN, and "inf" for infinity.
    """

    types: Types
    added: Mapping[str, str]
    kind: Kind

    @classmethod
    def make(
        cls, types: Types, added: Sequence[str], kind: Kind, id_header: str, location: Path, suffix: str = ""
    ) -> Self:
        new = [name for name in added if name != "id" or id_header not in types]
        headers = added_headers(new, types, suffix, location)
        for name in types:
            _check_writable(name, types[name], kind, location)
        return cls(types, headers, kind)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.types, *self.added.values())

    @property
    def column_types(self) -> Types:
        return {**self.types, **types_of(self.added)}

    def merged(self, row: Mapping[str, Any], output: Mapping[str, Any]) -> dict[str, Any]:
        stays = {name: self._converted(name, value) for name, value in row.items()}
        nothing = {} if self.kind == "jsonl" else dict.fromkeys(self.types)
        new = {header: output[name] for name, header in self.added.items() if header not in stays}
        return {**nothing, **stays, **new}

    def _converted(self, name: str, value: Any) -> Any:
        if self.kind == "jsonl":
            return _json_value(value)
        if self.kind == "parquet" and self.types[name] != pa.string():
            return value
        return _as_text(value)


def _check_writable(name: str, type_: pa.DataType, kind: Kind, location: Path) -> None:
    if kind == "jsonl":
        remedy = "write Parquet, or leave out --keep"
    else:
        remedy = "write Parquet (from Parquet) or JSONL (from JSONL), or leave out --keep"
        if _encodable(name) != name:
            raise InputError(
                f"has a column {name!a}, which is no Unicode text", location=location, remedy=remedy
            )
    if kind != "parquet" and "binary" in str(type_):
        raise InputError(f"the column '{name}' holds bytes ({type_})", location=location, remedy=remedy)


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, Unreadable):
        return None
    if isinstance(value, str):
        return _encodable(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, bool | list | dict | tuple):
        return _encodable(json.dumps(_json_value(value), ensure_ascii=False))
    return str(value)


def _json_value(value: Any) -> Any:
    if isinstance(value, Unreadable):
        return None
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _json_value(part) for key, part in value.items()}
    return [_json_value(part) for part in value] if isinstance(value, list | tuple) else str(value)


def _encodable(text: str) -> str:
    r"""Half a surrogate pair, which JSON can hold, as JSON writes it."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
