"""Scoring on Spark: any input that Spark reads becomes a folder with the local engine's rows."""

import csv
import glob
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import pyarrow as pa

from features.basics.errors import InputError
from features.storage.outputs import locked_file
from qe.data.table_rows import Row, check_header, json_rows, rows_of
from qe.models.description import one_model
from qe.models.drift import DriftReport
from qe.scoring import row_formats
from qe.scoring.job_summary import Tally
from qe.scoring.naming import Names
from qe.scoring.row_formats import KeptColumns
from qe.scoring.scorer import Options, Output, Scorer
from qe.scoring.spark.session import ship_folder, shipped

CHUNK = 5000
ID = "id"
_FILE, _BLOCK, _LINE = "_qe_file", "_qe_block", "_qe_line"
_BOM = b"\xef\xbb\xbf"
_TABLE = re.compile(r"[\w`]+(\.[\w`]+)*")
_TEMPORARY = re.compile(r"\.[0-9a-f]{12}\.spark")
Split = tuple[str, int]  # a file and the byte where a task begins to read it


@dataclass(frozen=True)
class ScoredTable:
    """Result of a scoring job on Spark, with attributes of `qe.scoring.job_summary.ScoredFile`."""

    rows: int
    scored: int
    reasons: Mapping[str, int]
    drift: DriftReport | None
    actions: Mapping[str, int]
    flagged: Mapping[str, int]
    not_checked: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """Plain values only."""
        values = {
            name: dict(value) if isinstance(value, Mapping) else value for name, value in vars(self).items()
        }
        return {**values, "drift": None if self.drift is None else self.drift.to_json()}


def score_table(
    session: Any,
    model_path: Path,
    source: str,
    output: str,
    *,
    identity: str | None = None,
    options: Options | None = None,
    columns: Mapping[str, str] | None = None,
    keep: bool = False,
    suffix: str = "",
    safe: bool = False,
    overwrite: bool = False,
    chunk: int = CHUNK,
) -> ScoredTable:
    """Score a table into the folder `output`, whose parts hold the rows and columns of the local engine.

    The name of the folder gives the kind of the parts; parts of TSV and CSV have a header each. Values equal
    the local engine's to the last bit, text to the byte. Parts in the order of their names have the rows of
    one input file in its order. The folder exists only when it is complete.

    columns, keep, suffix, safe  as in `qe.scoring.jobs.score_file`

    Raises InputError as `read_table` does, and for a model, input or output that cannot be used.
    """
    kind = row_formats.kind_of(Path(output))
    scorer = Scorer.load(model_path, options or Options(), identity=identity)
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(chunk))
    with written_folder(session, output, overwrite) as folder:
        table, needed = read_table(session, source), scorer.columns()
        names = Names(columns or {}).completed(needed, table.headers, scorer.headers, table.name)
        names.check(needed, table.columns, table.name, scorer.title)
        kept = None
        if keep:
            if table.columns is None:
                raise InputError(
                    "--keep on Spark needs an input that declares its columns",
                    location=table.name,
                    remedy="convert it to Parquet, or leave out either --keep or --engine spark",
                )
            kept = KeptColumns.make(table, scorer.output_columns, kind, names.header(ID), suffix)
        else:
            table = table.taking(names.header(name) for name in (ID, *needed))
        with one_model(model_path, scorer.model.identity):
            archive = ship_folder(session, model_path)
        frame, rows_before = table.located()
        tallies = session.sparkContext.accumulator({}, Partitions())
        table = replace(table, frame=None)  # stays on the driver
        model = archive, scorer.model.identity, scorer.options
        output_columns = scorer.output_columns if kept is None else kept.columns
        types = {} if kept is None else kept.column_types
        task = Task(model, table, rows_before, names, output_columns, types, kept, kind, safe, tallies)
        task.write(frame, folder, output.lower().endswith(".gz"))
    result = sum(tallies.value.values(), Tally()).result(scorer)
    return ScoredTable(**{name: getattr(result, name) for name in ScoredTable.__dataclass_fields__})


class Partitions:
    """Accumulates partition -> its counts; a partition computed again replaces its counts."""

    def zero(self, value: dict[int, Any]) -> dict[int, Any]:
        return {}

    def addInPlace(self, total: dict[int, Any], update: dict[int, Any]) -> dict[int, Any]:
        return total | update


@dataclass(frozen=True)
class Table:
    """An input as Spark reads it: lines as bytes, or columns; rows have the split that they come from.

    columns  that the input declares; None for JSONL, whose rows name their own
    headers  those, or the keys of the first row
    types    column -> its type in Parquet; empty for JSONL
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

    @property
    def is_text(self) -> bool:
        return self.kind in ("tsv", "csv", "jsonl")

    def taking(self, names: Iterable[str]) -> Self:
        """With these columns only, of a table whose columns Spark reads one by one."""
        wanted = {*names}
        if self.columns is None or self.is_text:
            return self
        return replace(self, columns=[name for name in self.columns if name in wanted])

    def located(self) -> tuple[Any, dict[Split, int] | None]:
        """Lines or columns with their splits, and the number of rows before each split.

        None for a table that is not made of files: its rows have no order. Raises InputError for an input
        that Spark cannot read.
        """
        from pyspark.errors import AnalysisException

        frame = self.frame
        if not self.is_text:
            columns = [frame[f"`{column}`"] for column in self.columns or ()]
            try:
                frame = _with_splits(frame, *columns)
            except AnalysisException:
                return frame.select(*columns), None
        rows_before: dict[Split, int] = {}
        total = 0
        for file, block, count in sorted(map(tuple, frame.groupBy(_FILE, _BLOCK).count().collect())):
            rows_before[file, block] = total
            total += count - (self.kind in ("tsv", "csv") and block == 0)
        return frame, rows_before

    def rows(
        self, batches: Iterable[pa.RecordBatch], rows_before: Mapping[Split, int] | None
    ) -> Iterator[list[tuple[int | None, Row]]]:
        """(number in the input from 1, row) of each batch; None instead of the number without an order.

        Raises InputError for bytes that are not UTF-8, CSV records of several lines, and a file with another
        header than the first.
        """
        split, number = None, 0
        for batch in batches:
            numbers: list[int | None] = []
            items: list[Any] = []
            splits: list[Any] = [None] * batch.num_rows
            if rows_before is not None:
                splits = list(
                    zip(batch.column(_FILE).to_pylist(), batch.column(_BLOCK).to_pylist(), strict=True)
                )
            values = batch.column(_LINE) if self.is_text else batch.select(self.columns)
            for position, item in zip(splits, values.to_pylist(), strict=True):
                if rows_before is not None and position != split:
                    split, number = position, rows_before[position]
                    if position[1] == 0 and self.is_text:
                        item = item.removeprefix(_BOM)
                        if self.columns is not None:
                            self._check_header(item, position[0])
                            continue
                number += 1
                numbers.append(None if rows_before is None else number)
                items.append(item)
            yield list(zip(numbers, self._parsed(numbers, items), strict=True))

    def _check_header(self, line: bytes, file: str) -> None:
        names = _fields(_decoded(line, file, 1), self.kind, file, 1)
        if names != self.columns:
            raise InputError(
                "has another header than the first file",
                location=file,
                remedy=f"all files begin with {', '.join(self.columns or ())}",
            )

    def _parsed(self, numbers: Sequence[int | None], items: Sequence[Any]) -> Iterator[Row]:
        if not self.is_text:
            return ((row, "") for row in items)
        lines = [
            (number, _decoded(line, self.name, number)) for number, line in zip(numbers, items, strict=True)
        ]
        if self.kind == "jsonl":
            return json_rows(line for _, line in lines)
        fields = (_fields(line, self.kind, self.name, number) for number, line in lines)
        return rows_of(self.columns or (), (each or [""] for each in fields))  # as the local engine counts


def read_table(session: Any, name: str) -> Table:
    """A table file, a folder of such files (Parquet, TSV, CSV, JSONL, by its name), or a table of Spark's.

    Raises InputError for an input of another kind, or an empty one.
    """
    from pyspark.sql.functions import col

    path = Path(name)
    if path.name.startswith((".", "_")):
        raise InputError("Spark skips files whose name begins so", location=name, remedy="rename it")
    try:
        kind: str = row_formats.kind_of(path)
    except InputError:
        if not _TABLE.fullmatch(name):
            raise
        kind = "table"
    escaped = re.sub(r"([\[\]{}?\\])", r"\\\1", name)
    if kind in ("table", "parquet"):
        from pyspark.sql.pandas.types import to_arrow_schema

        frame = session.read.parquet(escaped) if kind == "parquet" else session.table(name)
        check_header(frame.columns, name)
        schema = to_arrow_schema(frame.schema)
        types = dict(zip(schema.names, schema.types, strict=True))
        return Table(name, kind, frame, list(frame.columns), list(frame.columns), types)
    text = session.read.text(escaped, lineSep="\n")
    frame = _with_splits(text, col("value").cast("binary").alias(_LINE))
    first = frame.where(col(_BLOCK) == 0).first()
    line = _decoded(bytes(first[_LINE]).removeprefix(_BOM), name, 1) if first else ""
    if kind == "jsonl":
        return Table(name, kind, frame, None, [key for row, _ in json_rows([line]) for key in row], {})
    if not line:
        raise InputError("is empty", location=name, remedy="the first line names the columns")
    header = _fields(line, kind, name, 1)
    check_header(header, name)
    return Table(name, kind, frame, header, header, {column: pa.string() for column in header})


def _with_splits(frame: Any, *columns: Any) -> Any:
    from pyspark.sql.functions import col

    file, block = col("_metadata.file_path"), col("_metadata.file_block_start")
    return frame.select(*columns, file.alias(_FILE), block.alias(_BLOCK))


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


@dataclass(frozen=True)
class Task:
    """The work of an executor on a partition: rows are parsed, scored, and encoded as locally.

    model    archive, fingerprint and options of the scorer
    rows_before  number of rows before each split of the input
    tallies  accumulator of the partitions' counts
    """

    model: tuple[str, str | None, Options]
    table: Table
    rows_before: Mapping[Split, int] | None
    names: Names
    columns: tuple[str, ...]
    types: row_formats.Types
    kept_columns: KeptColumns | None
    kind: row_formats.Kind
    safe: bool
    tallies: Any

    def write(self, frame: Any, folder: str, gzipped: bool) -> None:
        """Write the output of all partitions as a folder of parts."""
        if self.kind == "parquet":
            from pyspark.sql.pandas.types import from_arrow_schema

            schema = from_arrow_schema(row_formats.arrow_table([], self.columns, self.types).schema)
            frame.mapInArrow(lambda batches: self.run(batches), schema).write.parquet(folder)
            return
        lines = frame.mapInArrow(lambda batches: self.run(batches), "value string")
        lines.write.text(folder, compression="gzip" if gzipped else "none", lineSep="\n")

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The output of a partition; its counts are added when all of it is made."""
        from pyspark import TaskContext

        scorer, tally = _loaded(*self.model), Tally()
        start = row_formats.header(self.columns, self.kind) if self.kind != "parquet" else b""
        for numbered in self.table.rows(batches, self.rows_before):
            scored = scorer.score([self._view(number, row) for number, row in numbered])
            tally, rows = tally + Tally.from_batch(scored), scored.rows
            if self.kept_columns is not None:
                pairs = zip(numbered, rows, strict=True)
                rows = [self.kept_columns.merged(row, output) for (_, (row, _)), output in pairs]
            yield from self._encoded(rows, start)
            start = b""
        context = TaskContext.get()
        self.tallies.add({-1 if context is None else context.partitionId(): tally})

    def _view(self, number: int | None, row: Row) -> Row:
        columns, reason = self.names.view(row)
        if columns.get(ID) is not None:
            return columns, reason
        if number is None:
            raise InputError(
                "a row has no id, and the rows of this table have no order to number them by",
                location=self.table.name,
                remedy="give it a column `id`",
            )
        return {**columns, ID: str(number)}, reason

    def _encoded(self, rows: Sequence[Output], start: bytes) -> Iterator[pa.RecordBatch]:
        if self.kind == "parquet":
            yield from row_formats.arrow_table(rows, self.columns, self.types).to_batches()
            return
        text = start + row_formats.encode(rows, self.columns, self.kind, self.types, self.safe)
        if text:
            yield pa.RecordBatch.from_pydict({"value": [text.removesuffix(b"\n").decode()]})


@lru_cache(maxsize=1)
def _loaded(archive: str, identity: str | None, options: Options) -> Scorer:
    return Scorer.load(shipped(archive), options, identity=identity)


@contextmanager
def written_folder(session: Any, output: str, overwrite: bool) -> Iterator[str]:
    """Yields a folder to write next to `output`; it becomes `output` when the block succeeds.

    Works in any file system that Spark knows. Files that Spark's committer leaves of failed tasks are removed
    with the temporary folder.

    Raises InputError if `output` exists, unless `overwrite` and it is a folder Spark wrote.
    """
    path = session._jvm.org.apache.hadoop.fs.Path(output)
    files = path.getFileSystem(session._jsc.hadoopConfiguration())
    is_local = files.getScheme() == "file"
    _check_output(session, files, path, output, overwrite)
    if is_local:
        _tidy(_local(output))
    # A random name: another job may be writing the same output, and a fixed name may be a user's folder.
    temporary = f"{output.rstrip('/')}.{uuid4().hex[:12]}.spark"
    temporary_path = session._jvm.org.apache.hadoop.fs.Path(temporary)
    try:
        with locked_file(_local(temporary)) if is_local else nullcontext():
            yield temporary
        _check_output(session, files, path, output, overwrite)  # a faster job may have written it
        if overwrite:
            files.delete(path, True)
        if not files.rename(temporary_path, path):
            raise InputError("cannot be renamed to the output folder", location=temporary)
    finally:
        files.delete(temporary_path, True)


def _local(output: str) -> Path:
    return Path(re.sub("^file:(//)?", "", output).rstrip("/"))


def _tidy(output: Path) -> None:
    for folder in output.parent.glob(f"{glob.escape(output.name)}.*.spark"):
        if _TEMPORARY.fullmatch(folder.name.removeprefix(output.name)):
            with suppress(InputError), locked_file(folder, patience=0):
                shutil.rmtree(folder, ignore_errors=True)


def _check_output(session: Any, files: Any, path: Any, output: str, overwrite: bool) -> None:
    if not files.exists(path):
        return
    if not overwrite:
        raise InputError("is there already", location=output, remedy="choose another, or use --overwrite")
    if not files.exists(session._jvm.org.apache.hadoop.fs.Path(path, "_SUCCESS")):
        raise InputError("is no folder that Spark wrote", location=output, remedy="choose another --output")


def check_inputs(inputs: Sequence[str]) -> str:
    """The only input. Raises InputError for two parallel files, which Spark would not read line by line."""
    if len(inputs) != 1:
        raise InputError(
            "--engine spark takes one table, not parallel text files",
            remedy="join them, for example with paste into a TSV whose first line is source<TAB>target",
        )
    return inputs[0]
