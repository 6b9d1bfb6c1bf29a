"""OK / BAD labels of target tokens and gaps, by edits to the post-edit, or given as tags."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.segments import Segments
from features.edits.ter import common_ids
from features.text.tokens import Tokens, ratio, segment_sum
from features.word_level.columns import Longs

Flags = NDArray[np.bool_]
Bad = Flags | NDArray[np.float64]  # whether places are BAD, or how probably

PROBABILITIES = "word_probabilities"  # the label column of what a teacher says of the places of `word_tags`


@dataclass(frozen=True, eq=False)
class TokenLabels:
    """BAD words (n_tokens,) and gaps (n_tokens + n,): gap k is before token k, the last after all tokens."""

    words: Flags
    gaps: Flags


@dataclass(frozen=True, eq=False)
class TokenProbabilities:
    """P(BAD) of the same places by another model."""

    words: NDArray[np.float64]
    gaps: NDArray[np.float64]


def gap_offsets(offsets: Longs) -> Longs:
    return np.asarray(offsets + np.arange(len(offsets)), np.int64)


def error_rate(labels: TokenLabels | TokenProbabilities, offsets: Longs) -> FloatArray:
    """BAD words and gaps per word (n,), or their expectation: near HTER without shifts; NaN without words."""
    bad = segment_sum(labels.words, offsets) + segment_sum(labels.gaps, gap_offsets(offsets))
    return ratio(bad, np.diff(offsets))


def post_edit_labels(target: Tokens, post_edit: Tokens) -> TokenLabels:
    """BAD words were replaced or deleted, BAD gaps had words inserted, in a cheapest edit (no shifts)."""
    left_ids, right = common_ids(target, post_edit)
    words = np.ones(len(left_ids), np.bool_)
    gaps = np.zeros(len(left_ids) + len(target), np.bool_)
    _label(left_ids, target.offsets, right, post_edit.offsets, words, gaps)
    return TokenLabels(words, gaps)


def inserted_per_gap(target: Tokens, post_edit: Tokens) -> float:
    """Mean number of post-edit words inserted in a BAD gap (`post_edit_labels`); 1.0 without BAD gaps.

    >>> inserted_per_gap(Tokens.from_lists([["a"], ["b"]]), Tokens.from_lists([["a", "x", "y"], ["z", "b"]]))
    1.5
    """
    left_ids, right = common_ids(target, post_edit)
    inserted = _inserted(left_ids, target.offsets, right, post_edit.offsets)
    gaps = post_edit_labels(target, post_edit).gaps.sum()
    return float(inserted / gaps) if gaps else 1.0


def tag_labels(tags: Sequence[str], target: Tokens) -> TokenLabels:
    """From `OK` / `BAD` for gap, word, gap, ..., word, gap: 2 n + 1 tags for n tokens (MLQE-PE).

    Raises InputError, with the number of the segment, for another number of tags or other tags.
    """
    rows = [
        _bad_tags(line, length, 2 * length + 1, f"word_tags, segment {i}", "target", "labels: post_edit")
        for i, (line, length) in enumerate(zip(tags, target.lengths.tolist(), strict=True), start=1)
    ]
    words, gaps = (np.concatenate([np.empty(0, bool), *(row[k::2] for row in rows)]) for k in (1, 0))
    return TokenLabels(words, gaps)


def source_tag_labels(tags: Sequence[str], lengths: NDArray[np.int64]) -> Flags:
    """Labels (n_source_tokens,) from one `OK` or `BAD` per source token (MLQE-PE); raises InputError."""
    rows = [
        _bad_tags(line, length, length, f"source_tags, segment {i}", "source", "other labels")
        for i, (line, length) in enumerate(zip(tags, lengths.tolist(), strict=True), start=1)
    ]
    return np.concatenate([np.empty(0, bool), *rows])


def _bad_tags(line: str, length: int, expected: int, location: str, side: str, instead: str) -> Flags:
    tags = line.split()
    if len(tags) != expected:
        raise InputError(
            f"expected {expected} tags for {length} {side} tokens, but found {len(tags)}",
            location=location,
            remedy=f"set the tokenizer that the tags were made with, or {instead}",
        )
    unknown = set(tags) - {"OK", "BAD"}
    if unknown:
        raise InputError(f"tags are OK or BAD, but found {min(unknown)!r}", location=location)
    return np.array([tag == "BAD" for tag in tags], np.bool_)


def target_labels(
    kind: str, labels: Mapping[str, Any], segments: Segments
) -> TokenLabels | TokenProbabilities:
    """Labels of the target's words and gaps by `word_tags`, or else by `post_edit`."""
    target = segments.target_tokens
    if kind != "word_tags":
        post_edit = segments.target_tokenizer.tokens(labels["post_edit"])
        return post_edit_labels(target.lower(), post_edit.lower())
    if PROBABILITIES in labels:
        return tag_probabilities(labels[PROBABILITIES], target)
    return tag_labels(labels["word_tags"], target)


def tag_probabilities(lines: Sequence[str], target: Tokens) -> TokenProbabilities:
    """From P(BAD) of gap, word, ..., gap: 2 n + 1 numbers for n tokens; raises InputError for others."""
    words, gaps = [np.empty(0)], [np.empty(0)]
    for i, (line, length) in enumerate(zip(lines, target.lengths.tolist(), strict=True), start=1):
        location = f"{PROBABILITIES}, segment {i}"
        try:
            values = np.array(line.split(), np.float64)
        except ValueError:
            raise InputError("probabilities are numbers between 0 and 1", location=location) from None
        if len(values) != 2 * length + 1:
            what = f"expected {2 * length + 1} probabilities for {length} target tokens"
            raise InputError(f"{what}, but found {len(values)}", location=location)
        if not ((values >= 0) & (values <= 1)).all():
            raise InputError("probabilities are numbers between 0 and 1", location=location)
        gaps.append(values[::2])
        words.append(values[1::2])
    return TokenProbabilities(np.concatenate(words), np.concatenate(gaps))


@numba.njit(cache=True, nogil=True)
def edit_costs(left_ids: Any, right: Any) -> Any:
    """(l + 1, m + 1) Levenshtein distances of the beginnings of two sequences."""
    costs = np.empty((len(left_ids) + 1, len(right) + 1), np.int32)
    for j in range(len(right) + 1):
        costs[0, j] = j
    for i in range(1, len(left_ids) + 1):
        costs[i, 0] = i
        for j in range(1, len(right) + 1):
            replaced = costs[i - 1, j - 1] + (left_ids[i - 1] != right[j - 1])
            costs[i, j] = min(replaced, costs[i - 1, j] + 1, costs[i, j - 1] + 1)
    return costs


@numba.njit(cache=True, nogil=True)
def trace(left_ids: Any, right: Any, costs: Any, partner: Any) -> None:
    """partner[i]: the right side's word for word i (equal or not), or -1 if deleted."""
    i, j = len(left_ids), len(right)
    partner[:] = -1
    while i > 0:
        if j > 0 and costs[i, j] == costs[i - 1, j - 1] + (left_ids[i - 1] != right[j - 1]):
            i, j = i - 1, j - 1
            partner[i] = j
        elif costs[i, j] == costs[i - 1, j] + 1:
            i -= 1
        else:
            j -= 1


@numba.njit(cache=True, nogil=True)
def _inserted(left_ids: Any, left_offsets: Any, right: Any, right_offsets: Any) -> int:
    count = len(right)
    for k in range(len(left_offsets) - 1):
        left_words = left_ids[left_offsets[k] : left_offsets[k + 1]]
        right_words = right[right_offsets[k] : right_offsets[k + 1]]
        partner = np.empty(len(left_words), np.int64)
        trace(left_words, right_words, edit_costs(left_words, right_words), partner)
        count -= (partner >= 0).sum()
    return count


@numba.njit(cache=True, nogil=True)
def _label(left_ids: Any, left_offsets: Any, right: Any, right_offsets: Any, words: Any, gaps: Any) -> None:
    for k in range(len(left_offsets) - 1):
        start, end = left_offsets[k], left_offsets[k + 1]
        left_words, right_words = left_ids[start:end], right[right_offsets[k] : right_offsets[k + 1]]
        partner = np.empty(len(left_words), np.int64)
        trace(left_words, right_words, edit_costs(left_words, right_words), partner)
        done, gap = 0, 0  # words of the other side accounted for; the gap that an insertion falls into
        for i in range(len(left_words)):
            if partner[i] >= 0:
                words[start + i] = left_words[i] != right_words[partner[i]]
                if partner[i] > done:
                    gaps[start + k + gap] = True
                done, gap = partner[i] + 1, i + 1
        if done < len(right_words):
            gaps[start + k + gap] = True
