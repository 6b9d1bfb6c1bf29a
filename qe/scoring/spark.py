"""Scoring on Apache Spark, with the rows of the local engine; sessions of Spark, files for executors."""

import csv
import functools
import importlib.util
import logging
import os
import re
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from features.basics.errors import InputError
from features.basics.plugins import install
from features.basics.threads import cores
from features.storage.files import atomic_directory, digest
from qe.data.table_rows import Row, Types, check_header, json_rows, row_of
from qe.data.writing import arrow_table, encode, header, kind_of
from qe.models.description import one_model
from qe.scoring.job_summary import ScoredFile
from qe.scoring.jobs import Work
from qe.scoring.row_formats import KeptColumns, Names
from qe.scoring.scorer import Options, Scorer, Tally
from qe.scoring.settings import JobSettings

_RAISED = re.compile(r"features\.basics\.errors\.InputError: (.*)")
_FILES = re.compile(r"java\.(?:io|nio\.file|util\.zip)\.(\w+Exception: .*)")
# PySpark 4.2 says so on every call; the parts of it used here are tested with pandas 3.
_PANDAS = "ignore:PySpark does not yet fully support pandas:FutureWarning"
_SETTINGS = {
    # Scoring takes about a second per MB of text: tasks of half a minute keep all cores busy to the end.
    "spark.sql.files.maxPartitionBytes": str(32 * 2**20),
    "spark.sql.files.openCostInBytes": str(2**16),
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.executorEnv.PYTHONWARNINGS": _PANDAS,
}
_LOGGING = Path(__file__).with_name("log4j2.properties")
_LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}


@contextmanager
def spark_session(master: str | None, *, quiet: bool = False) -> Iterator[Any]:
    """A session on `master` (default: this machine's cores), stopped at the end of the block.

    An active session (a notebook's) is used and stays open. Further settings come from
    `$SPARK_CONF_DIR/spark-defaults.conf` and PYSPARK_SUBMIT_ARGS. Raises InputError if PySpark or Java is not
    installed or the master does not answer, and for errors of the input on executors.
    """
    check_installed()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _PANDAS.split(":")[1], FutureWarning)
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import AnalysisException, PySparkException
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        session = active or _started(master or f"local[{cores()}]", quiet)
        try:
            yield session
        except AnalysisException as error:
            raise InputError(f"Spark: {_first_line(error)}") from None
        except (PySparkException, Py4JJavaError) as error:
            raised, failed = _RAISED.search(str(error)), _FILES.search(str(error))
            if raised is None and failed is None:
                raise
            message = raised[1] if raised else f"Spark could not read or write: {failed[1] if failed else ''}"
            raise InputError(message) from None
        finally:
            if active is None:
                session.stop()


def check_installed() -> None:
    if importlib.util.find_spec("pyspark") is None:
        raise InputError("--engine spark needs PySpark", remedy=install("spark"))
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=f"{home}/bin" if home else None) is None:
        raise InputError(
            "--engine spark needs a Java runtime, version 17 or later"
            + (f", and JAVA_HOME={home} holds none" if home else ""),
            remedy=f"on Debian: apt-get install openjdk-17-jre-headless (and {install('spark')})",
        )


def on_loopback(master: str) -> bool:
    return master.startswith(("local", "spark://127.0.0.1:", "spark://localhost:"))


def _started(master: str, quiet: bool) -> Any:
    import pyspark
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    progress = "true" if sys.stderr.isatty() and not quiet else "false"
    settings = {**_SETTINGS, **(_LOOPBACK if on_loopback(master) else {})}
    builder = SparkSession.builder.master(master).appName("qe").config(map=settings)
    defaults = {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYTHONWARNINGS": _PANDAS,
        "SPARK_SUBMIT_OPTS": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
        **({"SPARK_LOCAL_IP": "127.0.0.1"} if on_loopback(master) else {}),
    }
    added = {name: value for name, value in defaults.items() if name not in os.environ}
    os.environ.update(added)
    try:
        session = builder.config("spark.ui.showConsoleProgress", progress).getOrCreate()
    except (Py4JError, PySparkException, OSError) as error:
        java = re.search(r"\w+(?:Exception|Error): (.*)", str(error))
        problem = f"no Spark session on {master}: {java[1] if java else _first_line(error)}"
        raise InputError(problem, remedy="check --master and its log") from None
    finally:
        for name in added:
            del os.environ[name]
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # they print what they raise
    return session


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def ship_folder(session: Any, folder: Path) -> str:
    """Send a folder to every executor, once in a session; returns its name for `shipped`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    stamps = [(str(f.relative_to(folder)), f.stat().st_size, f.stat().st_mtime_ns) for f in files]
    name = f"qe-{digest(stamps)}"
    context = session.sparkContext
    if any(name in archive for archive in context.listArchives):
        return name
    # Kept until the session ends: Spark's file server reads it whenever an executor joins.
    with (
        tempfile.NamedTemporaryFile(dir=context._temp_dir, suffix=".zip", delete=False) as stream,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive,
    ):
        # Stored, not deflated: the content is mostly numbers, and both ends would wait for it.
        for file in files:
            archive.write(file, file.relative_to(folder))
    context.addArchive(f"{stream.name}#{name}")
    return name


def shipped(name: str) -> Path:
    from pyspark import SparkFiles

    return Path(SparkFiles.get(name))


ID = "id"
_FILE, _BLOCK, _LINE = "_qe_file", "_qe_block", "_qe_line"
_BOM = b"\xef\xbb\xbf"
_TABLE = re.compile(r"[\w`]+(\.[\w`]+)*")
Split = tuple[str, int]  # a file and the byte where a task begins to read it


def score_table(
    session: Any,
    model_path: Path,
    source: str,
    output: str,
    settings: JobSettings,
    *,
    identity: str | None = None,
    options: Options | None = None,
    columns: Mapping[str, str] | None = None,
) -> ScoredFile:
    """Score a table into the folder `output`, whose parts hold the rows and columns of the local engine.

    The name of the folder gives the kind of the parts; parts of TSV and CSV have a header each. Values equal
    the local engine's to the last bit, text to the byte. The folder exists only when it is complete.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    kind = kind_of(Path(output))
    scorer = Scorer.load(model_path, options or Options(), identity=identity)
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(settings.chunk))
    with written_folder(session, output, settings.overwrite) as folder:
        table, frame = read_table(session, source)
        names = Names(columns or {}).for_table(scorer.needs, table.headers, table.columns, table.name)
        kept = None
        if settings.keep:
            if table.columns is None:
                problem = "--keep on Spark needs an input that declares its columns"
                remedy = "convert it to Parquet, or leave out either --keep or --engine spark"
                raise InputError(problem, location=table.name, remedy=remedy)
            added, location = scorer.output_columns, Path(table.name)
            kept = KeptColumns.make(table.types, added, kind, names.header(ID), location, settings.suffix)
        elif table.columns is not None and not table.is_text:
            read = {names.header(name) for name in (ID, *scorer.needs.all)}
            table = replace(table, columns=[name for name in table.columns if name in read])
        with one_model(model_path, scorer.model.identity):
            model = ship_folder(session, model_path), scorer.model.identity, scorer.options
        frame, rows_before = table.located(frame)
        tallies = session.sparkContext.accumulator({}, Partitions())
        work_settings = (kind, settings.chunk, names, kept, settings.safe_cells)
        schema = pa.schema({"value": pa.string()})
        if kind == "parquet":
            schema = pa.schema(Work(scorer, *work_settings).types.items())
        frame = frame.mapInArrow(
            lambda batches: _scored(batches, model, table, rows_before, work_settings, tallies),
            from_arrow_schema(schema),
        )
        packed = {"compression": "gzip"} if output.lower().endswith(".gz") else {}
        form = "parquet" if kind == "parquet" else "text"
        frame.write.mode("append").save(folder, form, **packed)  # the folder may be there, empty
    return ScoredFile.from_tally(sum(tallies.value.values(), Tally()), scorer)


class Partitions:
    """Accumulates partition -> its counts; a partition computed again replaces its counts."""

    def zero(self, value: dict[int, Any]) -> dict[int, Any]:
        return {}

    def addInPlace(self, total: dict[int, Any], update: dict[int, Any]) -> dict[int, Any]:
        return total | update


@dataclass(frozen=True)
class Table:
    """An input as Spark reads it: lines as bytes, or columns; rows have the split that they come from."""

    name: str
    kind: str
    columns: list[str] | None
    headers: list[str]
    types: Types

    @property
    def is_text(self) -> bool:
        return self.kind in ("tsv", "csv", "jsonl")

    def located(self, frame: Any) -> tuple[Any, dict[Split, int] | None]:
        """Lines or columns with their splits, and the number of rows before each split (None: unordered)."""
        from pyspark.errors import AnalysisException

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
        """(number in the input from 1, row) of each batch; None instead of the number without an order."""
        split, number = None, 0
        for batch in batches:
            numbered: list[tuple[int | None, Any]] = []
            splits: Iterable[Any] = [None] * batch.num_rows
            if rows_before is not None:
                splits = zip(batch.column(_FILE).to_pylist(), batch.column(_BLOCK).to_pylist(), strict=True)
            content = batch.column(_LINE) if self.is_text else batch.select(self.columns)
            for position, item in zip(splits, content.to_pylist(), strict=True):
                if rows_before is not None and position != split:
                    split, number = position, rows_before[position]
                    if self.is_text and position[1] == 0:
                        item = item.removeprefix(_BOM)
                        if self.columns is not None:
                            self._check_header(item, position[0])
                            continue
                number += 1
                numbered.append((None if rows_before is None else number, item))
            rows = map(self._row, numbered)
            yield [(number, row) for (number, _), row in zip(numbered, rows, strict=True)]

    def _check_header(self, line: bytes, file: str) -> None:
        if _fields(_decoded(line, file, 1), self.kind, file, 1) != self.columns:
            remedy = f"all files begin with {', '.join(self.columns or ())}"
            raise InputError("has another header than the first file", location=file, remedy=remedy)

    def _row(self, numbered: tuple[int | None, Any]) -> Row:
        number, item = numbered
        if not self.is_text:
            return item, ""
        line = _decoded(item, self.name, number)
        if self.kind == "jsonl":
            return next(json_rows([line]))
        fields = _fields(line, self.kind, self.name, number)
        return row_of(self.columns or (), fields or [""])  # as the local engine counts


def read_table(session: Any, name: str) -> tuple[Table, Any]:
    """A table file, a folder of such files (Parquet, TSV, CSV, JSONL, by its name), or a table of Spark's."""
    from pyspark.sql.functions import col
    from pyspark.sql.pandas.types import to_arrow_schema

    path = Path(name)
    if path.name.startswith((".", "_")):
        raise InputError("Spark skips files whose name begins so", location=name, remedy="rename it")
    try:
        kind: str = kind_of(path)
    except InputError:
        if not _TABLE.fullmatch(name):
            raise
        kind = "table"
    escaped = re.sub(r"([\[\]{}?\\])", r"\\\1", name)
    if kind in ("table", "parquet"):
        frame = session.read.parquet(escaped) if kind == "parquet" else session.table(name)
        schema = to_arrow_schema(frame.schema)
        header, types = list(frame.columns), dict(zip(schema.names, schema.types, strict=True))
    else:
        text = session.read.text(escaped, lineSep="\n")
        frame = _with_splits(text, col("value").cast("binary").alias(_LINE))
        first = frame.where(col(_BLOCK) == 0).first()
        line = _decoded(bytes(first[_LINE]).removeprefix(_BOM), name, 1) if first else ""
        if kind == "jsonl":
            keys = [key for row, _ in json_rows([line]) for key in row]
            return Table(name, kind, None, keys, {}), frame
        if not line:
            raise InputError("is empty", location=name, remedy="the first line names the columns")
        header = _fields(line, kind, name, 1)
        types = dict.fromkeys(header, pa.string())
    check_header(header, name)
    return Table(name, kind, header, header, types), frame


def _with_splits(frame: Any, *columns: Any) -> Any:
    from pyspark.sql.functions import col

    file, block = col("_metadata.file_path"), col("_metadata.file_block_start")
    return frame.select(*columns, file.alias(_FILE), block.alias(_BLOCK))


def _decoded(line: bytes, location: object, number: int | None) -> str:
    try:
        return line.removesuffix(b"\r").decode()
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 (byte 0x{error.object[error.start]:02x} at position {error.start + 1})"
        remedy = "convert the file, for example with iconv -t UTF-8"
        raise InputError(problem, location=f"{location}, row {number}", remedy=remedy) from None


def _fields(line: str, kind: str, location: object, number: int | None) -> list[str]:
    if kind == "tsv":
        return line.split("\t")
    try:
        return next(csv.reader([line + "\n"], strict=True), [])
    except csv.Error as error:
        problem = f"not a CSV record on one line ({error})"
        remedy = "Spark splits files at line ends: use Parquet or JSONL for text with line ends"
        raise InputError(problem, location=f"{location}, row {number}", remedy=remedy) from None


def _scored(
    batches: Iterable[pa.RecordBatch],
    model: tuple[str, str | None, Options],
    table: Table,
    rows_before: Mapping[Split, int] | None,
    settings: tuple[Any, ...],
    tallies: Any,
) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    work, tally = Work(_loaded(*model), *settings), Tally()
    start = header(work.types, work.kind) if work.kind != "parquet" else b""
    for numbered in table.rows(batches, rows_before):
        views = [_with_id(number, work.names.view(row), table.name) for number, row in numbered]
        rows, counts = work.scored([row for _, row in numbered], views)
        tally = tally + counts
        if work.kind == "parquet":
            yield from arrow_table(rows, work.types).to_batches()
        elif text := start + encode(rows, work.types, work.kind, work.safe):
            yield pa.RecordBatch.from_pydict({"value": [text.removesuffix(b"\n").decode()]})
        start = b""
    context = TaskContext.get()
    tallies.add({-1 if context is None else context.partitionId(): tally})


def _with_id(number: int | None, row: Row, location: str) -> Row:
    columns, reason = row
    if columns.get(ID) is not None:
        return row
    if number is None:
        problem = "a row has no id, and the rows of this table have no order to number them by"
        raise InputError(problem, location=location, remedy="give it a column `id`")
    return {**columns, ID: str(number)}, reason


@functools.lru_cache(maxsize=1)
def _loaded(archive: str, identity: str | None, options: Options) -> Scorer:
    return Scorer.load(shipped(archive), options, identity=identity)


@contextmanager
def written_folder(session: Any, output: str, overwrite: bool) -> Iterator[str]:
    """Yields a folder to write, in any file system of Spark; it becomes `output` at success."""
    hadoop_path = session._jvm.org.apache.hadoop.fs.Path
    path = hadoop_path(output)
    files = path.getFileSystem(session._jsc.hadoopConfiguration())

    def check_output() -> None:
        if not files.exists(path):
            return
        if not overwrite:
            raise InputError("is there already", location=output, remedy="choose another, or use --overwrite")
        if not files.exists(hadoop_path(path, "_SUCCESS")):
            raise InputError(
                "is no folder that Spark wrote", location=output, remedy="choose another --output"
            )

    check_output()
    if files.getScheme() == "file":
        with atomic_directory(Path(re.sub("^file:(//)?", "", output))) as folder:
            yield str(folder)
            check_output()  # a faster job may have written it
        return
    temporary = f"{output.rstrip('/')}.{uuid4().hex[:12]}.spark"  # others may be writing the same output
    try:
        yield temporary
        check_output()
        if overwrite:
            files.delete(path, True)
        if not files.rename(hadoop_path(temporary), path):
            raise InputError("cannot be renamed to the output folder", location=temporary)
    finally:
        files.delete(hadoop_path(temporary), True)


def check_inputs(inputs: Sequence[str]) -> str:
    if len(inputs) != 1:
        remedy = "join them, for example with paste into a TSV whose first line is source<TAB>target"
        raise InputError("--engine spark takes one table, not parallel text files", remedy=remedy)
    return inputs[0]
