"""Learned: which segments a model has learned from, so that nobody judges it by them."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError

FILE = "learned.npy"


@dataclass(frozen=True, eq=False)
class Learned:
    """Sorted hashes (n,) of the distinct segments whose labels were learned.

    The text is not kept.
    """

    hashes: NDArray[np.uint64]

    @classmethod
    def make(cls, pairs: Iterable[tuple[str, str]]) -> Self:
        """From the sources and translations of the training rows."""
        return cls(np.unique(_hashes(pairs)))

    def knows(self, pairs: Iterable[tuple[str, str]]) -> NDArray[np.bool_]:
        """(m,) whether each pair of source and translation was learned from, to the last character.

        >>> Learned.make([("a", "b")]).knows([("a", "b"), ("a", "B")]).tolist()
        [True, False]
        """
        return np.isin(_hashes(pairs), self.hashes)

    def save(self, folder: Path) -> None:
        np.save(folder / FILE, self.hashes, allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Loads the hashes; None for a model of a version that did not keep them.

        Raises InputError if damaged.
        """
        path = folder / FILE
        if not path.is_file():
            return None
        try:
            hashes = np.load(path, allow_pickle=False)
        except (OSError, EOFError, ValueError) as error:
            raise InputError(f"is damaged ({error})", location=path, remedy="train the model again") from None
        if hashes.dtype != np.uint64 or hashes.ndim != 1:
            raise InputError("is damaged (no list of hashes)", location=path, remedy="train the model again")
        return cls(hashes)


def _hashes(pairs: Iterable[tuple[str, str]]) -> NDArray[np.uint64]:
    content = b"".join(_hash(source, target) for source, target in pairs)
    return np.frombuffer(content, "<u8").astype(np.uint64)


def _hash(source: str, target: str) -> bytes:
    sides = [text.encode("utf-8", "surrogatepass") for text in (source, target)]
    return hashlib.blake2b(len(sides[0]).to_bytes(8, "little") + b"".join(sides), digest_size=8).digest()
