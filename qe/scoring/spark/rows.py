"""Rows: any input that Spark reads, row for row what the local engine reads from it."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from features.basics.errors import InputError
from qe.scoring import tables
from qe.scoring.rows import Row, check_header, json_rows, rows_of, unusable

ID, REASON = "id", "reason"
_FILE, _BLOCK, _LINE = "_qe_file", "_qe_block", "_qe_line"
_BOM: Final = b"\xef\xbb\xbf"
_TABLE = re.compile(r"[\w`]+(\.[\w`]+)*")

Split = tuple[str, int]  # a file and the byte where a task begins to read it


@dataclass(frozen=True)
class Counted:
    """How many rows had which outcome ("" is usable): what Spark adds up over the tasks."""

    def zero(self, value: dict[str, int]) -> dict[str, int]:
        return {}

    def addInPlace(self, left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
        for reason, count in right.items():
            left[reason] = left.get(reason, 0) + count
        return left


def read_table(session: Any, name: str, needed: Sequence[str]) -> tuple[Any, Any]:
    """A DataFrame of strings (`id`, the needed columns, `reason`), and the outcomes counted as it is used.

    name  a Parquet, TSV, CSV or JSONL file, a folder of them with such a name, or a table that Spark knows

    A row that cannot be used has a reason and no text. A row without an id gets its number in the input
    (files in the order of their paths), from 1. TSV, CSV and JSONL are parsed by the same code as locally.

    Raises InputError for an input of another kind, without a column that is needed, or (when Spark gets to
    it) with bytes that are not UTF-8, CSV records of several lines, rows of a table without an id.
    """
    kind = _kind(name)
    if kind in ("table", "parquet"):
        frame, header = _table(session, name, kind, needed)
    else:
        frame, header = _lines(session, name, kind, needed)
    outcomes = session.sparkContext.accumulator({}, Counted())
    parser = Parser(
        name, kind, header, tuple(needed), _rows_before(frame, bool(header) and kind in ("tsv", "csv"))
    )

    def parsed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch, counts in parser.batches(batches):
            outcomes.add(counts)
            yield batch

    schema = ", ".join(f"`{column}` string" for column in (ID, *needed, REASON))
    return frame.mapInArrow(parsed, schema), outcomes


def _kind(name: str) -> str:
    path = Path(name)
    if path.name.startswith((".", "_")):
        raise InputError("Spark skips files whose name begins so", where=name, remedy="rename it")
    try:
        return tables.kind_of(path)
    except InputError:
        if _TABLE.fullmatch(name):
            return "table"
        raise


def _table(session: Any, name: str, kind: str, needed: Sequence[str]) -> tuple[Any, tuple[str, ...]]:
    """Parquet files or a table, with where each row comes from; and the columns taken."""
    from pyspark.errors import AnalysisException

    frame = session.read.parquet(_escaped(name)) if kind == "parquet" else session.table(name)
    _check_columns(frame.columns, needed, name)
    taken = tuple(column for column in dict.fromkeys((ID, *needed)) if column in frame.columns)
    chosen = frame.select(*(f"`{column}`" for column in taken))
    try:
        return _located(frame, *(frame[f"`{column}`"] for column in taken)), taken
    except AnalysisException:  # not made of files: no order, no numbers
        return chosen, taken


def _lines(session: Any, name: str, kind: str, needed: Sequence[str]) -> tuple[Any, tuple[str, ...]]:
    """The lines of text files as bytes (Spark itself would mend what is not UTF-8); and the columns."""
    from pyspark.sql.functions import col

    text = session.read.text(_escaped(name), lineSep="\n")
    frame = _located(text, col("value").cast("binary").alias(_LINE))
    if kind == "jsonl":
        return frame, ()
    first = frame.where(col(_BLOCK) == 0).first()
    line = _decoded(bytes(first[_LINE]).removeprefix(_BOM), name, 1) if first else ""
    if not line:
        raise InputError("is empty", where=name, remedy="the first line names the columns")
    header = _fields(line, kind, name, 1)
    check_header(header, name)
    _check_columns(header, needed, name)
    return frame, tuple(header)


def _located(frame: Any, *columns: Any) -> Any:
    from pyspark.sql.functions import col

    file, block = col("_metadata.file_path"), col("_metadata.file_block_start")
    return frame.select(*columns, file.alias(_FILE), block.alias(_BLOCK))


def _rows_before(frame: Any, headers: bool) -> dict[Split, int] | None:
    """How many rows of the input lie before each split; None for a table that is no files.

    headers  whether the first line of every file is no row
    """
    if _FILE not in frame.columns:
        return None
    counts = frame.groupBy(_FILE, _BLOCK).count().collect()
    before: dict[Split, int] = {}
    total = 0
    for file, block, count in sorted(tuple(row) for row in counts):
        before[file, block] = total
        total += count - (headers and block == 0)
    return before


def _check_columns(there: Sequence[str], needed: Sequence[str], name: str) -> None:
    for column in needed:
        if column not in there:
            raise InputError(
                f"the model needs the column '{column}'",
                where=name,
                remedy=f"the input has {', '.join(there)}",
            )


def _escaped(name: str) -> str:
    """A path without the characters that Spark takes for patterns; `*` stays one."""
    return re.sub(r"([\[\]{}?\\])", r"\\\1", name)


@dataclass(frozen=True)
class Parser:
    """What a task does: Arrow batches in; batches of id, needed columns and reason out.

    before  rows before each split; None if rows must bring their own ids
    """

    name: str
    kind: str
    header: tuple[str, ...]
    needed: tuple[str, ...]
    before: Mapping[Split, int] | None

    def batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, dict[str, int]]]:
        """The parsed batches, each with how many rows had which outcome."""
        split, number = None, 0
        for batch in batches:
            numbered: list[tuple[int, Any]] = []
            for here, item in zip(self._splits(batch), self._items(batch), strict=True):
                if here != split:
                    split, number = here, self.before[here] if self.before is not None else 0
                    if here[1] == 0 and self.is_text:
                        item = item.removeprefix(_BOM)
                        if self.header:
                            self._check_header(item, here[0])
                            continue
                number += 1
                numbered.append((number, item))
            yield self._parsed(numbered)

    @property
    def is_text(self) -> bool:
        return self.kind in ("tsv", "csv", "jsonl")

    def _splits(self, batch: pa.RecordBatch) -> Iterable[Split]:
        if self.before is None:
            return [("", -1)] * batch.num_rows
        return zip(batch.column(_FILE).to_pylist(), batch.column(_BLOCK).to_pylist(), strict=True)

    def _items(self, batch: pa.RecordBatch) -> list[Any]:
        """Per row, its line as bytes, or its columns."""
        if self.is_text:
            return list(batch.column(_LINE).to_pylist())
        return list(batch.select(list(self.header)).to_pylist())

    def _check_header(self, line: bytes, file: str) -> None:
        names = _fields(_decoded(line, file, 1), self.kind, file, 1)
        if tuple(names) != self.header:
            raise InputError(
                "has another header than the first file",
                where=file,
                remedy=f"all files begin with {', '.join(self.header)}",
            )

    def _parsed(self, numbered: Sequence[tuple[int, Any]]) -> tuple[pa.RecordBatch, dict[str, int]]:
        numbers = [number for number, _ in numbered]
        columns: dict[str, list[str | None]] = {name: [] for name in (ID, *self.needed, REASON)}
        counts: dict[str, int] = {}
        for number, (row, problem) in zip(numbers, self._rows(numbered), strict=True):
            reason = problem or unusable(row, self.needed) or _unencodable(row, self.needed)
            counts[reason] = counts.get(reason, 0) + 1
            columns[ID].append(self._id(row, number))
            for name in self.needed:
                columns[name].append(None if reason else row[name])
            columns[REASON].append(reason)
        return pa.RecordBatch.from_pydict(columns, pa.schema([(c, pa.string()) for c in columns])), counts

    def _rows(self, numbered: Sequence[tuple[int, Any]]) -> Iterator[Row]:
        if not self.is_text:
            return ((row, "") for _, row in numbered)
        lines = ((_decoded(line, self.name, number), number) for number, line in numbered)
        if self.kind == "jsonl":
            return json_rows(line for line, _ in lines)
        fields = (_fields(line, self.kind, self.name, number) for line, number in lines)
        return rows_of(self.header, (each or [""] for each in fields))  # as the other engine counts

    def _id(self, row: Mapping[str, Any], number: int) -> str:
        value = row.get(ID)
        if value is None and self.before is None:
            raise InputError(
                "a row has no id, and the rows of this table have no order to number them by",
                where=self.name,
                remedy="give it a column `id`",
            )
        return str(number if value is None else value)


def _unencodable(row: Mapping[str, Any], needed: Sequence[str]) -> str:
    """A reason where a text holds half a surrogate pair (JSON can), which Spark's strings cannot."""
    for name in needed:
        try:
            row[name].encode()
        except UnicodeEncodeError:
            return f"{name} is not Unicode text"
    return ""


def _decoded(line: bytes, where: object, number: int) -> str:
    try:
        return line.removesuffix(b"\r").decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8 (byte 0x{error.object[error.start]:02x} at position {error.start + 1})",
            where=f"{where}, row {number}",
            remedy="convert the file, for example with iconv -t UTF-8",
        ) from None


def _fields(line: str, kind: str, where: object, number: int) -> list[str]:
    """The fields of one line of TSV (unquoted) or CSV."""
    if kind == "tsv":
        return line.split("\t")
    try:
        return next(csv.reader([line + "\n"], strict=True), [])
    except csv.Error as error:
        raise InputError(
            f"not a CSV record on one line ({error})",
            where=f"{where}, row {number}",
            remedy="Spark splits files at line ends: use Parquet or JSONL for text with line ends",
        ) from None
