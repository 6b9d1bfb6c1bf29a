"""Chart parsing with a weighted grammar: best inside and outside scores, best derivations."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from features.basics.array_types import UNCOUNTED

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]

NEVER = np.float32(-np.inf)


class Rules(NamedTuple):
    """The rules of a grammar of S symbols; logarithms of probabilities.

    A symbol of a span has a base score, of its best expansion by two children or by a word, and a top score,
    the best of its base (`stay`) and of bases under its chains of single children, which form no cycle.
    Children of rules are tops. Spans are numbered j (j - 1) / 2 + i for words i <= k < j.

    starts   (S + 1,) the binary rules with left child B are starts[B]:starts[B + 1]
    parents, rights, scores   (r,) of binary rules
    below    (S + 1,) the chains with bottom B are below[B]:below[B + 1]
    tops, chains   (c,) upper symbol and score of each chain
    stay     (S,) score of a symbol with no chain
    priors   (S,) relative frequency of a symbol
    """

    starts: Longs
    parents: Ints
    rights: Ints
    scores: Floats
    below: Longs
    tops: Ints
    chains: Floats
    stay: Floats
    priors: Floats


class Emissions(NamedTuple):
    """The tags of word i of n are tags[starts[i]:starts[i + 1]], with their scores."""

    starts: Longs
    tags: Ints
    scores: Floats


class Chart(NamedTuple):
    """Inside scores of the spans of a text.

    base, top  (rows, S) scores
    bounds     (spans, 3) the symbols with a top of span s are lists[bounds[s, 0]:bounds[s, 1]], its scores
               the row bounds[s, 2]; -1: none
    """

    base: Floats
    top: Floats
    bounds: Longs
    lists: Ints


@njit(cache=True, nogil=True, inline="always")
def span(i: int, j: int) -> int:
    return j * (j - 1) // 2 + i


@njit(cache=True, nogil=True)
def _raise_tops(base: Floats, top: Floats, used: Ints, rules: Rules) -> Ints:
    active = np.empty(top.shape[0], np.int32)
    n = 0
    for symbol in used:
        score = base[symbol] + rules.stay[symbol]
        if score > top[symbol]:
            if top[symbol] == NEVER:
                active[n] = symbol
                n += 1
            top[symbol] = score
        for c in range(rules.below[symbol], rules.below[symbol + 1]):
            upper, score = rules.tops[c], base[symbol] + rules.chains[c]
            if score > top[upper]:
                if top[upper] == NEVER:
                    active[n] = upper
                    n += 1
                top[upper] = score
    return active[:n].copy()


@njit(cache=True, nogil=True)
def _best_of(active: Ints, top: Floats, priors: Floats, beam: float) -> Ints:
    best = NEVER
    for symbol in active:
        best = max(best, top[symbol] + priors[symbol])
    kept = np.empty(len(active), np.int32)
    n = 0
    for symbol in active:
        if top[symbol] + priors[symbol] < best - beam:
            top[symbol] = NEVER
        else:
            kept[n] = symbol
            n += 1
    return kept[:n].copy()


@njit(cache=True, nogil=True)
def _groups(rules: Rules, kinds: Ints) -> Longs:
    after = np.empty(len(rules.parents), np.int64)
    for left in range(len(rules.stay)):
        end = rules.starts[left + 1]
        for r in range(end - 1, rules.starts[left] - 1, -1):
            if r + 1 < rules.starts[left + 1] and kinds[rules.parents[r]] != kinds[rules.parents[r + 1]]:
                end = r + 1
            after[r] = end
    return after


@njit(cache=True, nogil=True)
def inside(words: Emissions, rules: Rules, allowed: Flags, kinds: Ints, beam: float) -> Chart:
    """Best inside scores.

    allowed    (spans, kinds) kinds of symbols that may be base of a span; (0, 0): all
    kinds      (S,) the kind of each symbol
    beam       symbols whose top plus prior is this much below the best of their span are dropped
    """
    n, size = len(words.starts) - 1, len(rules.stay)
    spans = n * (n + 1) // 2
    limited = allowed.shape[0] > 0
    rows, filled = np.full(spans, -1, np.int64), 0
    for s in range(spans):
        if not limited or allowed[s].any():
            rows[s] = filled
            filled += 1
    base = np.full((filled, size), NEVER, np.float32)
    top = np.full((filled, size), NEVER, np.float32)
    first, last = np.zeros(spans, np.int64), np.zeros(spans, np.int64)
    lists = np.empty(64 * spans + 1024, np.int32)
    filled = 0
    used = np.empty(size, np.int32)
    after = _groups(rules, kinds)
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j, count = i + length, 0
            here = span(i, j)
            if rows[here] < 0:
                continue
            row, above = base[rows[here]], top[rows[here]]
            if length == 1:
                for k in range(words.starts[i], words.starts[i + 1]):
                    symbol = words.tags[k]
                    if row[symbol] == NEVER:
                        used[count] = symbol
                        count += 1
                    row[symbol] = max(row[symbol], words.scores[k])
            for middle in range(i + 1, j):
                left, right = span(i, middle), span(middle, j)
                if first[right] == last[right] or first[left] == last[left]:
                    continue
                before, beside = top[rows[left]], top[rows[right]]
                for place in range(first[left], last[left]):
                    symbol = lists[place]
                    score = before[symbol]
                    begin, end = rules.starts[symbol], rules.starts[symbol + 1]
                    while begin < end:
                        same = after[begin]
                        if limited and not allowed[here, kinds[rules.parents[begin]]]:
                            begin = same
                            continue
                        for r in range(begin, same):
                            other = beside[rules.rights[r]]
                            if other == NEVER:
                                continue
                            parent = rules.parents[r]
                            value = score + other + rules.scores[r]
                            if value > row[parent]:
                                if row[parent] == NEVER:
                                    used[count] = parent
                                    count += 1
                                row[parent] = value
                        begin = same
            active = _raise_tops(row, above, used[:count], rules)
            if len(active) > 1:
                active = _best_of(active, above, rules.priors, beam)
            if filled + len(active) > len(lists):
                longer = np.empty(2 * (filled + len(active)), np.int32)
                for i in range(filled):
                    longer[i] = lists[i]
                lists = longer
            for i in range(len(active)):
                lists[filled + i] = active[i]
            first[here], last[here] = filled, filled + len(active)
            filled += len(active)
    bounds = np.empty((spans, 3), np.int64)
    for here in range(spans):
        bounds[here, 0], bounds[here, 1], bounds[here, 2] = first[here], last[here], rows[here]
    return Chart(base, top, bounds, lists[:filled])


@njit(cache=True, nogil=True)
def outside(n: int, root: int, chart: Chart, rules: Rules, log_threshold: float) -> tuple[Floats, Floats]:
    """Best outside scores (rows, S) of bases and of tops, for symbols in trees above `log_threshold` only."""
    base, top, bounds, lists = chart
    out_base = np.full(base.shape, NEVER, np.float32)
    out_top = np.full(top.shape, NEVER, np.float32)
    out_top[bounds[span(0, n), 2], root] = 0.0
    for length in range(n, 0, -1):
        for i in range(n - length + 1):
            j = i + length
            here = bounds[span(i, j), 2]
            if here < 0:
                continue
            around, row, inner = out_top[here], out_base[here], base[here]
            viable = False
            for symbol in range(len(rules.stay)):
                if inner[symbol] == NEVER:
                    continue
                best = around[symbol] + rules.stay[symbol]
                for c in range(rules.below[symbol], rules.below[symbol + 1]):
                    best = max(best, around[rules.tops[c]] + rules.chains[c])
                if best + inner[symbol] >= log_threshold:
                    row[symbol] = best
                    viable = True
            if not viable:
                continue
            for middle in range(i + 1, j):
                left, right = span(i, middle), span(middle, j)
                if bounds[right, 0] == bounds[right, 1] or bounds[left, 0] == bounds[left, 1]:
                    continue
                first, second = bounds[left, 2], bounds[right, 2]
                for place in range(bounds[left, 0], bounds[left, 1]):
                    symbol = lists[place]
                    score = top[first, symbol]
                    for r in range(rules.starts[symbol], rules.starts[symbol + 1]):
                        upper = row[rules.parents[r]]
                        if upper == NEVER:
                            continue
                        k = rules.rights[r]
                        other = top[second, k]
                        if other == NEVER:
                            continue
                        upper += rules.scores[r]
                        out_top[first, symbol] = max(out_top[first, symbol], upper + other)
                        out_top[second, k] = max(out_top[second, k], upper + score)
    return out_base, out_top


# Node of a derivation, in pre-order: symbol, first word, end, chain above it (-1: none).
Nodes = NDArray[np.int64]


@njit(cache=True, nogil=True)
def _chain(base: Floats, symbol: int, rules: Rules) -> tuple[int, int]:
    best, bottom, chain = base[symbol] + rules.stay[symbol], symbol, -1
    for lower in range(len(rules.stay)):
        if base[lower] == NEVER:
            continue
        for c in range(rules.below[lower], rules.below[lower + 1]):
            if rules.tops[c] == symbol and base[lower] + rules.chains[c] > best:
                best, bottom, chain = base[lower] + rules.chains[c], lower, c
    return bottom, chain


@njit(cache=True, nogil=True)
def _split(i: int, j: int, symbol: int, chart: Chart, rules: Rules) -> tuple[int, int, int]:
    top, bounds, lists = chart.top, chart.bounds, chart.lists
    best, split = NEVER, (-1, -1, -1)
    for middle in range(i + 1, j):
        left, right = span(i, middle), span(middle, j)
        if bounds[right, 0] == bounds[right, 1]:
            continue
        for place in range(bounds[left, 0], bounds[left, 1]):
            child = lists[place]
            for r in range(rules.starts[child], rules.starts[child + 1]):
                if rules.parents[r] == symbol:
                    beside = top[bounds[right, 2], rules.rights[r]]
                    value = top[bounds[left, 2], child] + beside + rules.scores[r]
                    if value > best:
                        best, split = value, (middle, child, rules.rights[r])
    return split


@njit(cache=True, nogil=True)
def best_derivation(n: int, root: int, chart: Chart, rules: Rules) -> Nodes:
    """Nodes (m, 4) of the best derivation in pre-order; empty if the grammar has no tree."""
    whole = chart.bounds[span(0, n), 2]
    if whole < 0 or chart.top[whole, root] == NEVER:
        return np.empty((0, 4), np.int64)
    nodes, m = np.empty((2 * n - 1, 4), np.int64), 0
    waiting = np.empty((n + 1, 3), np.int64)
    waiting[0] = 0, n, root
    left_over = 1
    while left_over:
        left_over -= 1
        i, j, symbol = waiting[left_over]
        bottom, chain = _chain(chart.base[chart.bounds[span(i, j), 2]], symbol, rules)
        nodes[m] = bottom, i, j, chain
        m += 1
        if j - i > 1:
            middle, left, right = _split(i, j, bottom, chart, rules)
            waiting[left_over] = middle, j, right
            waiting[left_over + 1] = i, middle, left
            left_over += 2
    return nodes[:m]


# Back-pointers of a derivation. Base: middle, left symbol, its rank, right symbol, its rank; top: bottom
# symbol, its rank, chain (-1: none).
_PARTS = 5

_SLACK = 0.01  # in nats: single-precision sums depend on their order


@njit(**UNCOUNTED)
def _insert(
    scores: Floats, parts: Ints, filled: Longs, cell: int, score: float, part: tuple[int, int, int, int, int]
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
    n: int, root: int, k: int, chart: Chart, out_base: Floats, rules: Rules, log_threshold: float
) -> tuple[Floats, Nodes, Longs]:
    """The k best derivations: scores, nodes in pre-order, and first node (m + 1,) of each, best first.

    Some that score less than `log_threshold` are missed. Every symbol of a span stores its best k
    derivations, from the a-th of one child and the b-th of the other for a b <= k (Huang and Chiang 2005).
    """
    base, bounds, lists = chart.base, chart.bounds, chart.lists
    rows, size = base.shape
    at = np.full((rows, size), -1, np.int32)  # list of a base
    above = np.full((rows, size), -1, np.int32)  # list of a top
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
