"""The best k derivations of a chart, not only the best one.

Every symbol of a span keeps its best k derivations, made of those of its children: of the a-th of one child
and the b-th of the other, only pairs with a b <= k can be among them (Huang and Chiang 2005). Derivations
that score less than the chart's `outside` pass went through are left out.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from features.basics.array_types import UNCOUNTED
from qe_treebanks.annotators._cky import NEVER, Floats, Ints, Longs, Rules, span

# What a derivation is made of. Base: middle, left symbol, its rank, right symbol, its rank; top: bottom
# symbol, its rank, chain (-1: none).
_PARTS = 5

_SLACK = 0.01  # nats: sums of single precision differ with their order


@njit(**UNCOUNTED)
def _insert(
    scores: Floats,
    parts: Ints,
    filled: Longs,
    cell: int,
    score: float,
    part: tuple[int, int, int, int, int],
) -> bool:
    k, there = scores.shape[1], filled[cell]
    if there == k and score <= scores[cell, k - 1]:
        return False
    place = min(there, k - 1)
    while place > 0 and scores[cell, place - 1] < score:
        scores[cell, place] = scores[cell, place - 1]
        for p in range(_PARTS):
            parts[cell, place, p] = parts[cell, place - 1, p]
        place -= 1
    scores[cell, place] = score
    parts[cell, place, 0], parts[cell, place, 1], parts[cell, place, 2] = part[0], part[1], part[2]
    parts[cell, place, 3], parts[cell, place, 4] = part[3], part[4]
    filled[cell] = min(there + 1, k)
    return True


@njit(cache=True, nogil=True)
def k_best(
    n: int,
    root: int,
    k: int,
    base: Floats,
    out_base: Floats,
    bounds: Longs,
    lists: Ints,
    rules: Rules,
    log_threshold: float,
) -> tuple[Floats, NDArray[np.int64], Longs]:
    """The best derivations: scores, nodes, and (m + 1,) where each begins. Scores are best first. Nodes are
    in pre-order as in `best_derivation`, one derivation after the other. Some derivations that score less
    than `least` are not found.
    """
    rows, size = base.shape
    at = np.full((rows, size), -1, np.int32)  # the list of a base
    above = np.full((rows, size), -1, np.int32)  # the list of a top
    cells = 0
    for row in range(rows):
        for symbol in range(size):
            if out_base[row, symbol] > NEVER and base[row, symbol] > NEVER:
                at[row, symbol] = cells
                cells += 1
    tops = cells
    for row in range(rows):
        for symbol in range(size):
            if at[row, symbol] < 0:
                continue
            if rules.stay[symbol] > NEVER and above[row, symbol] < 0:
                above[row, symbol] = tops
                tops += 1
            for c in range(rules.below[symbol], rules.below[symbol + 1]):
                if above[row, rules.tops[c]] < 0:
                    above[row, rules.tops[c]] = tops
                    tops += 1
    scores = np.full((tops, k), NEVER, np.float32)
    parts = np.zeros((tops, k, _PARTS), np.int32)
    filled = np.zeros(tops, np.int64)
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length
            row = bounds[span(i, j), 2]
            if row < 0:
                continue
            if length == 1:
                for symbol in range(size):
                    if at[row, symbol] >= 0:
                        scores[at[row, symbol], 0] = base[row, symbol]
                        filled[at[row, symbol]] = 1
            for middle in range(i + 1, j):
                first, second = bounds[span(i, middle), 2], bounds[span(middle, j), 2]
                if first < 0 or second < 0:
                    continue
                for place in range(bounds[span(i, middle), 0], bounds[span(i, middle), 1]):
                    left = lists[place]
                    one = above[first, left]
                    if one < 0 or filled[one] == 0:
                        continue
                    for r in range(rules.starts[left], rules.starts[left + 1]):
                        cell, right = at[row, rules.parents[r]], rules.rights[r]
                        other = above[second, right]
                        if cell < 0 or other < 0:
                            continue
                        enough = log_threshold - _SLACK - out_base[row, rules.parents[r]]
                        for a in range(filled[one]):
                            for b in range(min(filled[other], k // (a + 1))):
                                score = scores[one, a] + scores[other, b] + rules.scores[r]
                                part = (middle, left, a, right, b)
                                if score < enough or not _insert(scores, parts, filled, cell, score, part):
                                    break
            for symbol in range(size):
                cell = at[row, symbol]
                if cell < 0:
                    continue
                for rank in range(filled[cell]):
                    if rules.stay[symbol] > NEVER:
                        up = above[row, symbol]
                        score = scores[cell, rank] + rules.stay[symbol]
                        _insert(scores, parts, filled, up, score, (symbol, rank, -1, 0, 0))
                    for c in range(rules.below[symbol], rules.below[symbol + 1]):
                        up = above[row, rules.tops[c]]
                        score = scores[cell, rank] + rules.chains[c]
                        _insert(scores, parts, filled, up, score, (symbol, rank, c, 0, 0))
    whole = bounds[span(0, n), 2]
    goal = above[whole, root] if whole >= 0 else -1
    count = filled[goal] if goal >= 0 else 0
    derivations = np.empty((count * (2 * n - 1), 4), np.int64)
    begins = np.zeros(count + 1, np.int64)
    waiting = np.empty((n + 1, 4), np.int64)
    m = 0
    for rank in range(count):
        waiting[0] = 0, n, root, rank
        left_over = 1
        while left_over:
            left_over -= 1
            i, j, symbol, place = waiting[left_over]
            row = bounds[span(i, j), 2]
            top = parts[above[row, symbol], place]
            bottom, lower = top[0], top[1]
            derivations[m, 0], derivations[m, 1], derivations[m, 2], derivations[m, 3] = bottom, i, j, top[2]
            m += 1
            if j - i > 1:
                part = parts[at[row, bottom], lower]
                waiting[left_over, 0], waiting[left_over, 1] = part[0], j
                waiting[left_over, 2], waiting[left_over, 3] = part[3], part[4]
                waiting[left_over + 1, 0], waiting[left_over + 1, 1] = i, part[0]
                waiting[left_over + 1, 2], waiting[left_over + 1, 3] = part[1], part[2]
                left_over += 2
        begins[rank + 1] = m
    result = scores[goal, :count].copy() if goal >= 0 else np.empty(0, np.float32)
    return result, derivations[:m], begins
