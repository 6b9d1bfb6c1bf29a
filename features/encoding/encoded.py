"""What an encoder computes for a text, and how texts are normalised for it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from features.text.tokenizer import composed, normalise

Floats = NDArray[np.float32]
Spans = NDArray[np.int32]
NO_SPANS: Final[Spans] = np.empty((0, 2), np.int32)
NO_LAYERS: Final[Floats] = np.empty((0, 0), np.float32)


@dataclass(frozen=True, eq=False)
class EncodedText:
    """Vectors of a text and of its tokens, and where these stand.

    vector  (d,) of the text; None if it has no token that the encoder knows
    tokens  (k, e) of its tokens, each of length 1, the prompt and marks of begin and end left out; k is 0 if
            the encoder gives no vectors of tokens
    spans   (k, 2) where each token begins and ends in the text, in characters
    layers  (l, d) of the text by the requested inner layers
    """

    vector: Floats | None
    tokens: Floats
    spans: Spans
    layers: Floats = field(default_factory=lambda: NO_LAYERS)


class TextEncoder(Protocol):
    def encode(self, texts: Sequence[str], prompt: str = "") -> list[EncodedText]:
        """One for each text, read behind the prompt; the others do not change it."""


def units(vectors: Floats) -> Floats:
    """Vectors scaled to length 1 along the last axis; vectors of length 0 are unchanged."""
    lengths = np.sqrt(np.einsum("...d,...d->...", vectors, vectors))[..., np.newaxis]
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def within_text(spans: Sequence[tuple[int, int]], prompt: str) -> Spans:
    """(k, 2) spans in the text, from spans in prompt and text. Tokens of the prompt end at 0 or before."""
    return np.array(spans, np.int32).reshape(-1, 2) - len(prompt)


_APART = re.compile(r" +(?=[.,;:!?](?: |$))")  # blanks before a mark that closes


def as_read(text: str) -> str:
    """Straight quotes, single blanks, none before a mark that closes, letters composed (NFC).

    >>> as_read("“So” ,  he said . ")
    '"So", he said.'
    """
    return _APART.sub("", normalise(composed(text)))
