"""Possible symbols of a text's spans, by inside and outside scores of a small grammar."""

from typing import Final, NamedTuple

import numpy as np
from numba import njit

from features.basics.array_types import UNCOUNTED
from qe_treebanks.annotators._cky import NEVER, Emissions, Flags, Floats, Ints, Longs, Nodes, Rules, span

_LANES: Final = 8  # columns are padded to a multiple of this


class Grouped(NamedTuple):
    """The binary rules grouped by right child and by parent.

    Right child C has the entries by_right[C] to by_right[C + 1] of the first three arrays. Parent A has the
    entries by_parent[A] to by_parent[A + 1] of the last four, by left child. The first rule after r with
    another left child is at after[r].
    """

    by_right: Longs
    parents: Ints
    lefts: Ints
    scores: Floats
    by_parent: Longs
    first: Ints
    second: Ints
    weights: Floats
    ends: Longs


def grouped(rules: Rules) -> Grouped:
    lefts = np.repeat(np.arange(len(rules.stay), dtype=np.int32), np.diff(rules.starts))
    every = np.arange(len(rules.stay) + 1)
    right, parent = np.argsort(rules.rights, kind="stable"), np.lexsort((lefts, rules.parents))
    ends = np.flatnonzero(np.diff(lefts[parent]) | np.diff(rules.parents[parent])) + 1
    ends = np.append(ends, len(parent))
    return Grouped(
        np.searchsorted(rules.rights[right], every).astype(np.int64),
        rules.parents[right],
        lefts[right],
        rules.scores[right],
        np.searchsorted(rules.parents[parent], every).astype(np.int64),
        lefts[parent],
        rules.rights[parent],
        rules.scores[parent],
        ends[np.searchsorted(ends, np.arange(len(parent)), side="right")].astype(np.int64),
    )


@njit(**UNCOUNTED)
def _finished(base: Floats, top: Floats, i: int, rules: Rules, beam: float, active: Ints) -> int:
    count, best = 0, NEVER
    for symbol in range(len(rules.stay)):
        score = base[symbol, i]
        if score == NEVER:
            continue
        top[symbol, i] = max(top[symbol, i], score + rules.stay[symbol])
        for c in range(rules.below[symbol], rules.below[symbol + 1]):
            upper = rules.tops[c]
            top[upper, i] = max(top[upper, i], score + rules.chains[c])
    for symbol in range(len(rules.stay)):
        best = max(best, top[symbol, i] + rules.priors[symbol])
    for symbol in range(len(rules.stay)):
        if top[symbol, i] == NEVER:
            continue
        if top[symbol, i] + rules.priors[symbol] < best - beam:
            top[symbol, i] = NEVER
        else:
            active[count] = symbol
            count += 1
    return count


@njit(cache=True, nogil=True)
def chart(words: Emissions, rules: Rules, groups: Grouped, beam: float, ends: Flags) -> tuple[Floats, Floats]:
    """Best inside scores (spans, S) of bases and of tops; arguments as for `_cky.inside`."""
    n, size = len(words.starts) - 1, len(rules.stay)
    columns = -(-n // _LANES) * _LANES
    made = np.empty((size, columns), np.float32)  # bases of spans with the same end, by beginning
    top = np.full((n + 1, size, columns), NEVER, np.float32)  # by end, symbol, beginning
    bases = np.full((n * (n + 1) // 2, size), NEVER, np.float32)
    tops = np.full(bases.shape, NEVER, np.float32)
    blocks = np.empty((n + 1, size, 2), np.int64)  # first and last block of columns with a top, by end
    blocks[:, :, 0], blocks[:, :, 1] = columns, -1
    active = np.empty(size, np.int32)
    for j in range(1, n + 1):
        made[:], whole = NEVER, top[j]
        for k in range(words.starts[j - 1], words.starts[j]):
            made[words.tags[k], j - 1] = max(made[words.tags[k], j - 1], words.scores[k])
        for m in range(j - 1, -1 if ends[j - 1] else j - 2, -1):
            for child in active[: _finished(made, whole, m, rules, beam, active)]:
                blocks[j, child, 0] = min(blocks[j, child, 0], m // _LANES)
                blocks[j, child, 1] = max(blocks[j, child, 1], m // _LANES)
                for r in range(groups.by_right[child], groups.by_right[child + 1]):
                    left, parent = groups.lefts[r], groups.parents[r]
                    score = whole[child, m] + groups.scores[r]
                    for block in range(blocks[m, left, 0], blocks[m, left, 1] + 1):
                        first = block * _LANES
                        for i in range(first, first + _LANES):
                            made[parent, i] = max(made[parent, i], top[m, left, i] + score)
            bases[span(m, j)], tops[span(m, j)] = made[:, m], whole[:, m]
    return bases, tops


@njit(cache=True, nogil=True)
def possible(
    words: Emissions, rules: Rules, groups: Grouped, root: int, beam: float, threshold: float, ends: Flags
) -> Flags:
    """Symbols (spans, S) with two children or a word in a tree near the best; (0, 0): no tree."""
    n = len(words.starts) - 1
    base, top = chart(words, rules, groups, beam, ends)
    best = top[span(0, n), root]
    if best == NEVER:
        return np.zeros((0, 0), np.bool_)
    result = np.zeros((n * (n + 1) // 2, len(rules.stay)), np.bool_)
    scores = np.full(top.shape, NEVER, np.float32)
    scores[span(0, n), root] = 0.0
    for length in range(n, 0, -1):
        for i in range(n - length + 1):
            j = i + length
            if length > 1 and not ends[j - 1]:
                continue
            here = span(i, j)
            for symbol in range(len(rules.stay)):
                if base[here, symbol] == NEVER:
                    continue
                above = _above(symbol, top[here], scores[here], rules)
                if above + base[here, symbol] >= best - threshold:
                    result[here, symbol] = True
                    _downwards(i, j, symbol, above, top, scores, groups)
    return result


@njit(**UNCOUNTED)
def _above(symbol: int, top: Floats, scores: Floats, rules: Rules) -> float:
    score = scores[symbol] + rules.stay[symbol] if top[symbol] > NEVER else NEVER
    for c in range(rules.below[symbol], rules.below[symbol + 1]):
        if top[rules.tops[c]] > NEVER:
            score = max(score, scores[rules.tops[c]] + rules.chains[c])
    return float(score)


@njit(**UNCOUNTED)
def _downwards(
    i: int, j: int, symbol: int, above: float, top: Floats, scores: Floats, groups: Grouped
) -> None:
    for m in range(i + 1, j):
        first, second = span(i, m), span(m, j)
        begin, end = groups.by_parent[symbol], groups.by_parent[symbol + 1]
        while begin < end:
            left, ends = groups.first[begin], groups.ends[begin]
            one = top[first, left]
            if one > NEVER:
                for r in range(begin, ends):
                    right = groups.second[r]
                    two = top[second, right]
                    if two > NEVER:
                        score = np.float32(above) + groups.weights[r]
                        scores[first, left] = max(scores[first, left], score + two)
                        scores[second, right] = max(scores[second, right], score + one)
            begin = ends


class Restricted(NamedTuple):
    """A grammar of some symbols; old numbers of symbols and chains, new number (S,) of each symbol or -1."""

    rules: Rules
    symbols: Ints
    numbers: Ints
    chains: Ints


def by_kind(rules: Rules, kinds: Ints) -> Rules:
    """The rules of every left child in the order of their parents' kinds, `kinds` (S,)."""
    lefts = np.repeat(np.arange(len(rules.stay)), np.diff(rules.starts))
    order = np.lexsort((kinds[rules.parents], lefts))
    return rules._replace(
        parents=rules.parents[order], rights=rules.rights[order], scores=rules.scores[order]
    )


@njit(cache=True, nogil=True)
def usable(tags: Ints, rules: Rules, kinds: Ints, pairs: Flags) -> tuple[Flags, Flags]:
    """Symbols (S,) that can be base, and top, of a span of words with these `tags`; no `pairs`: all kinds."""
    base = np.zeros(len(rules.stay), np.bool_)
    top = np.zeros(len(rules.stay), np.bool_)
    for tag in tags:
        _reached(tag, base, top, rules)
    more = True
    while more:
        more = False
        for left in range(len(rules.stay)):
            if not top[left]:
                continue
            for r in range(rules.starts[left], rules.starts[left + 1]):
                parent = rules.parents[r]
                if not base[parent] and top[rules.rights[r]] and (len(pairs) == 0 or pairs[kinds[parent]]):
                    _reached(parent, base, top, rules)
                    more = True
    return base, top


@njit(cache=True, nogil=True)
def _reached(symbol: int, base: Flags, top: Flags, rules: Rules) -> None:
    base[symbol] = True
    top[symbol] = top[symbol] or rules.stay[symbol] > -np.inf
    for c in range(rules.below[symbol], rules.below[symbol + 1]):
        top[rules.tops[c]] = True


def restricted(rules: Rules, root: int, tags: Ints, kinds: Ints, allowed: Flags) -> Restricted:
    """The rules usable for words with these `tags`, and the root; no tree is lost."""
    pairs = allowed.any(axis=0) if len(allowed) else np.zeros(0, np.bool_)
    base, top = usable(tags, rules, kinds, pairs)
    kept = base | top
    kept[root] = True
    symbols = np.flatnonzero(kept).astype(np.int32)
    numbers = np.full(len(kept), -1, np.int32)
    numbers[symbols] = np.arange(len(symbols), dtype=np.int32)
    part: Restricted = _renumbered(rules, base, top, symbols, numbers)
    return part


@njit(cache=True, nogil=True)
def _renumbered(rules: Rules, base: Flags, top: Flags, symbols: Ints, numbers: Ints) -> Restricted:
    size = len(symbols)
    starts, below = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
    parents, rights = np.empty(len(rules.parents), np.int32), np.empty(len(rules.parents), np.int32)
    scores = np.empty(len(rules.parents), np.float32)
    tops, chains = np.empty(len(rules.tops), np.int32), np.empty(len(rules.tops), np.int32)
    ways = np.empty(len(rules.tops), np.float32)
    n = m = 0
    for new, old in enumerate(symbols):
        if top[old]:
            for r in range(rules.starts[old], rules.starts[old + 1]):
                if base[rules.parents[r]] and top[rules.rights[r]]:
                    parents[n], rights[n] = numbers[rules.parents[r]], numbers[rules.rights[r]]
                    scores[n] = rules.scores[r]
                    n += 1
        if base[old]:
            for c in range(rules.below[old], rules.below[old + 1]):
                tops[m], ways[m], chains[m] = numbers[rules.tops[c]], rules.chains[c], c
                m += 1
        starts[new + 1], below[new + 1] = n, m
    made = Rules(
        starts, parents[:n], rights[:n], scores[:n], below, tops[:m], ways[:m], rules.stay[symbols],
        rules.priors[symbols],
    )  # fmt: skip
    return Restricted(made, symbols, numbers, chains[:m])


def in_full(nodes: Nodes, part: Restricted) -> Nodes:
    """Nodes of derivations (`_cky.best_derivation`) with the numbers of the whole grammar."""
    result = nodes.copy()
    result[:, 0] = part.symbols[nodes[:, 0]]
    chained = nodes[:, 3] >= 0
    result[chained, 3] = part.chains[nodes[chained, 3]]
    return result
