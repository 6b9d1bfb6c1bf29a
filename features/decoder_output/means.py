"""SubwordMeans: a system's usual probability of each subword, learned from translations."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from features.basics.array_types import FloatArray
from features.decoder_output.tokens import DecoderTokens
from features.storage.arrays import finite, typed

_MAX_SUM: Final = 1e100  # of a stored value: sums stay finite
PRIOR: Final = 3.0  # occurrences that the overall mean counts for


@dataclass(frozen=True, eq=False)
class SubwordMeans:
    """Sums and counts of the log-probabilities of subword types over training translations.

    types         distinct subwords
    sums, counts  (n_types,)
    """

    types: tuple[str, ...]
    sums: FloatArray
    counts: FloatArray

    @classmethod
    def fit(cls, decoder: DecoderTokens) -> "SubwordMeans":
        ids, size = decoder.subwords.ids, len(decoder.subwords.types)
        sums = np.bincount(ids, weights=decoder.log_probability, minlength=size).astype(np.float64)
        return cls(decoder.subwords.types, sums, np.bincount(ids, minlength=size).astype(np.float64))

    def residuals(self, decoder: DecoderTokens, *, leave_one_out: bool = False) -> FloatArray:
        """(n_subwords,) log-probability minus the smoothed mean of the type, in nats. `leave_one_out`: for
        training translations; each is excluded from its own means. The mean of an unknown type is the overall
        mean.
        """
        return decoder.log_probability - self._expected(decoder, leave_one_out)

    def log_counts(self, decoder: DecoderTokens) -> FloatArray:
        """(n_subwords,) natural logarithm of 1 + training occurrences of the type."""
        _, counts = self._type_statistics(decoder)
        return np.log1p(counts)

    @cached_property
    def mean(self) -> float:
        """Over all training subwords; 0 where there were none."""
        total = float(self.counts.sum())
        return float(self.sums.sum()) / total if total else 0.0

    def _expected(self, decoder: DecoderTokens, leave_one_out: bool) -> FloatArray:
        sums, counts = self._type_statistics(decoder)
        if leave_one_out:
            inside = _within_text(decoder)
            sums, counts = sums - inside[0], counts - inside[1]
        return np.asarray((sums + PRIOR * self.mean) / (counts + PRIOR), np.float64)

    def _type_statistics(self, decoder: DecoderTokens) -> tuple[FloatArray, FloatArray]:
        places = np.array([self._index.get(t, -1) for t in decoder.subwords.types], np.int64)
        places = places[decoder.subwords.ids]
        known = places >= 0
        sums, counts = np.zeros(len(places)), np.zeros(len(places))
        sums[known], counts[known] = self.sums[places[known]], self.counts[places[known]]
        return sums, counts

    @cached_property
    def _index(self) -> dict[str, int]:
        return {t: i for i, t in enumerate(self.types)}

    def save(self, path: Path) -> None:
        (path / "subwords.txt").write_text("".join(t + "\n" for t in self.types), "utf-8", newline="")
        np.save(path / "subwords.npy", np.vstack([self.sums, self.counts]), allow_pickle=False)

    @classmethod
    def load(cls, path: Path) -> "SubwordMeans":
        """Loads saved means. Raises Damaged if there is not one sum and count for each subword."""
        types = (path / "subwords.txt").read_bytes().decode("utf-8").split("\n")[:-1]
        values = np.load(path / "subwords.npy", allow_pickle=False)
        typed("subwords", values, np.float64, 2, len(types))
        finite("subwords", values[0], -_MAX_SUM, _MAX_SUM)
        finite("subwords", values[1], 0, _MAX_SUM)
        return cls(tuple(types), values[0], values[1])


def _within_text(decoder: DecoderTokens) -> tuple[FloatArray, FloatArray]:
    subwords = decoder.subwords
    keys = subwords.text_index * max(len(subwords.types), 1) + subwords.ids
    _, inverse = np.unique(keys, return_inverse=True)
    sums = np.bincount(inverse, weights=decoder.log_probability).astype(np.float64)
    counts = np.bincount(inverse).astype(np.float64)
    return sums[inverse], counts[inverse]
