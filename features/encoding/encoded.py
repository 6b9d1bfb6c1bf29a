"""What an encoder says of one text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class EncodedText:
    """vector  (d,) of the text; None if it has no token that the encoder knows
    tokens  (k, e) of its tokens, each of length 1, marks of begin and end left out; k is 0 if the encoder
            gives no vectors of tokens
    """

    vector: Floats | None
    tokens: Floats


class TextEncoder(Protocol):
    """An encoder that is loaded."""

    def encode(self, texts: Sequence[str]) -> list[EncodedText]:
        """One for each text; the others do not change it."""


def units(vectors: Floats) -> Floats:
    """Vectors scaled to length 1 along the last axis; those of length 0 stay as they are."""
    lengths = np.sqrt(np.einsum("...d,...d->...", vectors, vectors))[..., np.newaxis]
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
