"""A check of an encoder: whether it loads, its speed, and whether vectors of translations are similar."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.encoding.encoded import TextEncoder
from features.encoding.folder import EncoderFolder, EncoderSettings
from qe.resources.encoders.origin import check_unchanged, origin_of

# Three sentences, and their translations.
ENGLISH: Final = (
    "The house is on the hill.",
    "The government has cut taxes for small firms.",
    "She plays the violin in an orchestra.",
)
GERMAN: Final = (
    "Das Haus steht auf dem Hügel.",
    "Die Regierung hat die Steuern für kleine Firmen gesenkt.",
    "Sie spielt Geige in einem Orchester.",
)
_REPEATS: Final = 8  # of the sentences, to time them


@dataclass(frozen=True, eq=False)
class Checked:
    """Measurements of an encoder.

    dimensions  of its vectors
    tokens      whether it gives vectors of tokens
    prompt      that its folder names
    cosines     (3, 3) of the English sentences with the German ones
    speed       pairs of the sentences a second of processor time
    """

    folder: Path
    dimensions: int
    tokens: bool
    prompt: str
    cosines: FloatArray
    speed: float

    @property
    def aligned(self) -> bool:
        """Whether every sentence is nearest to its own translation, in both directions."""
        places = np.arange(len(self.cosines))
        return bool((self.cosines.argmax(0) == places).all() and (self.cosines.argmax(1) == places).all())

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "folder": str(self.folder),
            "dimensions": self.dimensions,
            "vectors_of_tokens": self.tokens,
            "prompt": self.prompt,
            "cosines": self.cosines.round(6).tolist(),
            "aligned": self.aligned,
            "pairs_per_cpu_second": self.speed,
        }

    def lines(self) -> list[str]:
        """For people."""
        own = self.cosines.diagonal().mean()
        other = (self.cosines.sum() - self.cosines.trace()) / 6
        nearest = (
            "each is nearest to its translation" if self.aligned else "NOT each nearest to its translation"
        )
        return [
            f"{self.folder}: {self.dimensions} dimensions, {'with' if self.tokens else 'no'} vectors of "
            f"tokens, prompt {self.prompt!r}",
            f"three English sentences and their German translations: cosine {own:.3f}, "
            f"with the others {other:.3f}; {nearest}",
            f"{self.speed:.0f} pairs of them a second of processor time",
        ]


def check_encoder(folder: Path) -> Checked:
    """Reads the folder and compares three sentences in two languages.

    Raises InputError if the folder is damaged, has changed since it was made or fetched, or the encoder
    knows none of the sentences.
    """
    origin = origin_of(folder)
    if origin is not None:
        check_unchanged(origin, folder)
    place = EncoderFolder(folder)
    encoder, prompt = place.load(EncoderSettings()), place.prompt
    english, german = (vectors(encoder, texts, prompt) for texts in (ENGLISH, GERMAN))
    has_tokens = bool(encoder.encode(ENGLISH[:1], prompt)[0].tokens.size)
    speed = pairs_a_second(encoder, [*ENGLISH, *GERMAN] * _REPEATS, prompt)
    return Checked(folder, english.shape[1], has_tokens, prompt, english @ german.T, speed)


def vectors(encoder: TextEncoder, texts: Sequence[str], prompt: str) -> FloatArray:
    """(n, d) vectors of length 1. Raises InputError for a text that the encoder does not know."""
    rows = []
    for text, each in zip(texts, encoder.encode(texts, prompt), strict=True):
        if each.vector is None:
            raise InputError(
                f"the encoder knows no token of {text!r}", remedy="take an encoder of English and German"
            )
        rows.append(each.vector / np.linalg.norm(each.vector))
    return np.array(rows, np.float64)


def pairs_a_second(encoder: TextEncoder, texts: Sequence[str], prompt: str) -> float:
    """Pairs of texts that are read in a second of processor time."""
    started = time.process_time()
    encoder.encode(texts, prompt)
    return len(texts) / 2 / max(time.process_time() - started, 1e-9)
