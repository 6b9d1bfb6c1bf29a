"""Characters of texts as arrays; distance of decoder subwords from the translation."""

import html
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from features.basics.array_types import FloatArray
from features.basics.distinct import numbered
from features.core.segments import Segments
from features.text.tokens import ratio

_SYMBOLS = ("So", "Cn", "Co", "Cc", "Cs")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, eq=False)
class Characters:
    """Characters of n concatenated texts, without whitespace; `rows` has the text of each."""

    alphabet: tuple[str, ...]
    ids: NDArray[np.int64]
    rows: NDArray[np.int64]
    begins: NDArray[np.bool_]
    n: int

    @classmethod
    def make(cls, texts: Sequence[str]) -> "Characters":
        joined = "".join(texts)
        codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
        present, ids = numbered(codes)
        alphabet = tuple(map(chr, present.tolist()))
        rows = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        blank = np.array([c.isspace() for c in alphabet], np.bool_)[ids]
        before = np.concatenate([[True], blank[:-1] | (rows[1:] != rows[:-1])]) if len(ids) else blank
        return cls(alphabet, ids[~blank], rows[~blank], before[~blank], len(texts))

    def count(self, mask: NDArray[np.bool_]) -> FloatArray:
        return np.bincount(self.rows[mask], minlength=self.n).astype(np.float64)

    def share(self, mask: NDArray[np.bool_]) -> FloatArray:
        """Share (n,) of characters that the mask selects; NaN for a text without characters."""
        return ratio(self.count(mask), np.bincount(self.rows, minlength=self.n))

    @cached_property
    def categories(self) -> tuple[str, ...]:
        return tuple(unicodedata.category(c) for c in self.alphabet)

    def of_category(self, *begins: str) -> NDArray[np.bool_]:
        return np.array([c.startswith(begins) for c in self.categories], np.bool_)[self.ids]

    @cached_property
    def symbols(self) -> NDArray[np.bool_]:
        """Mask of emoji, control characters and signs of failed decoding."""
        strange = np.array([c == _REPLACEMENT for c in self.alphabet], np.bool_)[self.ids]
        return strange | self.of_category(*_SYMBOLS)

    def outside(self, letters: str) -> NDArray[np.bool_]:
        """Mask of letters that are not among `letters` (lower case)."""
        known = set(letters)
        return np.array([c.isalpha() and c.lower() not in known for c in self.alphabet], np.bool_)[self.ids]

    def longest_run(self) -> FloatArray:
        """Length (n,) of the longest run of one mark or symbol, ignoring whitespace."""
        marks = self.of_category("P", "S")
        same = np.zeros(len(self.ids), np.bool_)
        same[1:] = (self.ids[1:] == self.ids[:-1]) & (self.rows[1:] == self.rows[:-1])
        starts = np.flatnonzero(~same)
        lengths = np.diff(np.append(starts, len(self.ids)))
        longest = np.zeros(self.n)
        kept = marks[starts]
        np.maximum.at(longest, self.rows[starts[kept]], lengths[kept])
        return longest

    def longest_word(self) -> FloatArray:
        """Characters (n,) in the longest stretch without whitespace."""
        starts = np.flatnonzero(self.begins)
        lengths = np.diff(np.append(starts, len(self.ids)))
        longest = np.zeros(self.n)
        np.maximum.at(longest, self.rows[starts], lengths)
        return longest

    def capitals_inside(self) -> FloatArray:
        small, capital = self.of_category("Ll"), self.of_category("Lu")
        inside = np.zeros(len(self.ids), np.bool_)
        inside[1:] = small[:-1] & capital[1:] & ~self.begins[1:]
        return self.count(inside)


_MARKERS = ("@@", "\u0120", "\u2581")  # subword markers of BPE, GPT and SentencePiece


def mismatch(segments: Segments) -> FloatArray:
    """Share (n,) of letters and digits that differ between subwords and translation; 0 without subwords."""
    if segments.subwords is None:
        return np.zeros(len(segments))
    pairs = zip(segments.subwords, segments.target, strict=True)
    return np.array([_distance(subwords, target) for subwords, target in pairs], np.float64)


def _distance(subwords: str, target: str) -> float:
    for marker in _MARKERS:
        subwords = subwords.replace(marker, " ")
    return float(Levenshtein.normalized_distance(_letters(subwords), _letters(target)))


def _letters(text: str) -> str:
    composed = unicodedata.normalize("NFKC", html.unescape(text)).casefold()
    return "".join(filter(str.isalnum, composed))
