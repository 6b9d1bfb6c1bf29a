"""Checksums of a folder's files: recorded when it is saved, compared when it is loaded."""

import hashlib
import json
import os
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.basics.threads import side_by_side
from features.storage.cache_folder import keep, recall
from features.storage.damage import Damaged
from features.storage.files import sha256

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
