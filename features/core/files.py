"""Files: atomic writing, hashing, plain or gzip text with errors that name file and line."""

import gzip
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from features.core.errors import InputError


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`; it becomes `path` only if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    temporary.chmod(0o666 & ~_umask())
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Yields a temporary directory beside `path`; it replaces `path` only if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    temporary.chmod(0o777 & ~_umask())
    try:
        yield temporary
        if path.exists():
            old = temporary.with_name(temporary.name + ".old")
            path.rename(old)
            temporary.rename(path)
            shutil.rmtree(old)
        else:
            temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def link_or_copy(source: Path, target: Path) -> None:
    """`target` as a hard link to `source`, or a copy where that is not possible."""
    try:
        target.hardlink_to(source)
    except OSError:
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


def open_binary(path: Path) -> IO[bytes]:
    """Opens a plain or gzip file (recognised by its first bytes) for reading.

    Raises InputError where the file does not exist.
    """
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        raise InputError("no such file", where=path, remedy="check the path or --data-root") from None
    except IsADirectoryError:
        raise InputError("is a directory, not a file", where=path) from None
    except PermissionError:
        raise InputError("cannot be read (permission denied)", where=path) from None
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
        except (EOFError, gzip.BadGzipFile, OSError) as error:
            raise InputError(f"damaged gzip file ({error})", where=f"{path}:{number + 1}") from None
