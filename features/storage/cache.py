"""The cache of the user: its folder, checksums of files that it remembers, and values by name."""

import grp
import hashlib
import json
import logging
import os
import pwd
import shlex
import stat
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.threads import side_by_side
from features.storage.files import (
    Damaged,
    atomic_directory,
    atomic_file,
    damage_reported,
    locked_file,
    sha256,
)

CACHE_TAG = "CACHEDIR.TAG"  # https://bford.info/cachedir/
_SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55"
_MAKER = "# This folder is a cache of qe."


def cache_entry(cache: Path, kind: str, name: str) -> Path:
    """The path of an entry; the folder `cache` gets the tag by which `qe cache prune` knows it."""
    tag_cache(cache)
    return cache / kind / name


def tag_cache(folder: Path) -> None:
    """Write the tag of a cache, unless the folder has one or cannot be written."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / CACHE_TAG).open("x", encoding="ascii") as stream:
            stream.write(f"{_SIGNATURE}\n{_MAKER}\n")


def check_tagged(folder: Path) -> None:
    """Raises InputError for a folder that has no tag, or that of another program."""
    tag = folder / CACHE_TAG
    try:
        lines = tag.read_text("utf-8", errors="replace").splitlines() if tag.is_file() else []
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", location=tag) from None
    if lines[:1] != [_SIGNATURE] or _MAKER not in lines:
        raise InputError(
            f"is no cache of qe: it has no {CACHE_TAG} that qe wrote",
            location=folder,
            remedy="if an earlier version of qe made it and it holds nothing else, tag it: "
            f"printf '{_SIGNATURE}\\n{_MAKER}\\n' > {shlex.quote(str(tag))}",
        )


def default_cache() -> Path:
    """QE_CACHE_DIR, else `qe` in XDG_CACHE_HOME, else in ~/.cache; raises InputError if there is none."""
    given = os.environ.get("QE_CACHE_DIR")
    folder = Path(given) if given else user_cache()
    if folder is None:
        remedy = "name a folder in QE_CACHE_DIR, or with --cache-dir"
        raise InputError("no home for the cache", remedy=remedy)
    return folder


def user_cache() -> Path | None:
    """`qe` in XDG_CACHE_HOME, or in ~/.cache if that is no absolute path; None without a home."""
    return _user_folder("XDG_CACHE_HOME", "~/.cache")


def user_data() -> Path | None:
    """`qe` in XDG_DATA_HOME if that is an absolute path, else in ~/.local/share; None without a home."""
    return _user_folder("XDG_DATA_HOME", "~/.local/share")


def _user_folder(variable: str, default: str) -> Path | None:
    base = Path(os.environ.get(variable, ""))
    with suppress(RuntimeError):  # nobody knows this user
        base = base if base.is_absolute() else Path(default).expanduser()
    return base / "qe" if base.is_absolute() else None


def of_user_alone(folder: Path) -> bool:
    """Makes the folder if possible; whether only the user can write it, or rename a parent."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
        folder = folder.resolve()
        own, *above = (place.stat() for place in (folder, *folder.parents))
    except (OSError, RuntimeError):
        return False
    return own.st_uid == os.geteuid() and not _open(own) and not any(map(_replaceable, above))


def _replaceable(place: os.stat_result) -> bool:
    sticky = place.st_mode & stat.S_ISVTX
    return place.st_uid not in (0, os.geteuid()) or (_open(place) and not sticky)


def _open(place: os.stat_result) -> bool:
    if place.st_mode & stat.S_IWOTH:
        return True
    return bool(place.st_mode & stat.S_IWGRP) and not _own_group(place.st_gid)


def _own_group(number: int) -> bool:
    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return group.gr_name == user.pw_name and number == user.pw_gid and not group.gr_mem


_MAX_ENTRIES = 10_000  # entries; beyond it the older half goes


def recall(name: str) -> str | None:
    """The text kept under a name; None if there is none, or the folder cannot be read."""
    try:
        folder = _folder()
        return (folder / name).read_text("utf-8") if folder.is_dir() and of_user_alone(folder) else None
    except (OSError, ValueError, InputError):  # not readable, not text, no home
        return None


def keep(name: str, text: str) -> None:
    """Keeps a text under a name; a folder that cannot be used costs time later, and is no error."""
    with suppress(OSError, InputError):
        folder = _folder()
        if of_user_alone(folder):
            tag_cache(folder.parent)
            with atomic_file(folder / name) as temporary:
                temporary.write_text(text, "utf-8")
            entries = list(os.scandir(folder))
            if len(entries) > _MAX_ENTRIES:
                by_age = sorted(entries, key=lambda entry: entry.stat().st_mtime_ns)
                for entry in by_age[: len(by_age) // 2]:
                    Path(entry).unlink(missing_ok=True)


def _folder() -> Path:
    return default_cache() / "checked"


KEY = "checksum"  # of a JSON object: that of all its other keys
_LARGE = 1 << 20  # bytes; checksums of files from here on are remembered
_SETTLED = 2 * 10**9  # nanoseconds after a change, within which another one might leave the same times
_MAX_DEPTH = 32  # folders within each other


def checksum(path: Path, *, recompute: bool = False) -> str:
    """SHA-256 of a file, in hex; cached for large unchanged files, unless `recompute`."""
    before = path.stat()
    if recompute or before.st_size < _LARGE:
        return sha256(path)
    device, inode, *stamp = identity_of(before)
    name = f"{device}-{inode}"
    known = (recall(name) or "").split()
    if known[:-1] == stamp:
        return known[-1]
    settled = time.time_ns() - max(before.st_mtime_ns, before.st_ctime_ns) > _SETTLED
    digest = sha256(path)
    if settled and identity_of(path.stat()) == (device, inode, *stamp):
        keep(name, " ".join([*stamp, digest]))
    return digest


def identity_of(status: os.stat_result) -> tuple[str, ...]:
    """Device, inode (both in hex), size, times of change: identity and state of a file."""
    times = (str(number) for number in (status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return f"{status.st_dev:x}", f"{status.st_ino:x}", *times


def checksums(
    folder: Path, names: Collection[str] | None = None, *, recompute: bool = False
) -> dict[str, str]:
    """Relative path -> checksum of all, or named, files; raises InputError as `regular_files` does."""
    chosen = sorted(regular_files(folder) if names is None else names)
    digests = side_by_side(partial(checksum, recompute=recompute), [folder / name for name in chosen])
    return dict(zip(chosen, digests, strict=True))


def regular_files(folder: Path) -> list[str]:
    """Sorted relative paths (with `/`) of a folder's files; raises InputError for links and devices."""
    return sorted(path.relative_to(folder).as_posix() for path in _walk(folder))


def _walk(folder: Path, depth: int = 0) -> Iterator[Path]:
    if depth > _MAX_DEPTH:
        raise InputError(
            f"lies more than {_MAX_DEPTH} folders deep; models and resources have few",
            location=folder,
            remedy="remove the folders that do not belong there",
        )
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            mode, path = entry.stat(follow_symlinks=False).st_mode, Path(entry.path)
            if stat.S_ISDIR(mode):
                yield from _walk(path, depth + 1)
            elif stat.S_ISREG(mode):
                yield path
            else:
                kind = "a symbolic link" if stat.S_ISLNK(mode) else "a device or a pipe"
                raise InputError(
                    f"is {kind}; models and resources are regular files",
                    location=path,
                    remedy="put a copy of the file in its place",
                )


def verify(
    folder: Path, recorded: Mapping[str, str], ignored: Collection[str] = (), *, recompute: bool = False
) -> None:
    """Compares a folder, without `ignored` files, with its recorded checksums.

    Raises Damaged with the names of missing, changed or new files, and InputError as `regular_files` does.
    """
    there = set(regular_files(folder)) - set(ignored)
    actual = checksums(folder, there & recorded.keys(), recompute=recompute)
    wrong = [f"{name} is gone" for name in sorted(recorded.keys() - there)]
    wrong += [f"{name} has changed" for name, value in actual.items() if value != recorded[name]]
    wrong += [f"{name} is not one of them" for name in sorted(there - recorded.keys())]
    if wrong:
        more = f", and {len(wrong) - 4} more" if len(wrong) > 4 else ""
        raise Damaged(f"its files are not those that were saved: {', '.join(wrong[:4])}{more}")


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with its own checksum as the key `checksum`."""
    plain = {key: value for key, value in content.items() if key != KEY}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return {**plain, KEY: hashlib.sha256(text.encode()).hexdigest()}


def is_sealed(content: Mapping[str, Any]) -> bool:
    """Whether the object has a checksum, which fits."""
    return KEY in content and sealed(content)[KEY] == content[KEY]


Value = TypeVar("Value")
Arrays = Mapping[str, NDArray[Any]]
_log = logging.getLogger("features.storage")


@dataclass(frozen=True)
class Codec(Generic[Value]):
    """How values of one type are written and read: as files with an ending, or as folders without one."""

    ending: str
    write: Callable[[Path, Value], None]
    read: Callable[[Path], Value]


def _write_arrays(path: Path, arrays: Arrays) -> None:
    with path.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def _read_arrays(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as arrays:  # compares the checksum of each
        return dict(arrays)


def _write_texts(path: Path, texts: Sequence[str]) -> None:
    _write_arrays(path, {"texts": np.frombuffer(json.dumps(texts).encode(), np.uint8)})


def _read_texts(path: Path) -> Sequence[str]:
    return tuple(json.loads(_read_arrays(path)["texts"].tobytes()))


ARRAYS: Final = Codec(".npz", _write_arrays, _read_arrays)
TEXTS: Final = Codec(".npz", _write_texts, _read_texts)


@dataclass(frozen=True)
class Cache:
    """Values by kind and name; without a folder, nothing is kept."""

    folder: Path | None

    def get(self, kind: str, name: str, codec: Codec[Value], make: Callable[[], Value]) -> Value:
        """The value, read if it is there; else one process makes it, and others wait.

        A damaged value is made again. Raises InputError if the folder cannot be written.
        """
        if self.folder is None:
            return make()
        path = cache_entry(self.folder, kind, f"{name}{codec.ending}")
        value = _read(path, codec)
        if value is None:
            with locked_file(path, patience=-1):
                value = _read(path, codec)
                if value is None:
                    value = make()
                    with (atomic_file if codec.ending else atomic_directory)(path) as temporary:
                        codec.write(temporary, value)
        return value


def _read(path: Path, codec: Codec[Value]) -> Value | None:
    if not path.exists():
        return None
    try:
        with damage_reported("this entry of the cache", path, "it is made again"):
            return codec.read(path)
    except InputError as error:
        _log.warning("%s", error)
        return None
