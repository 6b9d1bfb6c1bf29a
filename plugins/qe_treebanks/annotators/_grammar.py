"""Probabilistic context-free grammars from trees: markovised and binary, with unary chains."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from qe_treebanks.annotators._brackets import ROOT, Node
from qe_treebanks.annotators._cky import Rules

UP: Final = "^"  # between a label and its parent's label
STEP: Final = "@"  # before the rest of a constituent
PAST: Final = "|"  # before earlier children
TAG: Final = "/"  # before a tag

Binary = tuple[str, str, str]  # symbol, left and right child
Chain = tuple[str, tuple[str, ...], str]  # upper symbol, symbols between, bottom


@dataclass
class Counts:
    """Number of uses of every rule; `words` has those of (tag symbol, word)."""

    binary: Counter[Binary] = field(default_factory=Counter)
    chains: Counter[Chain] = field(default_factory=Counter)
    words: Counter[tuple[str, str]] = field(default_factory=Counter)
    roots: Counter[str] = field(default_factory=Counter)

    def renamed(self, name: Callable[[str], str]) -> "Counts":
        """The counts of the grammar with renamed symbols, which may merge."""
        result = Counts()
        for (a, b, c), n in self.binary.items():
            result.binary[name(a), name(b), name(c)] += n
        for (a, path, b), n in self.chains.items():
            result.chains[name(a), tuple(map(name, path)), name(b)] += n
        for (symbol, word), n in self.words.items():
            result.words[name(symbol), word] += n
        for symbol, n in self.roots.items():
            result.roots[name(symbol)] += n
        return result


def counted(trees: Iterable[tuple[Node, int]], vertical: int = 2, horizontal: int = 1) -> Counts:
    """The rules of trees, each with its weight.

    A constituent's symbol is its label and the labels above it (vertical order); its children are generated
    in order, each given the labels of the last few (horizontal order): Klein and Manning 2003, Accurate
    unlexicalized parsing. Symbols: `NP^S` a constituent, `@NP^S|DT_JJ` the rest of one after some children,
    `/NN^NP` a tag.

    Raises InputError for labels with reserved characters.
    """
    counts = Counts()
    for tree, n in trees:
        counts.roots[_count(tree, (), vertical, horizontal, counts, n)] += n
    return counts


def _symbol(node: Node, above: Sequence[str], vertical: int) -> str:
    if UP in node.label or node.label.startswith((STEP, TAG)):
        raise InputError(f"the label {node.label!r} has a sign of this program's own: {UP}, {STEP} or {TAG}")
    return UP.join(((TAG if node.word else "") + node.label, *above[: vertical - 1]))


def _count(node: Node, above: tuple[str, ...], vertical: int, horizontal: int, counts: Counts, n: int) -> str:
    top = symbol = _symbol(node, above, vertical)
    chain: list[str] = []
    while len(node.children) == 1:
        above = (node.label, *above)[:vertical]
        node = node.children[0]
        symbol = _symbol(node, above, vertical)
        chain.append(symbol)
    if chain:
        counts.chains[top, tuple(chain[:-1]), symbol] += n
    if node.word:
        counts.words[symbol, node.word] += n
        return top
    inner = (node.label, *above)[:vertical]
    children = [_count(child, inner, vertical, horizontal, counts, n) for child in node.children]
    labels = [child.label for child in node.children]
    rest = symbol
    for k, child in enumerate(children[:-1]):
        following = children[-1]
        if k < len(children) - 2:
            past = "_".join(labels[max(0, k + 1 - horizontal) : k + 1])
            following = f"{STEP}{symbol}{PAST}{past}"
        counts.binary[rest, child, following] += n
        rest = following
    return top


def plain_name(symbol: str) -> str:
    """The symbol without parent labels and past children.

    >>> plain_name("@NP^S|DT_JJ"), plain_name("/NN^NP"), plain_name("NP^S")
    ('@NP', '/NN', 'NP')
    """
    return symbol.split(UP, 1)[0].split(PAST, 1)[0]


def kind_name(symbol: str) -> str:
    """The coarse kind of a symbol: labels up to a dot, tags by their first two letters.

    >>> kind_name("@grup.nom.ms^sn|da0ms0"), kind_name("/ncms000^grup.nom.ms"), kind_name("NP^S")
    ('@grup', '/nc', 'NP')
    """
    plain = plain_name(symbol)
    if plain.startswith(TAG):
        return plain[:3]
    head, dot, _ = plain.partition(".")
    return head if dot and head.strip(STEP) else plain


@dataclass(frozen=True, eq=False)
class Grammar:
    """A grammar of S symbols: names, index by name, rules, root, and the symbols inside each chain."""

    symbols: tuple[str, ...]
    index: Mapping[str, int]
    rules: Rules
    paths: tuple[tuple[str, ...], ...]
    root: int


def grammar_of(counts: Counts) -> Grammar:
    tops, expanded, chained = Counter(counts.roots), Counter[str](), Counter[str]()
    for (a, b, c), n in counts.binary.items():
        expanded[a] += n
        tops[b] += n
        tops[c] += n
    for (symbol, _), n in counts.words.items():
        expanded[symbol] += n
    for (a, _, _), n in counts.chains.items():
        chained[a] += n
    names = tuple(sorted({*tops, *expanded}))
    index = {name: i for i, name in enumerate(names)}
    binary = sorted((index[b], index[a], index[c], n / expanded[a]) for (a, b, c), n in counts.binary.items())
    chains = sorted((index[b], index[a], path, n / tops[a]) for (a, path, b), n in counts.chains.items())
    every = np.arange(len(names) + 1)
    staying = np.array([1 - chained[name] / tops[name] if tops[name] else 0.0 for name in names])
    with np.errstate(divide="ignore"):
        rules = Rules(
            np.searchsorted([b for b, *_ in binary], every).astype(np.int64),
            np.array([a for _, a, _, _ in binary], np.int32),
            np.array([c for _, _, c, _ in binary], np.int32),
            np.log([p for *_, p in binary]).astype(np.float32),
            np.searchsorted([b for b, *_ in chains], every).astype(np.int64),
            np.array([a for _, a, _, _ in chains], np.int32),
            np.log([p for *_, p in chains]).astype(np.float32),
            np.log(np.maximum(staying, 0)).astype(np.float32),
            np.log([tops[name] / tops.total() for name in names]).astype(np.float32),
        )
    root = next(index[name] for name in names if plain_name(name) == ROOT)
    return Grammar(names, index, rules, tuple(path for _, _, path, _ in chains), root)


def label_of(symbol: str) -> str:
    """The treebank's label of a symbol.

    >>> label_of("/NN^NP"), label_of("NP^S")
    ('NN', 'NP')
    """
    return plain_name(symbol).removeprefix(TAG)


def tree_of(nodes: NDArray[np.int64], grammar: Grammar, words: Sequence[str]) -> Node:
    """The tree of a derivation (`best_derivation` of `_cky`), with the treebank's labels."""
    finished: list[list[Node]] = []
    for symbol, low, high, chain in nodes[::-1].tolist():
        name = grammar.symbols[symbol]
        if high - low == 1:
            made = [Node(label_of(name), word=words[low])]
        else:
            made = finished.pop() + finished.pop()
            if not name.startswith(STEP):
                made = [Node(label_of(name), tuple(made))]
        if chain >= 0:
            for upper in (*reversed(grammar.paths[chain]), grammar.symbols[grammar.rules.tops[chain]]):
                made = [Node(label_of(upper), tuple(made))]
        finished.append(made)
    return finished[0][0]
