"""NIST: the information of the n-grams that a translation shares with its references."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.edits.ngram_matches import Ids
from features.text.tokens import Tokens, ratio

ORDER: Final = 5
_BETA: Final = np.log(0.5) / np.log(1.5) ** 2  # the penalty is 0.5 at 2/3 of the reference length


def nist(
    information: FloatArray, ngrams: NDArray[np.generic], hypothesis: FloatArray, reference: FloatArray
) -> FloatArray:
    """(...) NIST score: mean information of matched n-grams, summed over orders. It is multiplied by a
    brevity penalty.

    information            (..., order) bits of the matched n-grams
    ngrams                 (..., order) n-grams of the hypothesis; an order without any adds 0
    hypothesis, reference  (...) lengths; NaN where both are 0

    Source: Doddington 2002, equation 3, as in mteval-v13a.
    """
    relative = np.minimum(ratio(hypothesis, reference), 1)
    with np.errstate(divide="ignore"):  # log 0 is -inf: penalty 0
        penalty = np.exp(_BETA * np.log(relative) ** 2)
    score: FloatArray = penalty * np.nan_to_num(ratio(information, ngrams)).sum(axis=-1)
    return score


def information(ids: Sequence[Ids], tokens: Sequence[Tokens], order: int) -> FloatArray:
    """(order, n_tokens) bits of the n-gram from each token of the first text; 0 if unseen. They are
    log2(count of the first n - 1 words / count of the n-gram) in all other texts (Doddington 2002, equation
    2). `ids` are of one vocabulary.
    """
    words = np.concatenate([ids[0], *ids[1:]]).astype(np.int64)
    remaining = np.concatenate([remaining_lengths(column) for column in tokens])
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


def remaining_lengths(column: Tokens) -> NDArray[np.int64]:
    """(n_tokens,) tokens from each token to the end of its text, itself included."""
    return np.repeat(column.offsets[1:], column.lengths) - np.arange(len(column.ids))
