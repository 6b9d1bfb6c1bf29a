"""Spark sessions: one for a command, on loopback unless a master elsewhere is named."""

import importlib.util
import logging
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.basics.packages import install
from features.basics.threads import cores

_RAISED = re.compile(r"features\.basics\.errors\.InputError: (.*)")
_FILES = re.compile(r"java\.(?:io|nio\.file|util\.zip)\.(\w+Exception: .*)")
# PySpark 4.2 says so on every call; what is used of it here is tested with pandas 3.
_PANDAS = "ignore:PySpark does not yet fully support pandas:FutureWarning"
_CONSTANT = {
    # Scoring takes about a second per MB of text: tasks of half a minute keep all cores busy to the end.
    "spark.sql.files.maxPartitionBytes": str(32 * 2**20),
    "spark.sql.files.openCostInBytes": str(2**16),
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.executorEnv.PYTHONWARNINGS": _PANDAS,
}


@contextmanager
def spark_session(master: str | None, *, quiet: bool = False) -> Iterator[Any]:
    """A session on `master` (default: this machine's cores), stopped at the end of the block.

    A session that is active already (a notebook's) is used as it is and left open. Further settings come
    from where Spark takes them: `$SPARK_CONF_DIR/spark-defaults.conf` and PYSPARK_SUBMIT_ARGS.

    Raises InputError if PySpark or Java is not installed or the master does not answer; and, inside the
    block, for an InputError raised on an executor and for a path or table that Spark does not find.
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
    """Raises InputError if PySpark or a Java runtime is missing."""
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
    """Raise errors of executors and of Spark's own reading as InputError.

    These are an InputError on an executor, or a mistake that Spark finds in the input.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import AnalysisException, PySparkException

    try:
        yield
    except AnalysisException as error:
        raise InputError(f"Spark: {_first_line(error)}") from None
    except (PySparkException, Py4JJavaError) as error:
        raised = _RAISED.search(str(error))
        if raised is not None:
            raise InputError(raised[1]) from None
        failed = _FILES.search(str(error))
        if failed is None:
            raise
        raise InputError(f"Spark could not read or write: {failed[1]}") from None


def on_loopback(master: str) -> bool:
    """Whether master and executors are on this machine.

    >>> [on_loopback(m) for m in ("local[2]", "spark://127.0.0.1:7077", "spark://head:7077", "yarn")]
    [True, True, False, False]
    """
    return master.startswith(("local", "spark://127.0.0.1:", "spark://localhost:"))


def _started(master: str, quiet: bool) -> Any:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    progress = "true" if sys.stderr.isatty() and not quiet else "false"
    builder = (
        SparkSession.builder.master(master).appName("qe").config("spark.ui.showConsoleProgress", progress)
    )
    for key, value in {**_CONSTANT, **(_LOOPBACK if on_loopback(master) else {})}.items():
        builder = builder.config(key, value)
    try:
        with _environment(master):
            session = builder.getOrCreate()
    except (Py4JError, PySparkException, OSError) as error:
        raise InputError(
            f"no Spark session on {master}: {_cause(error)}", remedy="check --master and its log"
        ) from None
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # they print what they raise
    return session


_LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}


@contextmanager
def _environment(master: str) -> Iterator[None]:
    import pyspark

    logging_ = Path(__file__).with_name("log4j2.properties").as_uri()
    wanted: Mapping[str, str] = {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYTHONWARNINGS": _PANDAS,
        "SPARK_SUBMIT_OPTS": f"-Dlog4j2.configurationFile={logging_}",
        **({"SPARK_LOCAL_IP": "127.0.0.1"} if on_loopback(master) else {}),
    }
    added = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _cause(error: BaseException) -> str:
    java = re.search(r"\w+(?:Exception|Error): (.*)", str(error))
    return java[1] if java else _first_line(error)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
