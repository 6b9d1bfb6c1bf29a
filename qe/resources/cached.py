"""Cache entries, their size and last use; old ones are removed."""

import os
import re
import shutil
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from features.storage.cache_folder import check_tagged
from qe.display.numbers import number
from qe.display.table import Column, Table

# Folder of the cache -> its content, and the names of its entries. All of it is made again when needed.
KINDS: dict[str, tuple[str, str]] = {
    "resources": ("bundles built from corpora", r"[0-9a-f]{16}"),
    "features": ("columns of features", r"[\w.-]+-[0-9a-f]{16}\.np[yz]"),
    "encodings": ("vectors of texts by encoders", r"[0-9a-f]{16}\.sqlite"),
    "fitted": ("families fitted on all rows", r"[\w.-]+-[0-9a-f]{16}"),
    "annotations": ("texts that programs annotated", r"[0-9a-f]{16}\.(jsonl|npz)"),
    "translations": ("texts that programs translated", r"[0-9a-f]{16}\.(txt|npz)"),
    "numba": ("compiled code", r"\w+_[0-9a-f]{40}"),
    "checked": ("checksums of files that were checked", r"[0-9a-f]{16}|[0-9a-f]+-[0-9a-f]+"),
}
_DAY = 86_400


@dataclass(frozen=True)
class Entry:
    """One file or folder of the cache: bytes, and seconds since 1970 of the last write or recorded read."""

    kind: str
    path: Path
    size: int
    used: float

    @property
    def days(self) -> float:
        return max(0.0, time.time() - self.used) / _DAY


def cached(cache: Path, kinds: Collection[str] = tuple(KINDS)) -> list[Entry]:
    """The entries of the cache, the largest first: files and folders with names that the cache gives."""
    found = []
    for kind, (_, names) in KINDS.items():
        if kind in kinds and (cache / kind).is_dir():
            paths = sorted((cache / kind).iterdir())
            found += [_entry(kind, path) for path in paths if re.fullmatch(names, path.name)]
    if found or any((cache / kind).is_dir() for kind in kinds):
        check_tagged(cache)
    return sorted(found, key=lambda entry: -entry.size)


def old(entries: Sequence[Entry], days: float) -> list[Entry]:
    return [entry for entry in entries if entry.days >= days]


def remove(entries: Sequence[Entry]) -> int:
    """Remove entries; returns the bytes that are free. A folder loses its name before its files go."""
    for entry in entries:
        if entry.path.is_dir() and not entry.path.is_symlink():
            leaving = entry.path.with_name(f".{entry.path.name}.{os.getpid()}.old")
            entry.path.rename(leaving)
            shutil.rmtree(leaving)
        else:
            entry.path.unlink(missing_ok=True)
    return sum(entry.size for entry in entries)


def cache_table(cache: Path, entries: Sequence[Entry]) -> Table:
    columns = [
        Column("kind"), Column("what it is", drop=1), Column("entries"), Column("MB"),
        Column("oldest use", "days since the entry was used that is unused longest"),
    ]  # fmt: skip
    rows = []
    for kind, (content, _) in KINDS.items():
        chosen = [entry for entry in entries if entry.kind == kind]
        if chosen:
            size, days = sum(entry.size for entry in chosen), max(entry.days for entry in chosen)
            rows.append([kind, content, str(len(chosen)), number(size / 1e6, 1), f"{number(days, 0)} days"])
    total = sum(entry.size for entry in entries) / 1e6
    return Table(f"{cache}: {number(total, 0)} MB", columns, rows)


def _entry(kind: str, path: Path) -> Entry:
    files = [path] if path.is_symlink() or path.is_file() else [path, *path.rglob("*")]
    stats = [file.lstat() for file in files]
    used = max(
        max(stat.st_mtime, stat.st_atime if file.is_file() else 0.0)
        for file, stat in zip(files, stats, strict=True)
    )
    return Entry(kind, path, sum(stat.st_size for stat in stats), used)
