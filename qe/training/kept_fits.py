"""Kept fits: a family fitted on all rows is kept in the cache, for the same model once more."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from features.core.extractor import FittedExtractor
from features.storage.checksums import checksums, verify
from features.storage.damage import whole
from features.storage.files import atomic_directory

_FILES = "files.json"  # their checksums
Family = TypeVar("Family", bound=FittedExtractor)


def kept_fit(path: Path, family: Family, fit: Callable[[], Family]) -> Family:
    """The fitted family in the folder `path`; what `fit` gives is put there if there is none.

    Raises InputError if files are not those that were saved.
    """
    recorded = path / _FILES
    if recorded.is_file():
        with whole("a fitted family", path, "delete this folder: it is made again"):
            verify(path, json.loads(recorded.read_text("utf-8")), (_FILES,))
            return family.restore(path)
    fitted = fit()
    with atomic_directory(path) as temporary:
        fitted.save(temporary)
        (temporary / _FILES).write_text(json.dumps(checksums(temporary)), "utf-8")
    return fitted
