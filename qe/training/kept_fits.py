"""Kept fits: a family fitted on all rows is kept in the cache, for the same model once more."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from features.core.extractor import FittedExtractor
from features.storage.checksums import checksums, verify
from features.storage.damage import damage_reported
from features.storage.files import atomic_directory, link_or_copy

_FILES = "files.json"  # their checksums
_LARGE = 1 << 20  # bytes
Family = TypeVar("Family", bound=FittedExtractor)


def kept_fit(path: Path | None, family: Family, fit: Callable[[], Family]) -> Family:
    """The fitted family in the folder `path`; what `fit` gives is put there if there is none.

    Without a path nothing is kept. Raises InputError if files are not those that were saved.
    """
    if path is None:
        return fit()
    recorded = path / _FILES
    if recorded.is_file():
        with damage_reported("a fitted family", path, "delete this folder: it is made again"):
            verify(path, json.loads(recorded.read_text("utf-8")), (_FILES,))
            return family.restore(path)
    fitted = fit()
    with atomic_directory(path) as temporary:
        fitted.save(temporary)
        files = checksums(temporary)
        _share(temporary, files)
        (temporary / _FILES).write_text(json.dumps(files), "utf-8")
    return fitted


def _share(folder: Path, files: Mapping[str, str]) -> None:
    there: dict[str, Path] = {}
    for kept in folder.parent.glob(f"*/{_FILES}"):
        with suppress(OSError, ValueError):  # pruned just now, or damaged
            there |= {value: kept.parent / name for name, value in json.loads(kept.read_text()).items()}
    for name, value in files.items():
        own, same = folder / name, there.get(value)
        if same is not None and own.stat().st_size >= _LARGE:
            other = own.with_name(f"{own.name}.same")
            with suppress(OSError):
                link_or_copy(same, other)
                other.replace(own)
