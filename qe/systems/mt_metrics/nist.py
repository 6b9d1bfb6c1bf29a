"""NIST."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from features.core.array_types import FloatArray
from features.core.ngram_matches import Ids, ngram_counts, segment_counts
from features.core.tokens import Tokens, ratio
from qe.systems.mt_metrics._ngrams import NgramMetric
from qe.systems.mt_metrics._texts import Texts

_BETA = np.log(0.5) / np.log(1.5) ** 2  # the penalty is 0.5 at 2/3 of the reference length


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

    higher_is_better: ClassVar[bool | None] = True
    order: int = 5

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        shared = self.shared(hypotheses, references)
        tokens, ids, matched = shared.tokens, shared.ids, shared.matched
        information = segment_counts(matched * _information(ids, tokens, self.order), tokens[0].offsets)
        lengths = np.stack([tokens[0].lengths, np.mean([t.lengths for t in tokens[1:]], axis=0)], axis=1)
        return np.hstack([information, ngram_counts(tokens[0].lengths, self.order), lengths])

    def aggregate(self, sums: FloatArray) -> FloatArray:
        information, counts = sums[..., : self.order], sums[..., self.order : 2 * self.order]
        relative = np.minimum(ratio(sums[..., -2], sums[..., -1]), 1)
        with np.errstate(divide="ignore"):  # log 0 is -inf: penalty 0
            penalty = np.exp(_BETA * np.log(relative) ** 2)
        score: FloatArray = penalty * np.nan_to_num(ratio(information, counts)).sum(axis=-1)
        return score


def _information(ids: Sequence[Ids], tokens: Sequence[Tokens], order: int) -> FloatArray:
    """(order, n_tokens) bits of the n-gram that starts at each hypothesis token; 0 where unseen."""
    words = np.concatenate([ids[0], *ids[1:]]).astype(np.int64)
    remaining = np.concatenate([_remaining(column) for column in tokens])
    own = len(ids[0])
    ngram = np.zeros(len(words), np.int64)
    before = np.array([len(words) - own])  # the empty n-gram stands before every reference word
    bits = np.zeros((order, own))
    for n in range(order):
        starts = np.flatnonzero(remaining > n)
        pairs = (ngram[starts] << 32) | words[starts + n]
        _, distinct = np.unique(pairs, return_inverse=True)
        counts = np.bincount(distinct[starts >= own], minlength=distinct.max(initial=-1) + 1)
        mine = starts[starts < own]
        seen = counts[distinct[starts < own]]
        bits[n, mine] = np.where(
            seen > 0, np.log2(np.maximum(before[ngram[mine]], 1) / np.maximum(seen, 1)), 0
        )
        ngram[starts], before = distinct, counts
    return bits


def _remaining(column: Tokens) -> NDArray[np.int64]:
    """(n_tokens,) tokens from each token to the end of its text, itself included."""
    return np.repeat(column.offsets[1:], column.lengths) - np.arange(len(column.ids))
