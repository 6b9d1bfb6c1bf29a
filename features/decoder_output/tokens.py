"""Subwords of a neural system with log-probabilities, their words, and usual probabilities of subwords."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.segments import Segments
from features.storage.damage import finite, typed
from features.text.spelling import edited
from features.text.tokens import Tokens, segment_sum

Longs = NDArray[np.int64]
Marker = Literal["bpe", "sentencepiece"]

_JOIN: Final = "@@"  # subword-nmt: at the end of a subword that the next one continues
_START: Final = "▁"  # SentencePiece: at the beginning of a word
UNKNOWN: Final = "<unk>"
_NOUNS: Final = {
    "token_log_probabilities": "log-probabilities",
    "token_entropies": "entropies",
    "token_highest_log_probabilities": "highest log-probabilities",
}


@dataclass(frozen=True, eq=False)
class DecoderTokens:
    """Subwords and log-probabilities of n translations.

    subwords         the system's output, unchanged
    log_probability  (n_subwords,) natural logarithms
    end              (n,) of the end of the sentence; NaN without any output
    """

    subwords: Tokens
    log_probability: FloatArray
    end: FloatArray
    marker: Marker = "bpe"

    @classmethod
    def from_segments(
        cls, segments: Segments, marker: Marker = "bpe", column: str = "token_log_probabilities"
    ) -> "DecoderTokens":
        """From the columns `subwords` and `column`; raises InputError if they do not fit."""
        subwords = Tokens.from_lists(text.split() for text in segments.require("subwords"))
        lines = [text.split() for text in segments.require(column)]
        lengths = np.array([len(line) for line in lines], np.int64)
        spoken = lengths > 0
        wrong = np.flatnonzero((lengths != subwords.lengths + 1) & (spoken | (subwords.lengths > 0)))
        if len(wrong):
            i = int(wrong[0])
            raise InputError(
                f"expected {subwords.lengths[i] + 1} {_NOUNS[column]} (one per subword and one for the end "
                f"of the sentence), found {lengths[i]}",
                location=f"segment '{segments.id[i]}'",
            )
        values = step_values(segments, lines, column)
        last = np.cumsum(lengths)[spoken] - 1
        end = np.full(len(lines), np.nan)
        end[spoken] = values[last]
        return cls(subwords, np.delete(values, last), end, marker)

    @cached_property
    def word_offsets(self) -> Longs:
        """First subword (n_words + 1,) of each word, and the end; a word begins with every text."""
        types, ids, offsets = self.subwords.types, self.subwords.ids, self.subwords.offsets
        if self.marker == "bpe":
            joins = np.array([t.endswith(_JOIN) for t in types], bool)
            first = np.ones(len(ids), bool)
            first[1:] = ~joins[ids[:-1]] if len(types) else True
        else:
            first = np.array([t.startswith(_START) for t in types], bool)[ids]
        first[offsets[:-1][self.subwords.lengths > 0]] = True
        return np.append(np.flatnonzero(first), len(ids)).astype(np.int64)

    @cached_property
    def words(self) -> Tokens:
        plain = [_plain(t, self.marker) for t in self.subwords.types]
        pieces = [plain[i] for i in self.subwords.ids.tolist()]
        bounds = self.word_offsets.tolist()
        words = ["".join(pieces[a:b]) for a, b in pairwise(bounds)]
        places = np.searchsorted(self.word_offsets, self.subwords.offsets).tolist()
        return Tokens.from_lists(words[a:b] for a, b in pairwise(places))

    @cached_property
    def word_log_probability(self) -> FloatArray:
        return segment_sum(self.log_probability, self.word_offsets)

    def token_index(self, tokens: Tokens) -> Longs:
        """Token (n_subwords,) of the tokenized translations that each subword belongs to; -1: none.

        By character: exact if both spell the same text, else by a cheapest edit (`<unk>`, typographic marks).
        Indices run over the whole batch.
        """
        plain = [_plain(t, self.marker) for t in self.subwords.types]
        result = np.full(len(self.subwords.ids), -1, np.int64)
        for i in range(len(tokens)):
            a, b = self.subwords.offsets[i : i + 2].tolist()
            pieces = [plain[k] for k in self.subwords.ids[a:b].tolist()]
            result[a:b] = _place(pieces, tokens.words(i), int(tokens.offsets[i]))
        return result


def step_values(segments: Segments, lines: Sequence[Sequence[str]], column: str) -> FloatArray:
    """The numbers of all lines, one after the other. Raises InputError for what is no finite number."""
    try:
        values = np.array([number for line in lines for number in line], np.float64)
    except ValueError as error:
        raise InputError(f"{column}: {error}", remedy="natural logarithms, space-separated") from None
    if not np.isfinite(values).all():
        ends = np.cumsum([len(line) for line in lines])
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        i = int(np.searchsorted(ends, place, side="right"))
        raise InputError(
            f"{_NOUNS[column]} must be finite, but got {values[place]}",
            location=f"segment '{segments.id[i]}'",
        )
    return values


def _plain(subword: str, marker: Marker) -> str:
    """The characters that a subword represents."""
    text = subword.removesuffix(_JOIN) if marker == "bpe" else subword.removeprefix(_START)
    return html.unescape(text) if "&" in text else text


def _place(pieces: list[str], tokens: list[str], start: int) -> Longs:
    if not tokens:
        return np.full(len(pieces), -1, np.int64)
    owner = np.repeat(np.arange(len(tokens)), [len(token) for token in tokens]) + start
    left, right = "".join(pieces), "".join(tokens)
    begins = np.cumsum([0, *(len(piece) for piece in pieces)])[:-1]
    if left == right:
        place = begins
    else:
        place = edited(left, right)[np.minimum(begins, max(len(left) - 1, 0))] if left else begins
    if not len(owner):
        return np.full(len(pieces), -1, np.int64)
    return np.asarray(owner[np.minimum(place, len(owner) - 1)], np.int64)


_MAX_SUM: Final = 1e100  # of a stored value: sums stay finite
PRIOR: Final = 3.0  # occurrences that the overall mean counts for


@dataclass(frozen=True, eq=False)
class SubwordMeans:
    """Sums and counts (n_types,) of the log-probabilities of subword types over training translations."""

    types: tuple[str, ...]
    sums: FloatArray
    counts: FloatArray

    @classmethod
    def fit(cls, decoder: DecoderTokens) -> "SubwordMeans":
        ids, size = decoder.subwords.ids, len(decoder.subwords.types)
        sums = np.bincount(ids, weights=decoder.log_probability, minlength=size).astype(np.float64)
        return cls(decoder.subwords.types, sums, np.bincount(ids, minlength=size).astype(np.float64))

    def residuals(self, decoder: DecoderTokens, *, leave_one_out: bool = False) -> FloatArray:
        """Log-probability minus the smoothed mean of the type (n_subwords,), in nats.

        `leave_one_out`: for training translations; each is excluded from its own means.
        """
        sums, counts = self._type_statistics(decoder)
        if leave_one_out:
            subwords = decoder.subwords
            keys = subwords.text_index * max(len(subwords.types), 1) + subwords.ids
            _, inverse = np.unique(keys, return_inverse=True)
            of_text = np.bincount(inverse, weights=decoder.log_probability).astype(np.float64)
            sums = sums - of_text[inverse]
            counts = counts - np.bincount(inverse).astype(np.float64)[inverse]
        expected = np.asarray((sums + PRIOR * self.mean) / (counts + PRIOR), np.float64)
        return decoder.log_probability - expected

    def log_counts(self, decoder: DecoderTokens) -> FloatArray:
        _, counts = self._type_statistics(decoder)
        return np.log1p(counts)

    @cached_property
    def mean(self) -> float:
        total = float(self.counts.sum())
        return float(self.sums.sum()) / total if total else 0.0

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
        """Loads saved means; raises Damaged if there is not one sum and count for each subword."""
        types = (path / "subwords.txt").read_bytes().decode("utf-8").split("\n")[:-1]
        values = np.load(path / "subwords.npy", allow_pickle=False)
        typed("subwords", values, np.float64, 2, len(types))
        finite("subwords", values[0], -_MAX_SUM, _MAX_SUM)
        finite("subwords", values[1], 0, _MAX_SUM)
        return cls(tuple(types), values[0], values[1])
