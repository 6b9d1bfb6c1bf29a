"""Share of a segment's skip-grams (n-grams with gaps) that occur in the corpus."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Share
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.text.tokens import Tokens, ratio, segment_sum
from qe_papers.resources.ngram_documents import NgramDocuments, Padded


@dataclass(frozen=True)
class SkipGrams(Extractor):
    """Multi-level matching of skip-grams against the corpus, on both sides (TCD at WMT12, section 2.1.2).

    patterns     1 for a kept word, 0 for a skipped one: `101` keeps the first and the third word of three.
                 Without a 0, n-grams and skip-grams are combined.
    boundaries   with and without boundary marks at the ends of the segment

    A column is the mean over the segment's skip-grams of one pattern: 1 if the corpus has it, else `penalty`
    times the same mean of the skip-grams with one word less (`111`: `11` twice and `101`). It is NaN for a
    segment shorter than the pattern. `similarity` covers n-grams, which back off to two.

    Case and punctuation are those of the resources, as for `similarity`.

    Raises InputError for a pattern that does not begin and end with 1, or is longer than the resource's
    n-grams.
    """

    plain: ClassVar[str] = "how much of the {text} is like known texts"

    source_ngram_documents: NgramDocuments
    target_ngram_documents: NgramDocuments
    patterns: Sequence[str] = ("101", "1001", "1011", "1101", "111", "1111")
    boundaries: Sequence[bool] = (False, True)
    penalty: Share = 0.5

    def __post_init__(self) -> None:
        for pattern in self.patterns:
            if not pattern or {pattern[0], pattern[-1]} != {"1"} or set(pattern) - {"0", "1"}:
                raise InputError(
                    f"{pattern!r} is no pattern of skip-grams",
                    remedy="words kept are 1, words left out 0, the first and the last are kept: '101'",
                )
            self.source_ngram_documents.check(len(pattern))
            self.target_ngram_documents.check(len(pattern))

    @property
    def _sides(self) -> tuple[tuple[str, NgramDocuments], tuple[str, NgramDocuments]]:
        return ("source", self.source_ngram_documents), ("target", self.target_ngram_documents)

    @property
    def _marks(self) -> list[str]:
        return ["boundary" if boundaries else "" for boundaries in self.boundaries]

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(
                "_".join(filter(None, ("skip_grams", side, documents.variant, pattern, mark))),
                f"{side}: skip-grams {pattern} (1 kept, 0 left out) found in the corpus, shorter ones in "
                f"their place{', with boundary marks' if mark else ''}; NaN where the segment has none",
                "Trinity College Dublin at WMT12, section 2.1.2",
                "share",
            )
            for side, documents in self._sides
            for pattern, mark in product(self.patterns, self._marks)
        ]

    def extract(self, segments: Segments) -> FloatArray:
        columns: list[FloatArray] = []
        for side, documents in self._sides:
            tokens: Tokens = segments.source_tokens if side == "source" else segments.target_tokens
            padded = documents.look_up(tokens)
            values: dict[str, FloatArray] = {}
            for pattern, marks in product(self.patterns, self.boundaries):
                self._add(values, pattern, documents, padded)
                columns.append(_mean(values[pattern], padded, len(pattern), marks))
        return np.column_stack(columns)

    def _add(
        self, values: dict[str, FloatArray], pattern: str, documents: NgramDocuments, padded: Padded
    ) -> None:
        if pattern in values:
            return
        lower: FloatArray = np.zeros(len(padded.ids))
        parts = _parts(pattern)
        for part, later in parts:
            self._add(values, part, documents, padded)
            lower += np.concatenate((np.zeros(later), values[part]))[: len(lower)] / len(parts)
        occurrences = _matches(pattern, documents, padded)
        values[pattern] = np.where(occurrences, 1.0, self.penalty * lower)


def _parts(pattern: str) -> list[tuple[str, int]]:
    kept = [place for place, mark in enumerate(pattern) if mark == "1"]
    parts = []
    for left_out in kept if len(kept) > 1 else ():
        rest = pattern[:left_out] + "0" + pattern[left_out + 1 :]
        parts.append((rest.strip("0"), len(rest) - len(rest.rstrip("0"))))
    return parts


def _matches(pattern: str, documents: NgramDocuments, padded: Padded) -> NDArray[np.bool_]:
    if "0" in pattern:
        return documents.skip_grams(pattern).occurrences(padded.ids)
    return padded.nodes[len(pattern) - 1] >= 0


def _mean(values: FloatArray, padded: Padded, order: int, boundaries: bool) -> FloatArray:
    there = padded.ends(order, boundaries)
    total = segment_sum(np.where(there, values, 0.0), padded.offsets)
    return ratio(total, segment_sum(there.astype(np.float64), padded.offsets))
