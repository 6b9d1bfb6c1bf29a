"""Tables and parallel texts as streams of rows: one reader for files of every kind."""

import codecs
import io
import json
import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from features.basics.errors import InputError
from features.basics.numerals import is_finite, too_long
from features.core.extractor import TableColumns
from features.storage.files import DAMAGED_GZIP, MAX_LINE, damage_of, open_binary, read_lines, rewindable
from qe.data.delimited import KINDS, Dialect, Record, dialect_of, lines_of, text_lines
from qe.data.delimited import Layout as Layout
from qe.data.translation_files import tmx, xliff
from qe.data.translation_files.segments import Languages, TranslationFile, translation_kind
from qe.data.translation_files.xlsx import Sheet

Types = Mapping[str, pa.DataType]
Kind = Literal["tsv", "csv", "jsonl", "parquet"]
MAX_COLUMNS = 10_000
_BATCH = 4096  # rows of Parquet that are read at once
_BATCH_BYTES = 1 << 30  # that a batch may take, if it repeats a text of a dictionary
_TABLES: Mapping[str, Kind] = {
    "tsv": "tsv", "csv": "csv", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet",
}  # fmt: skip
# Excel saves "Unicode text" and tabs as .txt
NAMED: Mapping[str, Kind] = {**_TABLES, "txt": "tsv", "tab": "tsv", "pq": "parquet"}
_PACKED = (".gz", ".zst")


def is_table(path: Path, *, of_tools: bool = True) -> bool:
    """Whether the name is that of a table, or (`of_tools`) of a file of translation tools."""
    return ending_of(path) in _TABLES or (of_tools and translation_kind(path) is not None)


def ending_of(path: Path) -> str:
    suffixes = [suffix.lstrip(".").lower() for suffix in path.suffixes if suffix.lower() not in _PACKED]
    return suffixes[-1] if suffixes else ""


def kind_of(path: Path) -> str:
    """The kind by the file's name; a pipe without such a name by its content."""
    if path.is_dir():
        raise InputError(
            "is a folder, and a table is one file",
            location=path,
            remedy="name the file; files side by side become a table by `paste` (docs/own-data.md), or are "
            "read by another format of `qe data formats`",
        )
    ending = ending_of(path)
    kind = translation_kind(path) or NAMED.get(ending)
    if kind is None and rewindable(path) != path:
        return kind_by_content(path)
    if kind is None:
        raise InputError(
            f"cannot tell the kind of file from the ending '{ending}'",
            location=path,
            remedy=f"known: {', '.join(KINDS)}; for another name set `kind` (--kind)",
        )
    return kind


def kind_by_content(path: Path, location: object = None) -> Kind:
    location = path if location is None else location
    try:
        with open_binary(path) as stream:
            begin = stream.read(1 << 16).removeprefix(codecs.BOM_UTF8)
    except DAMAGED_GZIP as error:
        raise InputError(damage_of(error), location=location) from None
    if not begin.strip():
        raise InputError("is empty", location=location, remedy="give a table: TSV, CSV, JSONL or Parquet")
    if begin.startswith(b"PAR1"):
        return "parquet"
    if begin.lstrip().startswith(b"{"):
        return "jsonl"
    return "tsv" if b"\t" in begin.partition(b"\n")[0] else "csv"


def check_header(header: Sequence[str], location: object) -> None:
    if len(header) > MAX_COLUMNS:
        raise InputError(
            f"has {len(header):,} columns; a table has at most {MAX_COLUMNS:,}",
            location=location,
            remedy="give a table with the columns that are needed",
        )
    if (name := _repeated(header)) is not None:
        raise InputError(f"the column '{name}' occurs twice in the header", location=location)


def _repeated(names: Sequence[str]) -> str | None:
    return next((name for name, times in Counter(names).items() if times > 1), None)


_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True)
class Unreadable:
    """Instead of a value: why it cannot be read; the reason of rows that need the value."""

    reason: str


Item = TypeVar("Item")
Row = tuple[dict[str, Any], str]  # (columns, reason why the row cannot be used or "")
TEXTS = ("source", "target", "pseudo_reference", "back_translation")
NUMBER = "model_score"  # the only column of segments that is a number
HALF_SURROGATE = re.compile("[\ud800-\udfff]")


def chunks(rows: Iterable[Item], size: int) -> Iterator[list[Item]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, size)):
        yield batch


def row_of(header: Sequence[str], fields: Sequence[str]) -> Row:
    problem = f"{len(fields)} fields where the header has {len(header)}"
    return dict(zip(header, fields, strict=False)), "" if len(fields) == len(header) else problem


def json_rows(lines: Iterable[str]) -> Iterator[Row]:
    for line in lines:
        try:
            value = json.loads(line, parse_float=JsonNumber, object_pairs_hook=_json_object)
        except json.JSONDecodeError as error:
            yield {}, f"not valid JSON ({error.msg})"
        except RecursionError:
            yield {}, "not valid JSON (nested too deeply)"
        except ValueError:  # Python reads whole numbers of up to 4,300 digits
            yield {}, "not valid JSON (a whole number of too many digits)"
        else:
            yield (value, unusable_id(value)) if isinstance(value, dict) else ({}, "not a JSON object")


def _json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        repeated = _repeated([name for name, _ in pairs])
        raise json.JSONDecodeError(f"the key {repeated!r} is repeated", "", 0)
    return row


class JsonNumber(float):
    """A number of JSON; its text is as it was written: `1e400` is no infinity, `1.10` not `1.1`."""

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__


def unusable_id(row: dict[str, Any]) -> str:
    """Why a row's id cannot be written, or an empty string; such an id is removed from the row."""
    name = row.get("id")
    if isinstance(name, dict | list) or (type(name) is float and not math.isfinite(name)):
        row["id"] = None
        return "the id is neither text nor a number"
    if isinstance(name, str) and HALF_SURROGATE.search(name):
        row["id"] = None
        return "the id holds half a surrogate pair"
    return ""


def cell_text(value: Any) -> str | None:
    """A cell as text: lists and objects as JSON; None for an absent value (None, NaN).

    >>> [cell_text(value) for value in ("a", 5, 0.5, ["a"], float("nan"))]
    ['a', '5', '0.5', '["a"]', None]
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float | np.floating):
        text = str(value) if isinstance(value, JsonNumber) else repr(float(value))
        return None if np.isnan(value) else text
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return json.dumps(value, default=str) if isinstance(value, list | tuple | dict) else str(value)


def is_structure(value: Any) -> bool:
    return isinstance(value, list | tuple | dict | bytes | np.ndarray)


def needed_texts(
    columns: Mapping[str, Any], needed: Sequence[str], table_columns: TableColumns | None = None
) -> tuple[dict[str, str], str]:
    """The needed columns of a row as text, and why the row cannot be scored, or an empty string.

    table_columns  those that features read by name: missing values are empty texts
    """
    texts: dict[str, str] = {}
    named = table_columns or {}
    for name in needed:
        value = columns.get(name)
        if isinstance(value, Unreadable):
            return texts, value.reason
        text = cell_text(value)
        if text is None and name in named and (name in columns or named[name].optional):
            text = ""
        if text is None:
            return texts, f"no {name}"
        if name in TEXTS and is_structure(value):
            return texts, f"{name} is not text"
        if name in ("source", "target") and not text.strip():
            return texts, f"empty {name}"
        if HALF_SURROGATE.search(text):
            return texts, f"{name} holds half a surrogate pair"
        if name in TEXTS and (reason := too_long(text)):
            return texts, f"{name} has {reason}"
        if (
            (name == NUMBER or (name in named and named[name].number))
            and text.strip()
            and not is_finite(text)
        ):
            return texts, f"{name} is not a finite number"
        texts[name] = text
    return texts, ""


Numbered = Iterator[tuple[int, Row]]  # rows with their numbers in the file
Lines = Callable[[Path, str], Iterable[str]]  # (path, encoding) -> lines of a file


@dataclass(frozen=True)
class Input(ABC):
    """Origin of rows; `path` is the file that messages name."""

    path: Path

    @property
    @abstractmethod
    def columns(self) -> list[str] | None:
        """The columns that the input declares; None for JSONL, in which every row has its own."""

    @property
    def headers(self) -> list[str]:
        return list(next(self.rows(), ({}, ""))[0]) if self.columns is None else self.columns

    @property
    def notes(self) -> tuple[str, ...]:
        return ()

    @property
    def types(self) -> Types:
        return {name: pa.string() for name in self.columns or ()}

    @property
    def unit(self) -> str:
        """What the numbers of rows count, as messages name it; empty for lines."""
        return ""

    def count(self) -> int:
        """How many rows there are, from one reading."""
        return sum(1 for _ in self.numbered())

    @abstractmethod
    def numbered(self, *, strict: bool = False) -> Numbered:
        """The rows, some with a reason why they cannot be read; with `strict`, in any column."""

    def rows(self, *, strict: bool = False) -> Iterator[Row]:
        return (row for _, row in self.numbered(strict=strict))


def open_input(paths: Sequence[Path], layout: Layout | None = None, lines: Lines = text_lines) -> Input:
    """The table at the only path, or the texts at two; XLIFF and TMX need the languages of the layout."""
    layout = layout or Layout()
    if len(paths) == 2:
        return ParallelInput(paths[0], paths[1])
    (path,) = paths
    kind = layout.kind or kind_of(path)
    if kind in ("tsv", "csv"):
        return DelimitedInput(path, replace(layout, kind=kind), lines)
    if kind == "jsonl":
        return JsonInput(path, lines)
    return ParquetInput(path) if kind == "parquet" else FileInput(path, layout)


def read_rows(path: Path) -> Iterator[Row]:
    return open_input([path]).rows()


@dataclass(frozen=True)
class ParallelInput(Input):
    target: Path

    @property
    def columns(self) -> list[str]:
        return ["source", "target"]

    def numbered(self, *, strict: bool = False) -> Numbered:
        left, right = lines_of(self.path), lines_of(self.target)
        for number, (source, target) in enumerate(zip_longest(left, right), start=1):
            if source is None or target is None:
                is_short = source is None
                short, long = (self.path, self.target) if is_short else (self.target, self.path)
                rest = sum(1 for _ in (right if is_short else left))
                raise InputError(
                    f"the two sides must have the same number of lines, but {short} has {number - 1} "
                    f"and {long} has {number + rest}"
                )
            yield number, ({"source": source, "target": target}, "")


@dataclass(frozen=True)
class DelimitedInput(Input):
    layout: Layout
    lines: Lines = text_lines

    @cached_property
    def dialect(self) -> Dialect:
        return dialect_of(self.path, self.layout.kind or "tsv", self.layout)

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"read with {self.dialect.differences}",) if self.dialect.differences else ()

    @cached_property
    def columns(self) -> list[str]:
        return self._opened()[0]

    def numbered(self, *, strict: bool = False) -> Numbered:
        header, records = self._opened()
        return ((line, row_of(header, fields)) for line, fields in records)

    def _opened(self) -> tuple[list[str], Iterator[Record]]:
        records = self.dialect.records(self.lines(self.path, self.dialect.encoding), self.path)
        _, header = next(records, (0, [""]))
        if header == [""]:
            raise InputError("is empty", location=self.path, remedy="the first line names the columns")
        check_header(header, f"{self.path}:{self.dialect.preamble + 1}")
        return header, records


@dataclass(frozen=True)
class FileInput(Input):
    """A file of translation tools."""

    layout: Layout

    @cached_property
    def file(self) -> TranslationFile | Sheet:
        layout, kind = self.layout, self.layout.kind or translation_kind(self.path)
        layout.check()
        if kind == "xlsx":
            return Sheet(self.path, layout.sheet or "", layout.header_row)
        if layout.languages is None:
            raise InputError("is no table", location=self.path, remedy="make one of it by `qe score --keep`")
        languages = Languages(*layout.languages, layout.tags)
        if kind == "tmx":
            return tmx.read(self.path, languages)
        return replace(xliff.read(self.path, languages), score_all=layout.locked == "score")

    @cached_property
    def columns(self) -> list[str]:
        header = [name for name in self.file.header if name]
        check_header(header, self.path)
        return header

    @property
    def unit(self) -> str:
        return self.file.unit

    def numbered(self, *, strict: bool = False) -> Numbered:
        for number, row in enumerate(self.file.rows, start=1):
            texts: dict[str, Any] = {name: row.texts.get(name, "") for name in self.columns}
            unreadable = {name: Unreadable(reason) for name, reason in row.reasons.items() if name}
            yield row.number or number, (texts | unreadable, row.reason)


@dataclass(frozen=True)
class JsonInput(Input):
    lines: Lines = text_lines

    columns = None

    @cached_property
    def types(self) -> Types:
        others = {bool: pa.bool_(), float: pa.float64(), JsonNumber: pa.float64()}
        kinds: dict[str, set[pa.DataType]] = {}
        for row, _ in self.rows():
            for name, value in row.items():
                types = kinds.setdefault(name, set())
                if type(value) is int and value in _INT64:
                    types.add(pa.int64())
                elif value is not None:
                    types.add(others.get(type(value), pa.string()))
            if len(kinds) > MAX_COLUMNS:
                check_header([*kinds], self.path)
        return {name: next(iter(types)) if len(types) == 1 else pa.string() for name, types in kinds.items()}

    def count(self) -> int:
        return sum(1 for _ in read_lines(self.path))

    def numbered(self, *, strict: bool = False) -> Numbered:
        return enumerate(json_rows(self.lines(self.path, "utf-8")), start=1)


@dataclass(frozen=True)
class ParquetInput(Input):
    """A Parquet file, open only while its rows are read: a folder may have any number of them."""

    @cached_property
    def columns(self) -> list[str]:
        next(self.numbered(), None)  # damage shows
        return list(self._about[0].names)

    @property
    def types(self) -> Types:
        schema, _ = self._about
        return dict(zip(schema.names, schema.types, strict=True))

    unit = "row "

    def count(self) -> int:
        return self._about[1]

    def numbered(self, *, strict: bool = False) -> Numbered:
        return enumerate(self._rows(strict), start=1)

    def _rows(self, strict: bool) -> Iterator[Row]:
        check_header(self._about[0].names, f"{self.path}:1")
        with self._open() as file:
            for batch in self._batches(file):
                try:
                    values = batch.to_pylist()
                except (ValueError, OverflowError):  # Python has no such dates or text: each value by itself
                    yield from _readable_parts(batch, strict)
                else:
                    yield from ((value, "") for value in values)

    def _batches(self, file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
        done = 0
        try:
            for group in range(file.num_row_groups):
                size = self._batch_size(file.metadata.row_group(group), group, done + 1)
                for batch in file.iter_batches(batch_size=size, row_groups=[group]):
                    self._check_cells(batch, done + 1)
                    done += batch.num_rows
                    yield batch
        except (pa.ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"a damaged Parquet file ({reason})", location=self.path) from None

    def _batch_size(self, group: Any, number: int, row: int) -> int:
        # A file holds a text of a dictionary once, and memory as often as it occurs.
        chunks = [group.column(i) for i in range(group.num_columns)]
        names = [
            chunk.path_in_schema
            for chunk in chunks
            if chunk.physical_type == "BYTE_ARRAY"
            and chunk.has_dictionary_page
            and chunk.total_uncompressed_size > _BATCH_BYTES // _BATCH
        ]
        if not names or not group.num_rows:
            return _BATCH
        with self._open(names) as file:
            first = next(file.iter_batches(1, row_groups=[number], columns=names))
        self._check_cells(first, row)
        return min(_BATCH, max(1, _BATCH_BYTES // max(1, *map(_longest, first.columns))))

    def _check_cells(self, batch: pa.RecordBatch, row: int) -> None:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if _longest(column) > MAX_LINE:
                raise InputError(
                    f"cell of the column '{name}' longer than 16 MiB",
                    location=f"{self.path}:rows from {row}",
                    remedy="give a table with one segment per row",
                )

    @cached_property
    def _about(self) -> tuple[pa.Schema, int]:
        with self._open() as file:
            return file.schema_arrow, int(file.metadata.num_rows)

    def _open(self, dictionaries: Sequence[str] = ()) -> pq.ParquetFile:
        try:
            packed = self.path.suffix.lower() == ".gz"
            content: Any = io.BytesIO(open_binary(self.path).read()) if packed else rewindable(self.path)
            file = pq.ParquetFile(content, read_dictionary=list(dictionaries))
            _ = file.schema_arrow.names
        except FileNotFoundError:
            raise InputError("no such file", location=self.path) from None
        except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:  # the last: names of columns
            raise InputError(f"not a Parquet file ({error})", location=self.path) from None
        return file


def _longest(column: pa.Array) -> int:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _longest(column.dictionary)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _longest(column.values)
    if pa.types.is_struct(kind):
        return max(map(_longest, column.flatten()), default=0)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)
    return int(pc.max(pc.binary_length(column)).as_py() or 0) if is_text else 0


def _readable_parts(batch: pa.RecordBatch, strict: bool) -> Iterator[Row]:
    for number in range(batch.num_rows):
        row: dict[str, Any] = {}
        reason = ""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                row[name] = column[number].as_py()
            except (ValueError, OverflowError):
                row[name] = None
                if strict or name in ("id", "source", "target"):
                    reason = reason or f"{name} cannot be read: no UTF-8, or a date that no calendar has"
        yield row, reason
