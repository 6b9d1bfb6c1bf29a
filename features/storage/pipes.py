"""Inputs that can be read only once: pipes and terminals are copied to a temporary file."""

import os
import shutil
import stat
import tempfile
from functools import cache
from pathlib import Path
from threading import Lock

from features.basics.errors import InputError

_LOCK = Lock()  # two threads must not share the content of one pipe
_BLOCK = 1 << 20


def rewindable(path: Path) -> Path:
    """The path, or a temporary copy of the whole content if the path is a pipe or a terminal. Every function
    that opens an input opens this path, and names the first one in its messages. Pipes are named pipes,
    `/dev/stdin` and what a shell makes of `<(command)`. The copy is made at the first call and is used by all
    later ones of the process. Raises InputError if the content cannot be read or copied.
    """
    status = _status(path)
    if status is None or not _is_single_use(path, status):
        return path
    with _LOCK:
        return Path(_copy(path, status.st_dev, status.st_ino).name) / "content"


def is_input_file(path: Path) -> bool:
    """Whether an input can be read from this path: a file or a pipe, not a folder."""
    status = _status(path)
    return status is not None and (stat.S_ISREG(status.st_mode) or _is_single_use(path, status))


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (OSError, ValueError):  # the function that opens it reports the error
        return None


def _is_single_use(path: Path, status: os.stat_result) -> bool:
    return stat.S_ISFIFO(status.st_mode) or (stat.S_ISCHR(status.st_mode) and _is_terminal(path))


def _is_terminal(path: Path) -> bool:
    try:  # other devices, such as /dev/zero, have no end that a copy could reach
        handle = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return os.isatty(handle)
    finally:
        os.close(handle)


@cache
def _copy(path: Path, device: int, inode: int) -> "tempfile.TemporaryDirectory[str]":
    folder = tempfile.TemporaryDirectory(prefix="qe-pipe-")
    try:
        with path.open("rb") as pipe, (Path(folder.name) / "content").open("wb") as copy:
            shutil.copyfileobj(pipe, copy, _BLOCK)
    except OSError as error:
        folder.cleanup()
        raise InputError(
            f"cannot be copied to a temporary file ({error.strerror})",
            location=path,
            remedy="check the command that writes it, and the free space of the folder TMPDIR",
        ) from None
    return folder
