# mypy: allow-untyped-decorators
"""Translation edit rate: word edits plus block shifts, as tercom counts them."""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.numerals import MAX_WORDS, REMEDY
from features.text.tokens import Tokens, ratio

Ids = NDArray[np.int32]
Offsets = NDArray[np.int64]
Counts = NDArray[np.int64]

BEAM_WIDTH = 20  # tercom's defaults
SHIFT_DISTANCE = 50
SHIFT_SIZE = 10
SHIFT_CANDIDATES = 0  # no limit

_MATCH, _SUBSTITUTION, INSERTION, DELETION = 0, 1, 2, 3  # steps of the edit distance
_UNREACHED = -1
_INFINITE = 1 << 30
_ONE = np.uint64(1)
_TOP = np.uint64(1 << 63)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True, eq=False)
class TerEdits:
    """Edits (n,) from each hypothesis to its reference; insertions are words that the reference lacks."""

    shifts: Counts
    insertions: Counts
    deletions: Counts
    substitutions: Counts
    reference_lengths: Counts

    @property
    def edits(self) -> Counts:
        return self.shifts + self.insertions + self.deletions + self.substitutions

    @property
    def rates(self) -> FloatArray:
        """Edits per reference word (n,) (0.5 is 50 %); NaN for an empty reference."""
        return ratio(self.edits, self.reference_lengths)


def common_ids(*columns: Tokens) -> list[Ids]:
    """Ids of several columns in one vocabulary: equal strings, equal ids, also across columns."""
    index: dict[str, int] = {}
    joined = []
    for column in columns:
        mapping = np.array([index.setdefault(word, len(index)) for word in column.types], np.int32)
        joined.append(mapping[column.ids] if len(mapping) else column.ids)
    return joined


def ter(hypothesis: Tokens, reference: Tokens, **limits: int) -> TerEdits:
    """Edits of n pairs of texts; `limits` as in `ter_edits`. Case counts: lower-case the texts for tercom's
    default.
    """
    left, right = common_ids(hypothesis, reference)
    return ter_edits(left, hypothesis.offsets, right, reference.offsets, **limits)


def ter_edits(
    hypothesis: Ids,
    hypothesis_offsets: Offsets,
    reference: Ids,
    reference_offsets: Offsets,
    *,
    beam_width: int = BEAM_WIDTH,
    shift_distance: int = SHIFT_DISTANCE,
    shift_size: int = SHIFT_SIZE,
    shift_candidates: int = SHIFT_CANDIDATES,
) -> TerEdits:
    """Edits of n pairs of texts, given as ids of one vocabulary (`common_ids`) with (n + 1,) offsets.

    The greedy search of tercom 0.8.0: repeat the shift that lowers the edit distance most (longest first,
    then leftmost, then by target in the reference) while it lowers it by at least the shift's cost, 1. The
    edit distance keeps, in each column, the cells within `beam_width` of the best diagonal step.
    `shift_candidates` limits the shifts considered, counted as sacreBLEU counts them (there 1,000); 0: no
    limit, as tercom.

    Raises ValueError if the two sides have different numbers of texts, InputError for texts longer than
    `features.basics.numerals` allows. Source: Snover et al. 2006, "A Study of Translation Edit Rate with
    Targeted Human Annotation".
    """
    if len(hypothesis_offsets) != len(reference_offsets):
        raise ValueError(
            f"one reference per hypothesis must hold, but got {len(hypothesis_offsets) - 1} hypotheses "
            f"and {len(reference_offsets) - 1} references"
        )
    words = np.maximum(np.diff(hypothesis_offsets), np.diff(reference_offsets))
    if (words > MAX_WORDS).any():
        number = int((words > MAX_WORDS).argmax())
        raise InputError(
            f"{words[number]:,} words, but the edit rate takes texts of at most {MAX_WORDS:,}",
            location=f"segment {number + 1}",
            remedy=REMEDY,
        )
    counts = np.zeros((len(hypothesis_offsets) - 1, 4), np.int64)
    _score_batch(
        np.ascontiguousarray(hypothesis, np.int32),
        np.ascontiguousarray(hypothesis_offsets, np.int64),
        np.ascontiguousarray(reference, np.int32),
        np.ascontiguousarray(reference_offsets, np.int64),
        np.array([beam_width, shift_distance, shift_size, shift_candidates], np.int64),
        counts,
    )
    return TerEdits(counts[:, 0], counts[:, 1], counts[:, 2], counts[:, 3], np.diff(reference_offsets))


# The kernels below: `hyp` is the hypothesis in its current order, `ref` the reference.


@numba.njit(cache=True, nogil=True)
def _score_batch(hyp: Any, hyp_offsets: Any, ref: Any, ref_offsets: Any, limits: Any, counts: Any) -> None:
    for k in range(len(counts)):
        left = hyp[hyp_offsets[k] : hyp_offsets[k + 1]]
        right = ref[ref_offsets[k] : ref_offsets[k + 1]]
        if len(left) == 0 or len(right) == 0:
            counts[k, 1], counts[k, 2] = len(left), len(right)
            continue
        shifts, _, back = shifted(left, right, limits)
        counts[k, 0] = shifts
        i, j = back.shape[0] - 1, back.shape[1] - 1
        while i > 0 or j > 0:
            operation = back[i, j]
            if operation == INSERTION:
                counts[k, 1] += 1
            elif operation == DELETION:
                counts[k, 2] += 1
            elif operation == _SUBSTITUTION:
                counts[k, 3] += 1
            i -= operation != INSERTION
            j -= operation != DELETION


@numba.njit(cache=True, nogil=True)
def shifted(original: Any, ref: Any, limits: Any) -> Any:
    """The greedy search: (shifts made, order (H,) of the words, path `back` (R + 1, H + 1))."""
    hyp, best = original.copy(), original.copy()
    # order[p]: which original word is at p; its row of `masks` marks the equal reference words.
    order, best_order = np.arange(len(hyp)), np.arange(len(hyp))
    masks = _equality_masks(hyp, ref)
    back = np.empty((len(ref) + 1, len(hyp) + 1), np.uint8)
    edits = _beam_distance(hyp, ref, limits[0], back)
    shifts, looked_at = 0, 0
    while edits > 0 and limits[1] > 0 and limits[2] > 0:
        shifted_edits = _best_shift(hyp, ref, order, masks, back, edits, limits, best, best_order)
        if shifted_edits < 0:
            break
        if limits[3] > 0:
            looked_at += _candidates(hyp, ref, back, limits)
            if looked_at >= limits[3]:
                break
        for i in range(len(hyp)):
            hyp[i], order[i] = best[i], best_order[i]
        edits = _beam_distance(hyp, ref, limits[0], back)
        shifts += 1
    return shifts, order, back


@numba.njit(cache=True, nogil=True)
def _beam_distance(hyp: Any, ref: Any, beam: int, back: Any) -> int:
    rows, columns = len(ref), len(hyp)
    now, after = np.full(rows + 1, _UNREACHED), np.full(rows + 1, _UNREACHED)
    now[0] = 0
    first, last, best = 0, 0, _INFINITE
    for j in range(columns + 1):
        limit = best + beam if j < columns else _INFINITE
        best, next_first, next_last = _INFINITE, -1, -1
        after[:] = _UNREACHED
        i = first
        while i <= rows and i <= last:
            cost = now[i]
            if cost != _UNREACHED and cost <= limit:
                next_first = i if next_first < 0 else next_first
                next_last = i + 1
                if j < columns:
                    if i < rows:
                        wrong = 1 if ref[i] != hyp[j] else 0
                        after[i + 1] = cost + wrong
                        back[i + 1, j + 1] = _SUBSTITUTION if wrong else _MATCH
                        best = min(best, cost + wrong)
                    if after[i] == _UNREACHED or after[i] > cost + 1:
                        after[i] = cost + 1
                        back[i, j + 1] = INSERTION
                if i < rows and (now[i + 1] == _UNREACHED or now[i + 1] > cost + 1):
                    now[i + 1] = cost + 1
                    back[i + 1, j] = DELETION
                    last = max(last, i + 1)
            i += 1
        first, last = next_first, next_last
        now, after = after, now
    return int(after[rows])


@numba.njit(cache=True, nogil=True)
def _align(back: Any, aligned: Any, hyp_errors: Any, ref_errors: Any) -> None:
    i, j = back.shape[0] - 1, back.shape[1] - 1
    hyp_errors[:], ref_errors[:] = 0, 0
    while i > 0 or j > 0:
        operation = back[i, j]
        if operation != INSERTION:
            aligned[i - 1] = j - 1
            ref_errors[i] = operation != _MATCH
            i -= 1
        if operation != DELETION:
            hyp_errors[j] = operation != _MATCH
            j -= 1
    for p in range(1, len(hyp_errors)):
        hyp_errors[p] += hyp_errors[p - 1]
    for p in range(1, len(ref_errors)):
        ref_errors[p] += ref_errors[p - 1]


@numba.njit(cache=True, nogil=True)
def _common_runs(hyp: Any, ref: Any, size: int) -> Any:
    run = np.zeros((len(hyp) + 1, len(ref) + 1), np.int64)
    runs = 0
    for p in range(len(hyp) - 1, -1, -1):
        for r in range(len(ref) - 1, -1, -1):
            if hyp[p] == ref[r]:
                run[p, r] = min(run[p + 1, r + 1] + 1, size)
                runs += 1
    rows = np.empty((runs, 3), np.int64)
    k = 0
    for p in range(len(hyp)):
        for r in range(len(ref)):
            if run[p, r] > 0:
                rows[k, 0], rows[k, 1], rows[k, 2] = p, r, run[p, r]
                k += 1
    return rows


@numba.njit(cache=True, nogil=True)
def _best_shift(
    hyp: Any, ref: Any, order: Any, masks: Any, back: Any, edits: int, limits: Any, best: Any, best_order: Any
) -> int:
    aligned = np.empty(len(ref), np.int64)
    hyp_errors, ref_errors = np.empty(len(hyp) + 1, np.int64), np.empty(len(ref) + 1, np.int64)
    _align(back, aligned, hyp_errors, ref_errors)
    runs = _common_runs(hyp, ref, limits[2])
    longest = runs[:, 2].max() if len(runs) else 0
    columns = _distance_columns(order, masks, len(ref))
    trial, scratch, trial_order = hyp.copy(), np.empty_like(back), order.copy()
    lowest, target = -1, edits - 1
    for length in range(longest, 0, -1):
        for k in range(len(runs)):
            start, goal = runs[k, 0], runs[k, 1]
            end, there = start + length, aligned[goal]
            if runs[k, 2] < length or start <= there < end or abs(there - start) > limits[1]:
                continue
            if hyp_errors[end] == hyp_errors[start] or ref_errors[goal + length] == ref_errors[goal]:
                continue
            for offset in range(-1, length):
                # `length` moved words are taken to mend 2 * length edits at most.
                if lowest >= 0 and edits - lowest - 1 >= 2 * length:
                    return lowest
                place = aligned[goal + offset] if goal + offset >= 0 else -1
                if goal + offset >= 0 and (place == start or (offset != 0 and place == there)):
                    continue
                changed = _shift(order, start, length, place, trial_order)
                if _bit_parallel(trial_order, masks, len(ref), columns, changed, target) > target:
                    continue
                _shift(hyp, start, length, place, trial)
                cost = _beam_distance(trial, ref, limits[0], scratch)
                if cost <= target:
                    lowest, target = cost, cost - 1
                    for i in range(len(hyp)):
                        best[i], best_order[i] = trial[i], trial_order[i]
    return lowest


@numba.njit(cache=True, nogil=True)
def _candidates(hyp: Any, ref: Any, back: Any, limits: Any) -> int:
    aligned = np.empty(len(ref), np.int64)
    hyp_errors, ref_errors = np.empty(len(hyp) + 1, np.int64), np.empty(len(ref) + 1, np.int64)
    _align(back, aligned, hyp_errors, ref_errors)
    runs, count = _common_runs(hyp, ref, limits[2]), 0
    for k in range(len(runs)):
        start, goal = runs[k, 0], runs[k, 1]
        if abs(goal - start) > limits[1]:
            continue
        for length in range(1, runs[k, 2] + 1):
            end = start + length
            if start <= aligned[goal] < end:
                continue
            if hyp_errors[end] == hyp_errors[start] or ref_errors[goal + length] == ref_errors[goal]:
                continue
            before = -1
            for offset in range(-1, length):
                place = aligned[goal + offset] + 1 if goal + offset >= 0 else 0
                count += place != before
                before = place
    return count


@numba.njit(cache=True, nogil=True)
def _shift(words: Any, start: int, length: int, place: int, shifted: Any) -> int:
    end = start + length
    if place < start:
        low, middle, high = place + 1, start, end
    elif place >= end:
        low, middle, high = start, end, place + 1
    else:
        low, middle, high = start, end, min(end + place - start, len(words))
    for i in range(len(words)):
        shifted[i] = words[i]
    for i in range(high - middle):
        shifted[low + i] = words[middle + i]
    for i in range(middle - low):
        shifted[low + high - middle + i] = words[low + i]
    return int(low)


# Edit distance without a beam, 64 reference words at a time: Myers 1999 in the form of Hyyrö 2003. A column
# (one hypothesis word) is held as bits: which cells are one more, which one less, than the cell above.


@numba.njit(cache=True, nogil=True)
def _equality_masks(hyp: Any, ref: Any) -> Any:
    masks = np.zeros((len(hyp), (len(ref) + 63) // 64), np.uint64)
    for p in range(len(hyp)):
        for i in range(len(ref)):
            if hyp[p] == ref[i]:
                masks[p, i >> 6] |= _ONE << np.uint64(i & 63)
    return masks


@numba.njit(cache=True, nogil=True)
def _next_column(above: Any, below: Any, equal: Any, last_bit: Any) -> int:
    carry = 1  # the top row counts insertions: always one more
    for b in range(len(equal)):
        eq, up, down = equal[b], above[b], below[b]
        vertical = eq | down
        if carry < 0:
            eq |= _ONE
        horizontal = (((eq & up) + up) ^ up) | eq
        plus, minus = down | ~(horizontal | up), up & horizontal
        bit = last_bit if b == len(equal) - 1 else _TOP
        shifted = 1 if plus & bit else (-1 if minus & bit else 0)
        plus, minus = plus << _ONE, minus << _ONE
        if carry > 0:
            plus |= _ONE
        elif carry < 0:
            minus |= _ONE
        above[b], below[b] = minus | ~(vertical | plus), plus & vertical
        carry = shifted
    return carry


@numba.njit(cache=True, nogil=True)
def _distance_columns(order: Any, masks: Any, rows: int) -> Any:
    blocks = masks.shape[1]
    bits, bottom = np.zeros((len(order) + 1, 2, blocks), np.uint64), np.empty(len(order) + 1, np.int64)
    bits[0, 0, :], bottom[0] = _ALL, rows
    last_bit = _ONE << np.uint64((rows - 1) & 63)
    for j in range(len(order)):
        for side in range(2):
            for block in range(blocks):
                bits[j + 1, side, block] = bits[j, side, block]
        bottom[j + 1] = bottom[j] + _next_column(bits[j + 1, 0], bits[j + 1, 1], masks[order[j]], last_bit)
    return bits, bottom


@numba.njit(cache=True, nogil=True)
def _bit_parallel(order: Any, masks: Any, rows: int, columns: Any, changed: int, target: int) -> int:
    bits, bottom = columns
    above, below = bits[changed, 0].copy(), bits[changed, 1].copy()
    cost = bottom[changed]
    last_bit = _ONE << np.uint64((rows - 1) & 63)
    for j in range(changed, len(order)):
        cost += _next_column(above, below, masks[order[j]], last_bit)
        if cost - (len(order) - 1 - j) > target:
            return _INFINITE
    return int(cost)
