# mypy: allow-untyped-decorators
"""N-grams that hypotheses share with their references, over integer ids."""

from collections.abc import Sequence
from typing import Any, Final

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.text.tokens import Tokens, ratio

Ids = NDArray[np.int32]
Offsets = NDArray[np.int64]


def matched_ngrams(
    hypothesis: tuple[Ids, Offsets], references: Sequence[tuple[Ids, Offsets]], order: int
) -> NDArray[np.uint8]:
    """1 (order, n_tokens) if the n-gram that starts at a hypothesis token is credited.

    An n-gram is credited as often as the reference that has it most often has it (clipping: Papineni et al.
    2002, section 2.1); its first occurrences get the credit. All ids are of one vocabulary.
    """
    ids = np.concatenate([column for column, _ in references])
    bases = np.cumsum([0, *(len(column) for column, _ in references)])
    offsets = np.array([o + base for (_, o), base in zip(references, bases, strict=False)], np.int64)
    matched = np.zeros((order, len(hypothesis[0])), np.uint8)
    _match_batch(np.ascontiguousarray(hypothesis[0]), hypothesis[1], ids, offsets, matched)
    return matched


def ngram_counts(lengths: NDArray[np.int64], order: int) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = np.maximum(lengths[:, None] - np.arange(order), 0)
    return counts


def segment_counts(matched: NDArray[np.generic], offsets: Offsets) -> NDArray[np.float64]:
    """Sums (n, order) over each text of values (order, n_tokens)."""
    counts = np.empty((len(offsets) - 1, len(matched)))
    for n, row in enumerate(matched):  # one order at a time: a corpus has many tokens
        cumulative = np.zeros(len(row) + 1, np.float64 if row.dtype.kind == "f" else np.int32)
        np.cumsum(row, out=cumulative[1:])
        counts[:, n] = np.diff(cumulative[offsets])
    return counts


@numba.njit(cache=True, nogil=True)
def _match_batch(hyp: Any, hyp_offsets: Any, ref: Any, ref_offsets: Any, matched: Any) -> None:
    totals = hyp_offsets[1:] - hyp_offsets[:-1]
    for r in range(len(ref_offsets)):
        totals = totals + ref_offsets[r, 1:] - ref_offsets[r, :-1]
    longest = totals.max() if len(totals) else 0
    keys, numbers = np.empty(_slots(longest), np.int64), np.empty(_slots(longest), np.int64)
    room = np.zeros((4, longest), np.int64)
    for k in range(len(totals)):
        low, high, size = hyp_offsets[k], hyp_offsets[k + 1], _slots(totals[k])
        spans, found_matches = ref_offsets[:, k : k + 2], matched[:, low:high]
        _match_segment(hyp[low:high], ref, spans, keys[:size], numbers[:size], room, found_matches)


@numba.njit(cache=True, nogil=True)
def _slots(total: int) -> int:
    size = 16
    while size < 2 * total:
        size *= 2
    return size


@numba.njit(cache=True, nogil=True)
def _match_segment(hyp: Any, ref: Any, spans: Any, keys: Any, numbers: Any, room: Any, matched: Any) -> None:
    hyp_ids, ref_ids, allowed, counts = room[0], room[1], room[2], room[3]
    hyp_ids[: len(hyp)] = 0
    ref_ids[: (spans[:, 1] - spans[:, 0]).sum()] = 0
    for n in range(len(matched)):
        keys[:] = -1
        distinct, base = 0, 0
        for r in range(len(spans)):
            text = ref[spans[r, 0] : spans[r, 1]]
            ids, before = ref_ids[base : base + len(text)], distinct
            distinct = _number(text, n, ids, keys, numbers, distinct)
            allowed[before:distinct] = 0
            found = ids[: max(len(text) - n, 0)]
            for i in range(len(found)):
                counts[found[i]] += 1
            for i in range(len(found)):
                allowed[found[i]] = max(allowed[found[i]], counts[found[i]])
                counts[found[i]] = 0
            base += len(text)
        for i in range(len(hyp) - n):
            if hyp_ids[i] >= 0:
                key = (hyp_ids[i] << 32) | hyp[i + n]
                slot = _slot(key, keys)
                hyp_ids[i] = numbers[slot] if keys[slot] == key else -1
            if hyp_ids[i] >= 0 and allowed[hyp_ids[i]] > 0:
                allowed[hyp_ids[i]] -= 1
                matched[n, i] = 1


@numba.njit(cache=True, nogil=True)
def _slot(key: Any, keys: Any) -> Any:
    mask = len(keys) - 1
    slot = ((key * 0x9E3779B97F4A7C1) >> 20) & mask
    while keys[slot] != key and keys[slot] != -1:
        slot = (slot + 1) & mask
    return slot


@numba.njit(cache=True, nogil=True)
def _number(text: Any, n: int, ids: Any, keys: Any, numbers: Any, distinct: int) -> int:
    for i in range(len(text) - n):
        key = (ids[i] << 32) | text[i + n]
        slot = _slot(key, keys)
        if keys[slot] == -1:
            keys[slot], numbers[slot] = key, distinct
            distinct += 1
        ids[i] = numbers[slot]
    return distinct


ORDER: Final = 5
_BETA: Final = np.log(0.5) / np.log(1.5) ** 2  # the penalty is 0.5 at 2/3 of the reference length


def nist(
    information: FloatArray, ngrams: NDArray[np.generic], hypothesis: FloatArray, reference: FloatArray
) -> FloatArray:
    """NIST score (...): mean information of matched n-grams, summed over orders, times a brevity penalty.

    information            (..., order) bits of the matched n-grams
    ngrams                 (..., order) n-grams of the hypothesis; an order without any adds 0
    hypothesis, reference  (...) lengths; NaN if both are 0

    Source: Doddington 2002, equation 3, as in mteval-v13a.
    """
    relative = np.minimum(ratio(hypothesis, reference), 1)
    with np.errstate(divide="ignore"):  # log 0 is -inf: penalty 0
        penalty = np.exp(_BETA * np.log(relative) ** 2)
    score: FloatArray = penalty * np.nan_to_num(ratio(information, ngrams)).sum(axis=-1)
    return score


def information(ids: Sequence[Ids], tokens: Sequence[Tokens], order: int) -> FloatArray:
    """Bits (order, n_tokens) of the n-gram from each token of the first text; 0 if unseen.

    They are log2(count of the first n - 1 words / count of the n-gram) in all other texts (Doddington 2002,
    equation 2). `ids` are of one vocabulary.
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
    """Tokens (n_tokens,) from each token to the end of its text, itself included."""
    return np.repeat(column.offsets[1:], column.lengths) - np.arange(len(column.ids))
