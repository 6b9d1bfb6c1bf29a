"""Training rows stored with a model: held-out predictions, and hashes of the segments."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.storage.damage import finite, typed
from qe.models.artifact import Artifact


@dataclass(frozen=True, eq=False)
class HeldOutPredictions(Artifact):
    """Gold labels (n,) and predictions (n,) of held-out rows: out of fold, or the calibration split."""

    file: ClassVar[str] = "held_out"
    noun: ClassVar[str] = "the table of held-out predictions"
    absent: ClassVar[str] = "the model holds no labels with predictions of rows that it had not seen"

    gold: FloatArray
    predicted: FloatArray

    @classmethod
    def make(cls, gold: FloatArray, predicted: FloatArray) -> Self:
        both = np.isfinite(gold) & np.isfinite(predicted)
        return cls(gold[both], predicted[both])

    def check_arrays(self) -> None:
        for name, array in (("gold", self.gold), ("predicted", self.predicted)):
            typed(name, array, np.float64, len(self.gold))
            finite(name, array)


@dataclass(frozen=True, eq=False)
class Learned(Artifact):
    """Sorted hashes (n,) of the distinct labelled training segments; the text is not stored."""

    file: ClassVar[str] = "learned"
    noun: ClassVar[str] = "the list of learned segments"

    hashes: NDArray[np.uint64]

    @classmethod
    def make(cls, pairs: Iterable[tuple[str, str]]) -> Self:
        return cls(np.unique(_hashes(pairs)))

    def knows(self, pairs: Iterable[tuple[str, str]]) -> NDArray[np.bool_]:
        """Whether each pair (m,) of source and translation is an exact training segment."""
        return np.isin(_hashes(pairs), self.hashes)

    def check_arrays(self) -> None:
        typed("hashes", self.hashes, np.uint64, None)


def _hashes(pairs: Iterable[tuple[str, str]]) -> NDArray[np.uint64]:
    content = bytearray()
    for pair in pairs:
        source, target = (text.encode("utf-8", "surrogatepass") for text in pair)
        text = len(source).to_bytes(8, "little") + source + target
        content += hashlib.blake2b(text, digest_size=8).digest()
    return np.frombuffer(content, "<u8").astype(np.uint64)
