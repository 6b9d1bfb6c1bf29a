"""Forced segmentation: derivation of a given translation with a phrase table, and its cost."""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from features.basics.array_types import FloatArray
from features.resources.phrase_table import PhraseTable
from features.text.tokens import Tokens

# Sums of a partial derivation; the first four, in order of priority, decide which of two is better:
# lower is better.
_FIELDS = (
    "uncovered", "cost", "phrases", "unused", "phrase_log", "lexical_log", "backward_log",
    "backward_lexical_log", "distortion",
)  # fmt: skip
_COMPARED = 4


@dataclass(frozen=True, eq=False)
class Forced:
    """The best derivation of each translation; all fields (n,).

    phrases      number of phrase pairs
    uncovered    target tokens without a pair
    unused       source tokens without a pair
    phrase_log   sum over its pairs of log p(target | source) + log p(source | target), natural logarithms
    lexical_log  sum over its pairs of both lexical weights, natural logarithms
    backward_log, backward_lexical_log  the parts of both for the source given the target
    distortion   sum of source tokens between the end of a pair and the start of the next one in the
                 translation, or the sentence's end
    """

    phrases: FloatArray
    uncovered: FloatArray
    unused: FloatArray
    phrase_log: FloatArray
    lexical_log: FloatArray
    backward_log: FloatArray
    backward_lexical_log: FloatArray
    distortion: FloatArray


def force(source: Tokens, target: Tokens, table: PhraseTable) -> Forced:
    """Derives each target text from its source with phrase pairs, left to right on both sides.

    A token belongs to at most one pair of the derivation; two pairs that are adjacent on both sides may swap,
    as in the decoder. The derivation with the fewest uncovered target tokens wins; ties go to the largest sum
    of the logarithms of its pairs' four scores, then to the fewest pairs, then to the fewest unused source
    tokens. Uncovered tokens are counted, but have no probability.

    Source: forced decoding as in Wuebker et al. 2010, section 4, with gaps instead of failure; model of
    Koehn et al. 2003, section 2.
    """
    result = np.zeros((len(source), len(_FIELDS)))
    arrays = (
        table.offsets, table.target, table.forward, table.backward, table.forward_weight,
        table.backward_weight,
    )  # fmt: skip
    phrases = table.phrases(target, "target")
    _force(table.phrases(source, "source"), source.offsets, phrases, target.offsets, arrays, result)
    return Forced(**{name: result[:, k] for k, name in enumerate(_FIELDS) if name != "cost"})


@numba.njit(cache=True, nogil=True)
def _force(
    rows: Any, source_offsets: Any, phrases: Any, target_offsets: Any, table: Any, result: Any
) -> None:
    entries, columns, forward, backward, forward_weight, backward_weight = table
    for k in range(len(result)):
        source_ids = rows[source_offsets[k] : source_offsets[k + 1]]
        right = phrases[target_offsets[k] : target_offsets[k + 1]]
        spans = _pairs(source_ids, right, entries, columns)
        costs = np.zeros((len(spans), result.shape[1]))
        for p in range(len(spans)):
            e = spans[p, 4]
            costs[p, 2] = 1.0
            costs[p, 4] = np.log(np.float64(forward[e])) + np.log(np.float64(backward[e]))
            costs[p, 5] = np.float64(forward_weight[e]) + np.float64(backward_weight[e])
            costs[p, 6] = np.log(np.float64(backward[e]))
            costs[p, 7] = np.float64(backward_weight[e])
            costs[p, 1] = -costs[p, 4] - costs[p, 5]
        _derive(len(source_ids), len(right), spans, costs, result[k])


@numba.njit(cache=True, nogil=True)
def _pairs(source_ids: Any, right: Any, entries: Any, columns: Any) -> Any:
    width = right.shape[1]
    flat = right.ravel()
    order = np.argsort(flat, kind="mergesort")
    order = order[np.searchsorted(flat[order], 0) :]
    there = flat[order]
    spans = np.empty((64, 5), np.int64)
    pairs = 0
    for i in range(len(source_ids)):
        for m in range(source_ids.shape[1]):
            if source_ids[i, m] < 0:
                continue
            e, end, place = entries[source_ids[i, m]], entries[source_ids[i, m] + 1], 0
            while e < end and place < len(there):
                if columns[e] < there[place]:
                    e += np.searchsorted(columns[e:end], there[place])
                elif columns[e] > there[place]:
                    place += np.searchsorted(there[place:], columns[e])
                else:
                    if pairs == len(spans):
                        spans = np.concatenate((spans, spans))
                    j, n = order[place] // width, order[place] % width
                    spans[pairs] = i, i + m + 1, j, j + n + 1, e
                    pairs += 1
                    place += 1
    spans = spans[:pairs]
    return spans[np.argsort(spans[:, 0] * (len(right) + 1) + spans[:, 3], kind="mergesort")]


@numba.njit(cache=True, nogil=True)
def _derive(length: int, width: int, spans: Any, costs: Any, result: Any) -> None:
    best = np.full((length + 1, width + 1, len(result)), np.inf)
    best[0, 0] = 0.0
    gap, skip, both = np.zeros(len(result)), np.zeros(len(result)), np.zeros(len(result))
    gap[0] = skip[3] = skip[8] = 1.0
    first = np.searchsorted(spans[:, 0], np.arange(length + 1))
    ends = spans[:, 3].copy()
    for i in range(length + 1):
        for j in range(width):
            _offer(best[i, j], gap, best[i, j + 1])
        if i == length:
            break
        for j in range(width + 1):
            _offer(best[i, j], skip, best[i + 1, j])
        for p in range(first[i], first[i + 1]):
            middle, start, end = spans[p, 1], spans[p, 2], spans[p, 3]
            _offer(best[i, start], costs[p], best[middle, end])
            if middle == length:
                continue
            # Swapped with a pair whose source words follow and whose target words precede.
            here = ends[first[middle] : first[middle + 1]]
            q = first[middle] + np.searchsorted(here, start)
            while q < first[middle + 1] and ends[q] == start:
                for f in range(len(both)):
                    both[f] = costs[p, f] + costs[q, f]
                both[8] += 2.0 * (spans[q, 1] - i)  # over p, back over both, over q
                _offer(best[i, spans[q, 2]], both, best[spans[q, 1], end])
                q += 1
    result[:] = best[length, width]


@numba.njit(cache=True, nogil=True)
def _offer(old: Any, step: Any, new: Any) -> None:
    for f in range(_COMPARED):
        value = old[f] + step[f]
        if value > new[f]:
            return
        if value < new[f]:
            for g in range(len(new)):
                new[g] = old[g] + step[g]
            return
