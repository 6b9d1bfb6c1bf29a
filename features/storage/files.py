"""Files: atomic writing, hashing, text (plain, compressed), pipes, errors with file and line."""

import codecs
import errno
import fcntl
import gzip
import hashlib
import io
import os
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import IO, Any, Final, cast

from features.basics.errors import InputError

_LOCK = Lock()  # two threads must not share the content of one pipe
_BLOCK = 1 << 20


def rewindable(path: Path) -> Path:
    """The path, or a temporary copy of the whole content if the path is a pipe or a terminal; `-` is stdin.

    Every function that opens an input opens this path, and names the first one in its messages. The copy is
    made once and used by all later calls. Raises InputError if the content cannot be read or copied.
    """
    path, status, single_use = _state(path)
    if status is None or not single_use:
        return path
    with _LOCK:
        return Path(_copy(path, status.st_dev, status.st_ino).name) / "content"


def base_of(path: Path) -> Path:
    # The folder to which paths in a file are relative: for a pipe, the working folder.
    return path.parent if rewindable(path) == path else Path()


def is_input_file(path: Path) -> bool:
    """Whether an input can be read from this path: a file or a pipe, not a folder."""
    _, status, single_use = _state(path)
    return status is not None and (stat.S_ISREG(status.st_mode) or single_use)


def _state(path: Path) -> tuple[Path, os.stat_result | None, bool]:
    """The path, what the system says of it, and whether it can be read once only."""
    path = Path("/dev/stdin") if str(path) == "-" and not path.exists() else path
    try:
        status = path.stat()
    except (OSError, ValueError):  # the function that opens it reports the error
        return path, None, False
    mode = status.st_mode
    return path, status, stat.S_ISFIFO(mode) or (stat.S_ISCHR(mode) and _is_terminal(path))


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


_REMEDY = "choose another path"
_PART, _OLD = ".qe-part", ".old"  # endings of what is not finished, and of what is being replaced
_TEMPORARY = re.compile(rf"[a-z0-9_]{{8}}{re.escape(_PART)}({re.escape(_OLD)})?")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MAX_LINE: Final = 1 << 24  # bytes of a line or cell


def resolved(path: Path) -> Path:
    """The absolute path without symbolic links; raises InputError for a loop of them."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError(
                "is a loop of symbolic links", location=path, remedy="name the file itself"
            ) from None
    return path.resolve()


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yields a temporary path next to `path`; it becomes `path` only if the block succeeds.

    Raises InputError if `path` cannot be written, or is no regular file.
    """
    with refusals(path):
        _check_kind(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(_PART, f".{path.name}.", path.parent)
    with _replacing(path, Path(name), handle, 0o666, Path.replace) as temporary:
        yield temporary


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Yields a temporary directory next to `path`; it replaces `path` only if the block succeeds.

    A process killed between the two renames leaves none; the next run restores the old one (`tidy`). Raises
    InputError if `path` cannot be written, or is a file.
    """
    with refusals(path):
        resolved(path)
        if path.exists() and not path.is_dir():
            raise InputError("is a file, not a directory", location=path, remedy=_REMEDY)
        path.parent.mkdir(parents=True, exist_ok=True)
        tidy(path)
        temporary = Path(tempfile.mkdtemp(_PART, f".{path.name}.", path.parent))
    handle = os.open(temporary, os.O_RDONLY)
    with _replacing(path, temporary, handle, 0o777, _put_in_place):
        yield temporary


def _put_in_place(new: Path, path: Path) -> None:
    if not path.exists():
        new.rename(path)
        return
    old = new.with_name(f"{new.name}{_OLD}")
    path.rename(old)
    new.rename(path)
    shutil.rmtree(old)


@contextmanager
def _replacing(
    path: Path, temporary: Path, handle: int, mode: int, replace: Callable[[Path, Path], object]
) -> Iterator[Path]:
    try:
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(mode & ~mask)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with refusals(path, only_full=True):
            yield temporary
        with refusals(path):
            replace(temporary, path)
    finally:
        os.close(handle)
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


def tidy(path: Path) -> None:
    """Removes temporary files of killed processes next to `path`; restores a directory that they renamed."""
    own = f".{path.name}."
    with suppress(OSError):  # it is not there, or not ours to tidy
        for leftover in path.parent.iterdir():
            if not (leftover.name.startswith(own) and _TEMPORARY.fullmatch(leftover.name.removeprefix(own))):
                continue
            if not _is_abandoned(leftover.with_name(leftover.name.removesuffix(_OLD))):
                continue
            if leftover.name.endswith(_OLD) and not path.exists():
                leftover.rename(path)
            else:
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()


def _is_abandoned(leftover: Path) -> bool:
    try:
        handle = os.open(leftover, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(handle)


def check_writable(path: Path) -> None:
    """Raises InputError if `atomic_file` could not write `path`; removes unfinished files of earlier runs."""
    with refusals(path):
        _check_kind(path)
        tidy(path)
        there = next(folder for folder in path.parents if folder.exists())
        with tempfile.TemporaryFile(dir=there):
            pass


def _check_kind(path: Path) -> None:
    resolved(path)
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "a device or a pipe"
        raise InputError(f"is {kind}, not a file", location=path, remedy=_REMEDY)


@contextmanager
def refusals(path: Path, *, only_full: bool = False) -> Iterator[None]:
    """Raises InputError if the block cannot write `path`; `only_full`: if the disk is full."""
    try:
        yield
    except OSError as error:
        # NumPy's message of a full disk: "100 requested and 7 written"
        if only_full and not (error.errno in _NO_ROOM or str(error).endswith(" written")):
            raise
        reason = error.strerror or str(error)
        if isinstance(error, FileExistsError | NotADirectoryError):
            in_the_way = next((above for above in path.parents if above.is_file()), None)
            reason = reason if in_the_way is None else f"{in_the_way} is a file, not a directory"
        raise InputError(f"cannot be written ({reason})", location=path, remedy=_REMEDY) from None


def link_or_copy(source: Path, target: Path) -> None:
    """Makes `target` a hard link to a file that never changes, or a copy on another file system."""
    try:
        target.hardlink_to(source)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):  # another file system, or one without links
        shutil.copyfile(source, target)


def sha256(path: Path) -> str:
    """Hex digest of a file's bytes; raises InputError for a device, and if it cannot be read."""
    content = rewindable(path)
    with suppress(OSError):  # whoever opens it reports what is wrong
        if stat.S_ISCHR(mode := content.stat().st_mode) or stat.S_ISBLK(mode):
            raise InputError("is a device, not a file", location=content, remedy="give a file")
    with _opened(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest(*parts: object) -> str:
    """A short fingerprint (16 hex digits) of the `repr` of simple values, or of bytes."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part if isinstance(part, bytes) else repr(part).encode())
        state.update(b"\x00")
    return state.hexdigest()[:16]


# What reading a damaged gzip or zstd file raises.
DAMAGED_GZIP: Final = (EOFError, zlib.error, OSError)
_ZSTD = b"\x28\xb5\x2f\xfd"


def damage_of(error: Exception) -> str:
    kind = "zstd" if isinstance(error, _DamagedZstd) else "gzip"
    return f"damaged {kind} file ({error})"


class _DamagedZstd(OSError):
    pass


class _Zstd(io.RawIOBase):
    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        self._file = pa.input_stream(str(path), compression="zstd")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        try:
            content = self._file.read(len(buffer))
        except Exception as error:  # Arrow's own
            raise _DamagedZstd(str(error)) from None
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        self._file.close()
        super().close()


def _opened(path: Path) -> io.BufferedReader:
    try:
        return rewindable(path).open("rb")
    except (FileNotFoundError, NotADirectoryError):
        raise InputError("no such file", location=path, remedy="check the path") from None
    except IsADirectoryError:
        raise InputError("is a directory, not a file", location=path, remedy="give a file") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", location=path) from None


def open_binary(path: Path) -> IO[bytes]:
    """Opens a plain, gzip or zstd file or a pipe; raises InputError if it cannot be read."""
    stream = _opened(path)
    magic = stream.peek(4)[:4]
    if magic == _ZSTD:
        stream.close()
        return io.BufferedReader(_Zstd(rewindable(path)), 1 << 18)
    if magic[:2] != b"\x1f\x8b":
        return stream
    stream.close()  # gzip.open(stream) would leave it open
    return cast(IO[bytes], gzip.open(rewindable(path)))


def line_form(path: Path) -> tuple[bytes, bytes]:
    """Byte order mark of a text (or nothing), and end of its first line; raises as `open_binary` does."""
    with open_binary(path) as stream, suppress(*DAMAGED_GZIP):  # whoever reads the lines tells of damage
        first = stream.readline(MAX_LINE)
        mark = codecs.BOM_UTF8 if first.startswith(codecs.BOM_UTF8) else b""
        return mark, b"\r\n" if first.endswith(b"\r\n") else b"\n"
    return b"", b"\n"


def check_line_ends(first: bytes, path: Path) -> None:
    """Raises InputError if the first line of a text is all of it, with carriage returns inside."""
    ends = first.rstrip(b"\r").count(b"\r")
    if ends and not first.endswith(b"\n"):
        raise InputError(
            f"has no line feed, but {ends:,} carriage returns inside (line ends of an old Mac)",
            location=path,
            remedy="write line feeds, for example with tr '\\r' '\\n'",
        )


def read_lines(path: Path) -> Iterator[str]:
    """Lines of a UTF-8 file, plain or gzip, without line ends, CRLF and byte-order mark; only LF ends a line.

    Raises InputError with file and line for bytes that are not UTF-8, for lines longer than 16 MiB, and for a
    damaged gzip or zstd file.
    """
    with open_binary(path) as stream:
        number = 0
        try:
            for number, raw in enumerate(byte_lines(stream, path), start=1):
                if number == 1:
                    check_line_ends(raw, path)
                    raw = raw.removeprefix(codecs.BOM_UTF8)
                yield raw.rstrip(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"not UTF-8 (byte 0x{error.object[error.start]:02x} at position {error.start + 1})",
                location=f"{path}:{number}",
                remedy="convert the file, for example with iconv -t UTF-8",
            ) from None
        except DAMAGED_GZIP as error:
            raise InputError(damage_of(error), location=f"{path}:{number + 1}") from None


def byte_lines(stream: IO[bytes], path: Path) -> Iterator[bytes]:
    """Lines of a binary stream with their ends; raises InputError with file and line above 16 MiB."""
    for number, line in enumerate(iter(partial(stream.readline, MAX_LINE + 1), b""), start=1):
        if len(line) > MAX_LINE:
            raise long_line(path, number)
        yield line


def long_line(path: Path, number: int) -> InputError:
    return InputError(
        "line longer than 16 MiB",
        location=f"{path}:{number}",
        remedy="give a text file with one segment per line",
    )


def write_words(path: Path, words: Iterable[str]) -> None:
    path.write_text("".join(f"{word}\n" for word in words), "utf-8", newline="")


def read_words(path: Path) -> tuple[str, ...]:
    """Reads a file of `write_words`; only LF ends a word."""
    return words_in(path.read_bytes())


def words_in(content: bytes) -> tuple[str, ...]:
    return tuple(content.decode("utf-8").split("\n")[:-1])
