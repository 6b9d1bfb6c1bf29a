"""Spark sessions: one for a command, on loopback unless another master is named; files for executors."""

import importlib.util
import logging
import os
import re
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.basics.plugins import install
from features.basics.threads import cores
from features.storage.files import digest

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
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        session = active or _started(master or f"local[{cores()}]", quiet)
        try:
            with input_errors():
                yield session
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


@contextmanager
def input_errors() -> Iterator[None]:
    """Raises InputError for an InputError of an executor, and for bad input that Spark finds."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import AnalysisException, PySparkException

    try:
        yield
    except AnalysisException as error:
        raise InputError(f"Spark: {_first_line(error)}") from None
    except (PySparkException, Py4JJavaError) as error:
        raised, failed = _RAISED.search(str(error)), _FILES.search(str(error))
        if raised is None and failed is None:
            raise
        message = raised[1] if raised else f"Spark could not read or write: {failed[1] if failed else ''}"
        raise InputError(message) from None


def on_loopback(master: str) -> bool:
    return master.startswith(("local", "spark://127.0.0.1:", "spark://localhost:"))


def _started(master: str, quiet: bool) -> Any:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    progress = "true" if sys.stderr.isatty() and not quiet else "false"
    settings = {**_SETTINGS, "spark.ui.showConsoleProgress": progress}
    builder = SparkSession.builder.master(master).appName("qe")
    for key, value in {**settings, **(_LOOPBACK if on_loopback(master) else {})}.items():
        builder = builder.config(key, value)
    try:
        with _environment(master):
            session = builder.getOrCreate()
    except (Py4JError, PySparkException, OSError) as error:
        java = re.search(r"\w+(?:Exception|Error): (.*)", str(error))
        raise InputError(
            f"no Spark session on {master}: {java[1] if java else _first_line(error)}",
            remedy="check --master and its log",
        ) from None
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # they print what they raise
    return session


@contextmanager
def _environment(master: str) -> Iterator[None]:
    import pyspark

    logging_ = Path(__file__).with_name("log4j2.properties").as_uri()
    defaults = {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYTHONWARNINGS": _PANDAS,
        "SPARK_SUBMIT_OPTS": f"-Dlog4j2.configurationFile={logging_}",
        **({"SPARK_LOCAL_IP": "127.0.0.1"} if on_loopback(master) else {}),
    }
    added = {name: value for name, value in defaults.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


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
