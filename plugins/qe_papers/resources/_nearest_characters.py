"""Least character Levenshtein distance to a corpus segment, exact, by rapidfuzz. No bound on the distance
helps much: the characters that two sentences of a language share leave the least one far above every
bound. Segments whose length alone puts them further away than the best so far are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from qe_papers.resources._nearest import Ints, Longs


@dataclass(frozen=True, eq=False)
class SpelledSegments:
    """The corpus segments as characters, words joined by blanks.

    texts    shortest first
    lengths  (segments,) characters, ascending
    """

    texts: Sequence[str]
    lengths: Ints

    @classmethod
    def build(cls, words: Sequence[str], ids: Ints, offsets: Longs) -> Self:
        """Segments of the words `ids`; segment k is ids[offsets[k]:offsets[k + 1]]."""
        texts = (" ".join(words[i] for i in ids[start:end].tolist()) for start, end in pairwise(offsets))
        ordered = sorted(texts, key=len)
        return cls(ordered, np.fromiter(map(len, ordered), np.int32, len(ordered)))

    def distance(self, text: str, best: int) -> int:
        """Least of `best` and the distances from the text to all segments. Other threads run meanwhile."""

        first, last = np.searchsorted(self.lengths, [len(text) - best + 1, len(text) + best])
        near = self.texts[first:last]
        distances = cdist([text], near, scorer=Levenshtein.distance, score_cutoff=best, dtype=np.int32)
        return int(distances.min(initial=best))
