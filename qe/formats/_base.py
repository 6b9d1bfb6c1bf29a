"""Format: how a dataset lies on disk. Think twice before adding here."""

from abc import ABC, abstractmethod
from pathlib import Path

from features.core.catalogue import Catalogue
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
