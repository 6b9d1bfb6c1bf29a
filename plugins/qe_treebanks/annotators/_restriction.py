"""The part of a grammar that a text can use. It has the rules whose children some words of the text can
make. Treebank grammars have thousands of symbols, of which a sentence can use some hundreds; charts of
these alone are small and quick. No tree is lost.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from qe_treebanks.annotators._cky import Flags, Ints, Rules


class Restricted(NamedTuple):
    """A grammar of some of the symbols, with their old and new numbers.

    rules    of the symbols kept, by new numbers
    symbols  (new S,) the old number of each symbol
    numbers  (S,) the new number of each symbol; -1: none
    chains   the old number of each chain
    """

    rules: Rules
    symbols: Ints
    numbers: Ints
    chains: Ints


def by_kind(rules: Rules, kinds: Ints) -> Rules:
    """The rules of every left child in the order of their parents' kinds, (S,) `kinds`."""
    lefts = np.repeat(np.arange(len(rules.stay)), np.diff(rules.starts))
    order = np.lexsort((kinds[rules.parents], lefts))
    return rules._replace(
        parents=rules.parents[order], rights=rules.rights[order], scores=rules.scores[order]
    )


@njit(cache=True, nogil=True)
def usable(tags: Ints, rules: Rules, kinds: Ints, pairs: Flags) -> tuple[Flags, Flags]:
    """(S,) which symbols can be the base and the top of a span, of words with these `tags`.

    kinds  (S,) the kind of each symbol
    seen   (kinds,) which kinds any span can be; (0,): all
    """
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
    """The rules that words with these `tags` can use; the root is kept.

    allowed  as of `_cky.inside`
    """
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


def in_full(nodes: NDArray[np.int64], part: Restricted) -> NDArray[np.int64]:
    """Nodes of derivations (`_cky.best_derivation`) with the numbers of the whole grammar."""
    result = nodes.copy()
    result[:, 0] = part.symbols[nodes[:, 0]]
    chained = nodes[:, 3] >= 0
    result[chained, 3] = part.chains[nodes[chained, 3]]
    return result
