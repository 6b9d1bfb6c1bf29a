"""Translation edit rate."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.core.ter import BEAM_WIDTH, SHIFT_DISTANCE, SHIFT_SIZE, common_ids, ter_edits
from features.core.tokens import FloatArray, ratio
from qe.mt_metrics._base import TextMetric
from qe.mt_metrics._texts import Texts, Tokenization


@dataclass(frozen=True)
class Ter(TextMetric):
    """Edits (shifts, insertions, deletions, substitutions) per 100 reference words, as tercom 0.8.0.

    statistics   edits to the reference that needs fewest, mean reference length

    NaN where the references are empty.

    Source: Snover et al. 2006; see features/core/ter.py.

    >>> Ter().score(["c a b"], [["a b c"]])  # one shift of three words
    33.3...
    """

    higher_is_better: ClassVar[bool | None] = False
    tokenize: Tokenization = "none"
    lowercase: bool = True
    beam_width: int = BEAM_WIDTH
    shift_distance: int = SHIFT_DISTANCE
    shift_size: int = SHIFT_SIZE
    language: str = "en"

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        tokens = [t.tokens(self.tokenize, self.lowercase, self.language) for t in (hypotheses, *references)]
        left, *right = common_ids(*tokens)
        edits = [
            ter_edits(
                left, tokens[0].offsets, ids, column.offsets,
                beam_width=self.beam_width, shift_distance=self.shift_distance, shift_size=self.shift_size,
            ).edits
            for ids, column in zip(right, tokens[1:], strict=True)
        ]  # fmt: skip
        lengths = np.mean([column.lengths for column in tokens[1:]], axis=0)
        return np.stack([np.min(edits, axis=0), lengths], axis=1).astype(np.float64)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        return 100 * ratio(sums[..., 0], sums[..., 1])
