"""NIST."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from features.edits.ngram_matches import ORDER, information, ngram_counts, nist, segment_counts
from qe.systems.mt_metrics._ngrams import NgramMetric
from qe.systems.texts import Texts


@dataclass(frozen=True)
class Nist(NgramMetric):
    """Mean information of the matched n-grams, summed over orders, times a brevity penalty.

    statistics   information of matched n-grams (order), hypothesis n-grams (order), hypothesis length,
                 mean reference length

    The information of an n-gram is log2(count of its first n - 1 words / its count) in all the references
    given; resampling keeps it fixed. An order without hypothesis n-grams adds 0; empty references give NaN.

    Source: Doddington 2002, equations 2 and 3, as in mteval-v13a.

    >>> round(Nist(order=1).score(["a b"], [["a b b c"]]), 4)  # (log2 4 + log2 2) / 2, penalty at 1/2
    0.1979
    """

    title: ClassVar[str] = "NIST"
    higher_is_better: ClassVar[bool | None] = True
    order: int = ORDER

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        shared = self.shared(hypotheses, references)
        tokens, ids, matched = shared.tokens, shared.ids, shared.matched
        bits = segment_counts(matched * information(ids, tokens, self.order), tokens[0].offsets)
        lengths = np.stack([tokens[0].lengths, np.mean([t.lengths for t in tokens[1:]], axis=0)], axis=1)
        return np.hstack([bits, ngram_counts(tokens[0].lengths, self.order), lengths])

    def aggregate(self, sums: FloatArray) -> FloatArray:
        counts = sums[..., self.order : 2 * self.order]
        return nist(sums[..., : self.order], counts, sums[..., -2], sums[..., -1])
