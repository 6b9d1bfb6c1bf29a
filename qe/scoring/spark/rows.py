"""Rows: any input that Spark reads, row for row what the local engine reads from it."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa

from features.basics.errors import InputError
from qe.data.table_rows import Row, check_header, json_rows, rows_of
from qe.scoring import row_formats

ID = "id"
_FILE, _BLOCK, _LINE = "_qe_file", "_qe_block", "_qe_line"
_BOM: Final = b"\xef\xbb\xbf"
_TABLE = re.compile(r"[\w`]+(\.[\w`]+)*")

Split = tuple[str, int]  # a file and the byte where a task begins to read it
Numbered = tuple[int | None, Row]  # the number of a row in the input, from 1; None where rows have no order


@dataclass(frozen=True)
class Table:
    """An input as Spark has it: lines as bytes, or columns.

    Each row has the split that it comes from.

    columns  that the input declares; None for JSONL, in which every row says its own
    headers  those, or the keys of the first row
    types    column -> its type in Parquet; none of JSONL
    """

    name: str
    kind: str
    frame: Any
    columns: list[str] | None
    headers: list[str]
    types: row_formats.Types

    @property
    def path(self) -> Path:
        return Path(self.name)

    def taking(self, names: Iterable[str]) -> Self:
        """With these columns alone of a table whose columns Spark reads one by one."""
        if self.columns is None or self.kind not in ("table", "parquet"):
            return self
        names = {*names}
        return replace(self, columns=[name for name in self.columns if name in names])

    def located(self) -> tuple[Any, "Parser"]:
        """Lines or columns with their splits, and what makes rows of them on the executors.

        Raises InputError for an input that Spark cannot read, once it gets to it.
        """
        from pyspark.errors import AnalysisException

        frame = self.frame
        if self.kind in ("table", "parquet"):
            taken = [frame[f"`{column}`"] for column in self.columns or ()]
            try:
                frame = _located(frame, *taken)
            except AnalysisException:  # not made of files: no order, no numbers
                frame = frame.select(*taken)
        header = () if self.columns is None else tuple(self.columns)
        before = _rows_before(frame, self.kind in ("tsv", "csv"))
        return frame, Parser(self.name, self.kind, header, before)


def read_table(session: Any, name: str) -> Table:
    """Read a table file, a folder of such files, or a table that Spark knows.

    Files are Parquet, TSV, CSV or JSONL; a folder has such a name.

    Raises InputError for an input of another kind, or an empty one.
    """
    kind = _kind(name)
    if kind in ("table", "parquet"):
        from pyspark.sql.pandas.types import to_arrow_schema

        frame = session.read.parquet(_escaped(name)) if kind == "parquet" else session.table(name)
        check_header(frame.columns, name)
        schema = to_arrow_schema(frame.schema)
        types = dict(zip(schema.names, schema.types, strict=True))
        return Table(name, kind, frame, list(frame.columns), list(frame.columns), types)
    return _lines(session, name, kind)


def _kind(name: str) -> str:
    path = Path(name)
    if path.name.startswith((".", "_")):
        raise InputError("Spark skips files whose name begins so", location=name, remedy="rename it")
    try:
        return row_formats.kind_of(path)
    except InputError:
        if _TABLE.fullmatch(name):
            return "table"
        raise


def _lines(session: Any, name: str, kind: str) -> Table:
    from pyspark.sql.functions import col

    text = session.read.text(_escaped(name), lineSep="\n")
    frame = _located(text, col("value").cast("binary").alias(_LINE))
    first = frame.where(col(_BLOCK) == 0).first()
    line = _decoded(bytes(first[_LINE]).removeprefix(_BOM), name, 1) if first else ""
    if kind == "jsonl":
        return Table(name, kind, frame, None, [key for row, _ in json_rows([line]) for key in row], {})
    if not line:
        raise InputError("is empty", location=name, remedy="the first line names the columns")
    header = _fields(line, kind, name, 1)
    check_header(header, name)
    return Table(name, kind, frame, header, header, {column: pa.string() for column in header})


def _located(frame: Any, *columns: Any) -> Any:
    from pyspark.sql.functions import col

    file, block = col("_metadata.file_path"), col("_metadata.file_block_start")
    return frame.select(*columns, file.alias(_FILE), block.alias(_BLOCK))


def _rows_before(frame: Any, headers: bool) -> dict[Split, int] | None:
    if _FILE not in frame.columns:
        return None
    counts = frame.groupBy(_FILE, _BLOCK).count().collect()
    before: dict[Split, int] = {}
    total = 0
    for file, block, count in sorted(tuple(row) for row in counts):
        before[file, block] = total
        total += count - (headers and block == 0)
    return before


def _escaped(name: str) -> str:
    return re.sub(r"([\[\]{}?\\])", r"\\\1", name)


@dataclass(frozen=True)
class Parser:
    """What makes rows of a task's Arrow batches.

    before  rows before each split; None if rows must bring their own ids
    """

    name: str
    kind: str
    header: tuple[str, ...]
    before: Mapping[Split, int] | None

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[Numbered]]:
        """The rows of each batch.

        Raises InputError for bytes that are not UTF-8, CSV records of several lines, and a file with another
        header than the first.
        """
        split, number = None, 0
        for batch in batches:
            numbers: list[int | None] = []
            items: list[Any] = []
            for here, item in zip(self._splits(batch), self._items(batch), strict=True):
                if here != split:
                    split, number = here, self.before[here] if self.before is not None else 0
                    if here[1] == 0 and self.is_text:
                        item = item.removeprefix(_BOM)
                        if self.header:
                            self._check_header(item, here[0])
                            continue
                number += 1
                numbers.append(number)
                items.append(item)
            parsed = self._rows(numbers, items)
            yield list(zip(numbers if self.before is not None else [None] * len(items), parsed, strict=True))

    @property
    def is_text(self) -> bool:
        return self.kind in ("tsv", "csv", "jsonl")

    def _splits(self, batch: pa.RecordBatch) -> Iterable[Split]:
        if self.before is None:
            return [("", -1)] * batch.num_rows
        return zip(batch.column(_FILE).to_pylist(), batch.column(_BLOCK).to_pylist(), strict=True)

    def _items(self, batch: pa.RecordBatch) -> list[Any]:
        if self.is_text:
            return list(batch.column(_LINE).to_pylist())
        return list(batch.select(list(self.header)).to_pylist())

    def _check_header(self, line: bytes, file: str) -> None:
        names = _fields(_decoded(line, file, 1), self.kind, file, 1)
        if tuple(names) != self.header:
            raise InputError(
                "has another header than the first file",
                location=file,
                remedy=f"all files begin with {', '.join(self.header)}",
            )

    def _rows(self, numbers: Sequence[int | None], items: Sequence[Any]) -> Iterator[Row]:
        if not self.is_text:
            return ((row, "") for row in items)
        lines = (
            (_decoded(line, self.name, number), number) for number, line in zip(numbers, items, strict=True)
        )
        if self.kind == "jsonl":
            return json_rows(line for line, _ in lines)
        fields = (_fields(line, self.kind, self.name, number) for line, number in lines)
        return rows_of(self.header, (each or [""] for each in fields))  # as the other engine counts


def _decoded(line: bytes, location: object, number: int | None) -> str:
    try:
        return line.removesuffix(b"\r").decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8 (byte 0x{error.object[error.start]:02x} at position {error.start + 1})",
            location=f"{location}, row {number}",
            remedy="convert the file, for example with iconv -t UTF-8",
        ) from None


def _fields(line: str, kind: str, location: object, number: int | None) -> list[str]:
    if kind == "tsv":
        return line.split("\t")
    try:
        return next(csv.reader([line + "\n"], strict=True), [])
    except csv.Error as error:
        raise InputError(
            f"not a CSV record on one line ({error})",
            location=f"{location}, row {number}",
            remedy="Spark splits files at line ends: use Parquet or JSONL for text with line ends",
        ) from None
