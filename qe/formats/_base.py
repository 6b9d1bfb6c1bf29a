"""Format: how a dataset lies on disk. Think twice before adding here."""

from abc import ABC, abstractmethod
from pathlib import Path

from features.core.catalogue import Catalogue
from qe.dataset import Dataset


class Format(ABC):
    """A dataclass whose fields are the keys of `dataset:` in an experiment (besides `format` and `path`).

    Raises InputError, with file and line, for everything that cannot be read faithfully.
    """

    @abstractmethod
    def read(self, path: Path) -> Dataset:
        """Reads everything at `path` (a directory or a file)."""


FORMATS: Catalogue[Format] = Catalogue("qe.formats", Format, "format")
