"""Files: atomic writing, hashing, plain or gzip text with errors that name file and line."""

import errno
import fcntl
import gzip
import hashlib
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, cast

from features.basics.errors import InputError

_ELSEWHERE = "choose another path"
_CLONE = 0x40049409  # FICLONE of Linux (ioctl_ficlone(2))
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`; it becomes `path` only if the block succeeds.

    Raises InputError if `path` cannot be written, or is no regular file.
    """
    with _refusals(path):
        _check_kind(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    temporary.chmod(0o666 & ~_umask())
    try:
        with _no_room(path):
            yield temporary
        with _refusals(path):
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Yields a temporary directory beside `path`; it replaces `path` only if the block succeeds.

    Raises InputError if `path` cannot be written, or is a file.
    """
    with _refusals(path):
        if path.exists() and not path.is_dir():
            raise InputError("is a file, not a directory", where=path, remedy=_ELSEWHERE)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    temporary.chmod(0o777 & ~_umask())
    try:
        with _no_room(path):
            yield temporary
        with _refusals(path):
            if path.exists():
                old = temporary.with_name(temporary.name + ".old")
                path.rename(old)
                temporary.rename(path)
                shutil.rmtree(old)
            else:
                temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_writable(path: Path) -> None:
    """Raises InputError if `atomic_file` could not write `path`; asked before long work."""
    with _refusals(path):
        _check_kind(path)
        there = next(folder for folder in path.parents if folder.exists())
        with tempfile.TemporaryFile(dir=there):
            pass


def _check_kind(path: Path) -> None:
    """Only regular files are replaced: `/dev/null` would become one."""
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "a device or a pipe"
        raise InputError(f"is {kind}, not a file", where=path, remedy=_ELSEWHERE)


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """The system's refusals to write `path` as InputError."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from None


@contextmanager
def _no_room(path: Path) -> Iterator[None]:
    """A full disk as InputError; other errors of the block need not be about `path`."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM or str(error).endswith(
            " written"
        ):  # NumPy's: "100 requested and 7 written"
            raise unwritable(path, error) from None
        raise


def unwritable(path: Path, error: OSError) -> InputError:
    reason = error.strerror or str(error)
    if isinstance(error, FileExistsError | NotADirectoryError):
        in_the_way = next((above for above in path.parents if above.is_file()), None)
        reason = reason if in_the_way is None else f"{in_the_way} is a file, not a directory"
    return InputError(f"cannot be written ({reason})", where=path, remedy=_ELSEWHERE)


def clone_or_copy(source: Path, target: Path) -> None:
    """`target` as a copy of `source`; one that shares its blocks where the file system can (btrfs, XFS).

    Never a link: what happens to one of the two does not happen to the other.
    """
    with source.open("rb") as old, target.open("xb") as new:
        try:
            fcntl.ioctl(new.fileno(), _CLONE, old.fileno())
            return
        except OSError:  # another file system
            pass
    shutil.copyfile(source, target)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sha256(path: Path) -> str:
    """Hex digest of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest(*parts: object) -> str:
    """A short fingerprint (16 hex digits) of the `repr` of simple values, or of bytes."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part if isinstance(part, bytes) else repr(part).encode())
        state.update(b"\x00")
    return state.hexdigest()[:16]


# What reading a damaged gzip file raises.
DAMAGED_GZIP: Final = (EOFError, zlib.error, OSError)


def open_binary(path: Path) -> IO[bytes]:
    """Opens a plain or gzip file (recognised by its first bytes) for reading.

    Raises InputError if the file does not exist, or cannot be read.
    """
    try:
        stream = path.open("rb")
    except (FileNotFoundError, NotADirectoryError):
        raise InputError("no such file", where=path, remedy="check the path") from None
    except IsADirectoryError:
        raise InputError("is a directory, not a file", where=path, remedy="give a file") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=path) from None
    magic = stream.peek(2)[:2]
    if magic != b"\x1f\x8b":
        return stream
    stream.close()  # gzip.open(stream) would leave it open
    return cast(IO[bytes], gzip.open(path))


def read_lines(path: Path) -> Iterator[str]:
    """Lines of a UTF-8 file, plain or gzip, without line ends; CRLF and a byte-order mark are dropped.

    Only LF ends a line (not the other characters that `str.splitlines` splits at).

    Raises InputError with file and line for bytes that are not UTF-8 and for a damaged gzip file.
    """
    with open_binary(path) as stream:
        number = 0
        try:
            for number, raw in enumerate(stream, start=1):
                if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                    raw = raw[3:]
                yield raw.rstrip(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"not UTF-8 (byte 0x{error.object[error.start]:02x} at position {error.start + 1})",
                where=f"{path}:{number}",
                remedy="convert the file, for example with iconv -t UTF-8",
            ) from None
        except DAMAGED_GZIP as error:
            raise InputError(f"damaged gzip file ({error})", where=f"{path}:{number + 1}") from None


def write_words(path: Path, words: Iterable[str]) -> None:
    """One word per line; no word holds a line feed."""
    path.write_text("".join(f"{word}\n" for word in words), "utf-8", newline="")


def read_words(path: Path) -> tuple[str, ...]:
    """What `write_words` wrote; only LF ends a word."""
    with path.open(encoding="utf-8", newline="\n") as stream:
        return tuple(stream.read().split("\n")[:-1])
