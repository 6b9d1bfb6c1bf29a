"""Resource: built from a corpus, saved to a directory, loaded (memory-mapped) by extractors."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from features.core.corpus import ParallelCorpus
from features.core.files import digest
from features.core.progress import Progress, silent


class Resource(ABC):
    """One part of a bundle; its module's name is its kind.

    `parts` names the parts of this kind that a bundle has, with the settings that `build` takes for each.
    Further parameters of `build` annotated with a Resource class are other parts of the same bundle,
    passed loaded by their parameter name.

    `settings` (how it was built, JSON values) and `corpus_fingerprint` (from what) identify it.
    """

    version: ClassVar[int] = 1  # of content and layout: a part built by another version is built again
    parts: ClassVar[Mapping[str, Mapping[str, Any]]]
    settings: Mapping[str, Any]
    corpus_fingerprint: str

    @classmethod
    @abstractmethod
    def build(cls, corpus: ParallelCorpus, *, progress: Progress = silent, **settings: Any) -> Self:
        """Builds the resource from a corpus."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Writes into the existing empty directory `path` (the bundle makes that atomic)."""

    @classmethod
    @abstractmethod
    def load(cls, path: Path) -> Self:
        """Loads what `save` wrote; arrays memory-mapped."""

    @property
    def fingerprint(self) -> str:
        """Identifies content and settings."""
        return digest(
            type(self).__module__,
            self.version,
            json.dumps(dict(self.settings), sort_keys=True),
            self.corpus_fingerprint,
        )


def save_arrays(path: Path, meta: Mapping[str, Any], **arrays: NDArray[Any]) -> None:
    """Writes `meta.json` and one .npy file per array into the directory `path`."""
    (path / "meta.json").write_text(json.dumps(dict(meta), indent=1, sort_keys=True), "utf-8")
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array, allow_pickle=False)


def load_arrays(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `save_arrays` wrote; the arrays memory-mapped, read-only."""
    meta = json.loads((path / "meta.json").read_text("utf-8"))
    arrays = {
        f.stem: np.load(f, mmap_mode="r" if f.stat().st_size > 128 + 64 else None, allow_pickle=False)
        for f in sorted(path.glob("*.npy"))
    }
    return meta, arrays
