"""Bags: texts as sparse rows of weighted n-grams, and a ridge regression on them."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import lsqr

from features.core.tokens import FloatArray, Tokens

Keys = NDArray[np.uint64]
Longs = NDArray[np.int64]

_MULTIPLIER: Final = np.uint64(0xFF51AFD7ED558CCD)
_ITERATIONS: Final = 40  # of conjugate gradients: the penalty is large, so they settle early


@dataclass(frozen=True, eq=False)
class Bag:
    """The n-grams of n texts, with repetitions, as 64-bit hashes.

    keys     (n_items,) hashes
    offsets  (n + 1,) the items of text i are keys[offsets[i]:offsets[i + 1]]
    """

    keys: Keys
    offsets: Longs


View = Callable[[Tokens], Bag]


def words(tokens: Tokens) -> Bag:
    """Lower-cased words and pairs of neighbours (the first and last word with the edge of the text)."""
    lowered = tokens.lower()
    hashes = np.array([_hash(t) for t in lowered.types], np.uint64)[lowered.ids]
    n = len(tokens)
    edge = np.zeros(len(hashes) + n, np.uint64)  # 0 after every text, and so before the next
    edge[np.arange(len(hashes)) + tokens.text_index] = hashes
    before = np.concatenate((np.zeros(1, np.uint64), edge[:-1]))
    with np.errstate(over="ignore"):
        pairs = ((before ^ (before >> np.uint64(31))) * _MULTIPLIER) ^ edge
    pair_offsets = tokens.offsets + np.arange(n + 1)
    text = np.concatenate((tokens.text_index, np.repeat(np.arange(n), np.diff(pair_offsets))))
    return _bag(np.concatenate((hashes, pairs)), text, n)


def characters(tokens: Tokens, longest: int = 4) -> Bag:
    """N-grams of 2 to `longest` characters of the lower-cased words, a blank at either end of each word."""
    lowered = tokens.lower()
    grams = [_character_grams(f" {t} ", longest) for t in lowered.types]
    counts = np.array([len(g) for g in grams], np.int64)
    by_type = np.array([key for g in grams for key in g], np.uint64)
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    sizes = counts[lowered.ids] if len(counts) else np.zeros(0, np.int64)
    ends = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    index = np.arange(ends[-1]) + np.repeat(starts[lowered.ids] - ends[:-1], sizes)
    return Bag(by_type[index], ends[tokens.offsets])


def _character_grams(text: str, longest: int) -> list[int]:
    return [
        _hash("\0" + text[i : i + k]) for k in range(2, longest + 1) for i in range(max(len(text) - k + 1, 0))
    ]


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _bag(keys: Keys, text: Longs, n: int) -> Bag:
    order = np.argsort(text, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(text, minlength=n)))).astype(np.int64)
    return Bag(keys[order], offsets)


@dataclass(frozen=True, eq=False)
class BagRegression:
    """Ridge regression on tf-idf rows of length 1.

    keys, inverse_frequency, coefficients  (k,) of the n-grams that the training texts have often enough
    intercept                              mean of the training labels
    """

    keys: Keys
    inverse_frequency: FloatArray
    coefficients: FloatArray
    intercept: float

    @classmethod
    def fit(
        cls, bag: Bag, labels: FloatArray, weights: FloatArray, *, penalty: float, minimum: int
    ) -> "BagRegression":
        """`minimum`: texts that an n-gram must occur in; `weights` (n,) of the texts, 1 on average."""
        keys, index = np.unique(bag.keys, return_inverse=True)
        text = np.repeat(np.arange(len(labels)), np.diff(bag.offsets))
        seen = np.unique(index * max(len(labels), 1) + text) // max(len(labels), 1)
        frequency = np.bincount(seen, minlength=len(keys))
        kept = frequency >= minimum
        inverse = np.log((1 + len(labels)) / (1 + frequency[kept])) + 1
        intercept = float(np.average(labels, weights=weights))
        unfitted = cls(keys[kept], inverse.astype(np.float64), np.zeros(int(kept.sum())), intercept)
        roots = np.sqrt(weights)
        rows = sparse.diags_array(roots) @ unfitted._rows(bag)
        solved = lsqr(rows, roots * (labels - intercept), damp=float(np.sqrt(penalty)), iter_lim=_ITERATIONS)
        return cls(unfitted.keys, unfitted.inverse_frequency, np.asarray(solved[0], np.float64), intercept)

    def predict(self, bag: Bag) -> FloatArray:
        """(n,) in units of the label; the intercept for a text without known n-grams."""
        return np.asarray(self._rows(bag) @ self.coefficients + self.intercept, np.float64)

    def _rows(self, bag: Bag) -> Any:
        """(n, k) sparse tf-idf rows (1 + log of the count, times the inverse frequency) of length 1."""
        n = len(bag.offsets) - 1
        place = np.searchsorted(self.keys, bag.keys)
        known = np.zeros(len(bag.keys), bool)
        inside = place < len(self.keys)
        known[inside] = self.keys[place[inside]] == bag.keys[inside]
        text = np.repeat(np.arange(n), np.diff(bag.offsets))[known]
        counts = sparse.coo_array((np.ones(len(text)), (text, place[known])), (n, len(self.keys))).tocsr()
        counts.sum_duplicates()
        counts.data = (1 + np.log(counts.data)) * self.inverse_frequency[counts.indices]
        lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
        scale = np.divide(1.0, lengths, out=np.zeros(n), where=lengths > 0)
        return sparse.diags_array(scale) @ counts

    def save(self, path: Path) -> None:
        """Writes into the new directory `path`."""
        path.mkdir()
        np.save(path / "keys.npy", self.keys, allow_pickle=False)
        values = np.vstack([self.inverse_frequency, self.coefficients])
        np.save(path / "values.npy", values, allow_pickle=False)
        np.save(path / "intercept.npy", np.array(self.intercept), allow_pickle=False)

    @classmethod
    def load(cls, path: Path) -> "BagRegression":
        inverse, coefficients = np.load(path / "values.npy", allow_pickle=False)
        keys = np.load(path / "keys.npy", allow_pickle=False)
        return cls(keys, inverse, coefficients, float(np.load(path / "intercept.npy", allow_pickle=False)))
