"""Language profile: character trigram model of one side of the training data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from features.basics.distinct import distinct

BUCKETS = 1 << 13
_UNIT = 1024  # costs are integers in 1/1024 bit, so that their sums are exact in every batch
_PRIME = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class LanguageProfile:
    """Cost of each character trigram under the training distribution, ignoring case.

    `costs` (8192,) are -log2 p of every bucket of hashed trigrams, in 1/1024 bits, with add-1/2 smoothing.
    After Cavnar and Trenkle 1994, with likelihoods instead of ranks.
    """

    costs: NDArray[np.int32]

    @classmethod
    def make(cls, texts: Sequence[str]) -> Self:
        buckets, _ = _trigrams(texts)
        counts = np.bincount(buckets, minlength=BUCKETS) + 0.5
        return cls(np.round(-np.log2(counts / counts.sum()) * _UNIT).astype(np.int32))

    def bits(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Mean bits (n,) per character of each text."""
        buckets, lengths = _trigrams(texts)
        sums = np.concatenate([[0], np.cumsum(self.costs[buckets], dtype=np.int64)])
        ends = np.cumsum(lengths)
        return np.asarray((sums[ends] - sums[ends - lengths]) / (lengths * _UNIT))


def trigram_overlap(texts: Sequence[str], second_texts: Sequence[str]) -> NDArray[np.float64]:
    """Number of shared trigrams (n,) divided by the smaller text's number of trigrams."""
    cells = []
    for side in (texts, second_texts):
        buckets, lengths = _trigrams(side)
        cells.append(distinct(np.repeat(np.arange(len(side)), lengths) * BUCKETS + buckets))
    first, second = cells
    both = np.bincount(np.intersect1d(first, second, assume_unique=True) // BUCKETS, minlength=len(texts))
    sizes = [np.bincount(each // BUCKETS, minlength=len(texts)) for each in cells]
    return np.asarray(both / np.maximum(np.minimum(*sizes), 1))


def _trigrams(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    padded = [f"  {text.lower()} " for text in texts]
    lengths = np.array([len(text) - 2 for text in padded], np.int64)
    codes = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    if not len(codes):
        return np.empty(0, np.int64), lengths
    mixed = ((codes[:-2] << np.uint64(42)) ^ (codes[1:-1] << np.uint64(21)) ^ codes[2:]) * _PRIME
    buckets = (mixed >> np.uint64(64 - 13)).astype(np.int64)
    starts = np.cumsum(lengths + 2) - (lengths + 2)  # trigrams begin at all but a text's last two characters
    kept = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    return buckets[kept], lengths
