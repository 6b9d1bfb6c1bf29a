"""Output of Spark jobs: a folder that is there only when it is complete."""

import glob
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from features.basics.errors import InputError
from features.storage.outputs import locked_file

_OWN = re.compile(r"\.[0-9a-f]{12}\.spark")


@contextmanager
def written_folder(session: Any, output: str, overwrite: bool) -> Iterator[str]:
    """Yields a folder to write beside `output`; it becomes `output` when the block succeeds.

    Works in any file system that Spark knows. What Spark's committer leaves of failed tasks goes with the
    temporary folder.

    Raises InputError if `output` is there already, unless `overwrite` and it is a folder Spark wrote.
    """
    path = session._jvm.org.apache.hadoop.fs.Path(output)
    files = path.getFileSystem(session._jsc.hadoopConfiguration())
    _check(session, files, path, output, overwrite)
    if files.getScheme() == "file":
        _tidy(_local(output))
    # A name of its own: another job may be writing the same output, and that folder may be a user's.
    beside = f"{output.rstrip('/')}.{uuid4().hex[:12]}.spark"
    temporary = session._jvm.org.apache.hadoop.fs.Path(beside)
    try:
        with locked_file(_local(beside)) if files.getScheme() == "file" else nullcontext():
            yield beside
        _check(session, files, path, output, overwrite)  # of a job that was faster
        if overwrite:
            files.delete(path, True)
        if not files.rename(temporary, path):
            raise InputError("cannot be renamed to the output folder", location=beside)
    finally:
        files.delete(temporary, True)


def _local(output: str) -> Path:
    return Path(re.sub("^file:(//)?", "", output).rstrip("/"))


def _tidy(output: Path) -> None:
    for left in output.parent.glob(f"{glob.escape(output.name)}.*.spark"):
        if _OWN.fullmatch(left.name.removeprefix(output.name)):
            with suppress(InputError), locked_file(left, patience=0):
                shutil.rmtree(left, ignore_errors=True)


def _check(session: Any, files: Any, path: Any, output: str, overwrite: bool) -> None:
    if not files.exists(path):
        return
    if not overwrite:
        raise InputError("is there already", location=output, remedy="choose another, or use --overwrite")
    success = session._jvm.org.apache.hadoop.fs.Path(path, "_SUCCESS")
    if not files.exists(success):
        raise InputError("is no folder that Spark wrote", location=output, remedy="choose another --output")
