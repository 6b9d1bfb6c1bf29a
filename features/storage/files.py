"""Files: atomic writing, output folders and their locks, hashing, text (plain, compressed), pipes, damage."""

import codecs
import errno
import fcntl
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import IO, Any, Final, cast

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import DTypeLike, NDArray

from features.basics.errors import InputError

REBUILD = "delete this and build again (a model: train it again)"


class Damaged(ValueError):
    """Content that a check refuses, in words; `damage_reported` adds the file."""


@contextmanager
def damage_reported(noun: str, path: Path, remedy: str = REBUILD) -> Iterator[None]:
    """Raises InputError if the block, which reads `path`, fails for any reason."""
    try:
        yield
    except (InputError, ModuleNotFoundError):  # a package that is not installed is no damage
        raise
    except Exception as error:  # decoders of damaged bytes raise nearly everything
        reason = str(error) if isinstance(error, Damaged) else f"{type(error).__name__}: {error}"
        raise InputError(f"{noun} is damaged ({_short(reason)})", location=path, remedy=remedy) from error


def _short(reason: str) -> str:
    line = "".join(character if character.isprintable() else " " for character in reason)
    return line if len(line) <= 300 else f"{line[:300]}..."


def read_json(noun: str, path: Path, remedy: str = REBUILD) -> dict[str, Any]:
    """The JSON object in a file; raises InputError if it is absent, cannot be read, or is none."""
    with damage_reported(noun, path, remedy):
        content = json.loads(path.read_text("utf-8"))
        if not isinstance(content, Mapping):
            raise Damaged(f"expected a JSON object, but got {type(content).__name__}")
        return dict(content)


_BLOCK = 1 << 22  # values looked at at a time


def typed(name: str, array: NDArray[Any], dtype: DTypeLike, *shape: int | None) -> None:
    """Raises Damaged if an array is not of that type and shape; None allows any length.

    >>> typed("ids", np.zeros(3, np.int32), np.int32, 3)
    >>> typed("ids", np.zeros((2, 3)), np.float64, None, 4)
    Traceback (most recent call last):
    features.storage.files.Damaged: `ids` must be float64 (any, 4), but is float64 (2, 3)
    """
    wanted = np.dtype(dtype)
    fits = len(shape) == array.ndim and all(
        size is None or size == length for size, length in zip(shape, array.shape, strict=False)
    )
    if not fits or array.dtype != wanted or not array.dtype.isnative:
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        raise Damaged(f"`{name}` must be {wanted} ({sizes}), but is {array.dtype} {array.shape}")


def within(name: str, array: NDArray[Any], low: int, high: int) -> None:
    """Raises Damaged if a whole number is not in low .. high - 1.

    >>> within("columns", np.array([0, 7]), 0, 7)
    Traceback (most recent call last):
    features.storage.files.Damaged: `columns` must be in 0 .. 6, but has 7
    """
    for block in _blocks(array):
        least, most = block.min(), block.max()
        if least < low or most >= high:
            wrong = least if least < low else most
            raise Damaged(f"`{name}` must be in {low} .. {high - 1}, but has {wrong}")


def finite(name: str, array: NDArray[Any], low: float = -np.inf, high: float = np.inf) -> None:
    """Raises Damaged if a number is not finite, or not in low .. high, both included.

    >>> finite("forward", np.array([0.5, np.nan]), 0, 1)
    Traceback (most recent call last):
    features.storage.files.Damaged: `forward` must hold numbers from 0 to 1, but has nan
    """
    for block in _blocks(array):
        wrong = ~(np.isfinite(block) & (block >= low) & (block <= high))
        if wrong.any():
            raise Damaged(f"`{name}` must hold numbers from {low:g} to {high:g}, but has {block[wrong][0]}")


def number(name: str, array: NDArray[Any], low: float = -np.inf, high: float = np.inf) -> float:
    """The number in an array without axes; raises Damaged for another array, or as `finite`.

    >>> number("share", np.array(0.25), 0, 1)
    0.25
    >>> number("share", np.array(np.inf))
    Traceback (most recent call last):
    features.storage.files.Damaged: `share` must hold numbers from -inf to inf, but has inf
    """
    typed(name, array, np.float64)
    finite(name, array.reshape(1), low, high)
    return float(array)


def rising(
    name: str, array: NDArray[Any], first: int | None, last: int | None, *, strictly: bool = False
) -> None:
    """Raises Damaged if numbers fall (`strictly`: or stay equal), or have other ends than `first` and `last`.

    >>> rising("offsets", np.array([0, 2, 1, 3]), 0, 3)
    Traceback (most recent call last):
    features.storage.files.Damaged: `offsets` must rise from 0 to 3, but falls at place 2
    """
    span = "" if first is None and last is None else f" from {first} to {last}"
    if (
        not array.size
        or (first is not None and array[0] != first)
        or (last is not None and array[-1] != last)
    ):
        seen = f"goes from {array[0]} to {array[-1]}" if array.size else "is empty"
        raise Damaged(f"`{name}` must rise{span}, but {seen}")
    for start in range(0, len(array) - 1, _BLOCK):
        block = array[start : start + _BLOCK + 1]
        wrong = block[1:] <= block[:-1] if strictly else block[1:] < block[:-1]
        if wrong.any():
            raise Damaged(f"`{name}` must rise{span}, but falls at place {start + 1 + int(wrong.argmax())}")


def rows(
    offsets: NDArray[Any],
    size: int,
    columns: NDArray[Any],
    width: int,
    **values: tuple[NDArray[Any], DTypeLike],
) -> None:
    """Raises Damaged unless rows offsets[r]:offsets[r + 1] are a table with columns below `width`."""
    typed("offsets", offsets, np.int64, size + 1)
    typed("columns", columns, np.int32, None)
    rising("offsets", offsets, 0, len(columns))
    within("columns", columns, 0, width)
    for name, (array, dtype) in values.items():
        typed(name, array, dtype, len(columns))


def _blocks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    flat = array.ravel(order="K")
    for start in range(0, len(flat), _BLOCK):
        yield flat[start : start + _BLOCK]


_LOCK = Lock()  # two threads must not share the content of one pipe
_FILES_BLOCK = 1 << 20


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
            shutil.copyfileobj(pipe, copy, _FILES_BLOCK)
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


def refuse_device(path: Path) -> None:
    with suppress(OSError):  # whoever opens it reports what is wrong
        if stat.S_ISCHR(mode := path.stat().st_mode) or stat.S_ISBLK(mode):
            raise InputError("is a device, not a file", location=path, remedy="give a file")


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
    refuse_device(rewindable(path))
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


MARK = ".qe-output"  # names the verb that a folder belongs to
_LOCK_SECONDS = 2.0  # seconds in which a process that was killed lets go of its lock
_OUTPUTS_REMEDY = "choose another output"


def check_output(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Raises InputError if the file `path` cannot be written, or is one of the inputs."""
    check_writable(path)
    check_no_overlap(path, inputs)


def check_outside(output: Path, folder: Path) -> None:
    """Raises InputError for an output within a folder such as a model's, which has no other files."""
    if any(_is_same_file(folder, above) for above in resolved(output).parents):
        raise InputError(f"would be a part of {folder}", location=output, remedy=_OUTPUTS_REMEDY)


def check_no_overlap(output: Path, inputs: Iterable[Path]) -> None:
    """Raises InputError if `output` is an input, or part of one, by device and inode."""
    for given in inputs:
        if _is_same_file(output, given):
            raise InputError("is an input too", location=output, remedy=_OUTPUTS_REMEDY)
        if any(_is_same_file(output, above) for above in resolved(given).parents):
            raise InputError(f"holds the input {given}", location=output, remedy=_OUTPUTS_REMEDY)
        if output.exists() and any(_is_same_file(given, above) for above in resolved(output).parents):
            raise InputError(f"is a part of the input {given}", location=output, remedy=_OUTPUTS_REMEDY)


def _is_same_file(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except OSError:  # one of them is not there (yet)
        return resolved(first) == resolved(second)


@contextmanager
def locked_file(path: Path, patience: float = _LOCK_SECONDS) -> Iterator[None]:
    """Keeps other processes that use the same lock, `.NAME.lock`, from writing the file `path`.

    Raises InputError if another process holds it for `patience` seconds, or the folder cannot be written.
    """
    path = resolved(path)
    with _created_folder(path.parent, path), _locked(path.with_name(f".{path.name}.lock"), path, patience):
        tidy(path)
        yield


@contextmanager
def locked_folder(
    path: Path,
    verb: str,
    *,
    inputs: Iterable[Path] = (),
    earlier_files: Iterable[str] = (),
    allowed_verbs: Iterable[str] = (),
) -> Iterator[None]:
    """Locks `path` as the output folder of a verb: new, empty, or marked as an earlier output of the verb.

    inputs         must be outside
    earlier_files  patterns (of `Path.glob`) of files that identify an earlier output without a mark
    allowed_verbs  verbs whose folders this verb may use

    Raises InputError for a folder with other content, and if another process holds the folder.
    """
    verbs = (verb, *allowed_verbs)
    check_no_overlap(path, inputs)
    _is_new(path, verbs, earlier_files)
    mark, lock = path / MARK, path / f".{verb}.lock"
    with _created_folder(path, path), _locked(lock, path):
        new = _is_new(path, verbs, earlier_files)
        try:
            if new:
                with refusals(path):
                    mark.write_text(f"qe {verb}\n", "utf-8")
            yield
        finally:
            if new and {left.name for left in path.iterdir()} <= {mark.name, lock.name}:
                mark.unlink(missing_ok=True)


def _is_new(path: Path, verbs: tuple[str, ...], earlier_files: Iterable[str]) -> bool:
    """Whether the folder holds no output yet; raises InputError if it holds anything of others."""
    resolved(path)
    if path.exists() and not path.is_dir():
        raise InputError("is a file, not a directory", location=path, remedy=_OUTPUTS_REMEDY)
    owner = owner_of(path)
    if owner is not None:
        if owner not in verbs:
            raise InputError(
                f"holds output of `qe {owner}`, not of `qe {verbs[0]}`", location=path, remedy=_OUTPUTS_REMEDY
            )
        return False
    if any(next(path.glob(pattern), None) for pattern in earlier_files):
        return False
    if (name := unexpected_file(path)) is not None:
        raise InputError(
            f"holds {name!r} and no output of `qe {verbs[0]}`", location=path, remedy=_OUTPUTS_REMEDY
        )
    return True


def owner_of(path: Path) -> str | None:
    """The verb that marked the folder; None without a mark, or with an empty one after a full disk."""
    try:
        content = (path / MARK).read_text("utf-8", "replace")
    except OSError:
        return None
    return content.strip().removeprefix("qe ") or None


def unexpected_file(path: Path) -> str | None:
    """The first name in a folder that is no verb's lock, if any."""
    if not path.is_dir():
        return None
    names = sorted(left.name for left in path.iterdir())
    return next((name for name in names if not _is_empty_own(path / name)), None)


def _is_empty_own(path: Path) -> bool:
    own = path.name == MARK or (path.name.startswith(".") and path.suffix == ".lock")
    return own and path.stat().st_size == 0


@contextmanager
def _locked(lock: Path, output: Path, patience: float = _LOCK_SECONDS) -> Iterator[None]:
    held = FileLock(lock, timeout=patience)
    with refusals(output):
        try:
            held.acquire()
        except Timeout:
            raise InputError(
                "another process is writing this output",
                location=output,
                remedy="wait until it has ended, or choose another output",
            ) from None
    try:
        yield
    finally:
        if _is_empty_own(lock):  # a file of this name that holds something is no lock of ours
            lock.unlink(missing_ok=True)
        held.release()


@contextmanager
def _created_folder(folder: Path, output: Path) -> Iterator[None]:
    new = [above for above in (folder, *folder.parents) if not above.exists()]
    with refusals(output):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):  # not empty, or gone
            for above in new:
                above.rmdir()
