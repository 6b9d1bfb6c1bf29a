"""Format: how a dataset lies on disk. Think twice before adding here."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from features.core.catalogue import Catalogue
from features.core.errors import InputError
from qe.dataset import Dataset
from qe.formats._reading import Reading


class Format(ABC):
    """A dataclass whose fields are the keys of `dataset:` in an experiment (besides `format` and `path`).

    Raises InputError, with file and line, for everything that cannot be read faithfully.
    """

    def read(self, path: Path) -> Dataset:
        """Reads everything at `path` (a directory or a file); the first defect raises InputError."""
        return self.read_with(Reading(path), path)

    @abstractmethod
    def read_with(self, reading: Reading, path: Path) -> Dataset:
        """Reads through `reading`, which opens the files, keeps notes, and raises or collects defects."""


FORMATS: Catalogue[Format] = Catalogue("qe.formats", Format, "format")


def make_format(name: str, options: Mapping[str, Any]) -> Format:
    """The format `name` with the given keys of `dataset:`.

    Raises InputError for an unknown format, unknown keys, and keys that are missing.
    """
    kind = FORMATS.get(name)
    keys = [entry for entry in fields(kind) if entry.init]  # type: ignore[arg-type]
    known = ", ".join(entry.name for entry in keys)
    for key in options:
        if key not in [entry.name for entry in keys]:
            raise InputError(
                f"the format '{name}' has no key '{key}'", where="dataset", remedy=f"known: {known}"
            )
    for entry in keys:
        if entry.name not in options and entry.default is MISSING and entry.default_factory is MISSING:
            raise InputError(
                f"the format '{name}' needs the key '{entry.name}'", where="dataset", remedy=f"known: {known}"
            )
    return kind(**options)
