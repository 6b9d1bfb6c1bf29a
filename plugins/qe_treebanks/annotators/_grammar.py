"""Bracketed trees, and the grammar and lexicon that are read off them."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.numerals import MAX_WORDS
from features.storage.files import read_lines
from features.syntax.trees import category
from qe_treebanks.annotators._cky import Rules

_PIECES: Final = re.compile(r"[()]|[^\s()]+")
_DEEPEST: Final = 200  # maximum depth of nested brackets
ROOT: Final = "ROOT"  # above every tree
_TRACES: Final = frozenset({"-NONE-"})  # tags of traces
_ELLIPSIS: Final = re.compile(r"\*\d*\*")  # CESS: form of an omitted subject

# Escape sequences in treebanks -> characters.
_SIGNS: Final = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "``": '"', "''": '"',
    "-Fpa-": "(", "-Fpt-": ")", "-fpa-": "(", "-fpt-": ")", "\\/": "/", "\\*": "*",
}  # fmt: skip
_UNSIGNS: Final = {"(": "-LRB-", ")": "-RRB-"}


@dataclass(frozen=True, slots=True)
class Node:
    """A constituent with children, or a word (`word` not empty) under its tag."""

    label: str
    children: tuple["Node", ...] = ()
    word: str = ""

    def leaves(self) -> Iterator["Node"]:
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.word:
                yield node
            waiting += reversed(node.children)

    def words(self) -> list[str]:
        return [leaf.word for leaf in self.leaves()]

    def __str__(self) -> str:
        parts: list[str] = []
        waiting: list[Node | str] = [self]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                parts[-1] += item
            elif item.word:
                parts.append(f"({item.label} {escaped(item.word)})")
            else:
                parts.append(f"({item.label}")
                waiting += [")", *reversed(item.children)]
        return " ".join(parts)


def escaped(word: str) -> str:
    """The word with escaped spaces and brackets: `-LRB-` and `-RRB-` are brackets, `_` is a space."""
    return "_".join("".join(_UNSIGNS.get(c, c) for c in word).split()) or "_"


def read_trees(path: Path) -> tuple[list[Node], list[str]]:
    """Trees of a bracketed file, plain or gzip, normalised by `plain`, and notes on skipped trees.

    A leaf is `(tag form)` or `(tag form lemma)`. If trees begin at line starts, unbalanced trees are skipped.

    Raises InputError, with the line, if brackets are unbalanced in more than one tree of a hundred, contain
    invalid content, or are nested more than 200 deep, and for a tree of more than 2,000 words.
    """
    lines = list(read_lines(path))
    starts = [k for k, line in enumerate(lines) if line.startswith("(")]
    if not starts:
        raise InputError(
            "holds no tree", location=path, remedy="write trees as (S (NP (N Mary)) (VP (V slept)))"
        )
    notes: list[str] = []
    try:
        numbered = list(_nodes(lines, 0, path))
    except _Unmatched as error:
        numbered = []
        for low, high in pairwise([*starts, len(lines)]):
            try:
                numbered += list(_nodes(lines[low:high], low, path))
            except _Unmatched:
                notes.append(f"{path}:{low + 1}: brackets do not match")
        if 100 * len(notes) > len(starts):
            raise InputError(error.problem, location=error.location) from None
    trees: list[Node] = []
    for line, tree in numbered:
        kept = plain(tree)
        if kept is None:
            notes.append(f"{path}:{line}: no word is left")
        else:
            trees.append(kept)
    return trees, notes


class _Unmatched(InputError):
    pass


def _nodes(lines: Sequence[str], offset: int, path: Path) -> Iterator[tuple[int, Node]]:
    open_: list[list[str | Node]] = []
    first = words = 0
    for number, line in enumerate(lines, start=offset + 1):
        for piece in _PIECES.findall(line):
            if piece == "(":
                first, words = (first, words) if open_ else (number, 0)
                open_.append([])
                if len(open_) > _DEEPEST:
                    raise InputError(
                        f"brackets are nested more than {_DEEPEST} deep", location=f"{path}:{number}"
                    )
            elif not open_:
                raise _Unmatched(f"{piece[:40]!r} stands outside of brackets", location=f"{path}:{number}")
            elif piece == ")":
                node = _node(open_.pop(), f"{path}:{number}")
                words += bool(node.word)
                if words > MAX_WORDS:
                    raise InputError(f"a tree has at most {MAX_WORDS:,} words", location=f"{path}:{first}")
                if open_:
                    open_[-1].append(node)
                else:
                    yield first, node
            else:
                open_[-1].append(piece)
    if open_:
        raise _Unmatched(f"{len(open_)} brackets are not closed", location=f"{path}:{first}")


def _node(items: list[str | Node], location: str) -> Node:
    texts = [item for item in items if isinstance(item, str)]
    children = tuple(item for item in items if isinstance(item, Node))
    if not children and len(texts) in (2, 3):
        return Node(texts[0], word=texts[1])
    if children and len(texts) <= 1 and items[: len(texts)] == texts:
        return Node(texts[0] if texts else "", children)
    raise InputError(
        f"a bracket holds {' '.join(texts)[:40]!r} and {len(children)} brackets",
        location=location,
        remedy="a leaf is (tag word) or (tag word lemma), a constituent (label ...) of brackets",
    )


def plain(tree: Node) -> Node | None:
    """The tree with root `ROOT`, without traces, functions, escapes and empty constituents; None if empty."""
    node = _plain(tree)
    if node is None:
        return None
    while node.label in ("", ROOT, "TOP") and len(node.children) == 1 and not node.children[0].word:
        node = node.children[0]
    return Node(ROOT, node.children if node.label in ("", ROOT, "TOP") and node.children else (node,))


def _plain(node: Node) -> Node | None:
    if node.word:
        if node.label in _TRACES or _ELLIPSIS.fullmatch(node.word):
            return None
        return Node(node.label, word=_SIGNS.get(node.word, node.word).replace("\\/", "/"))
    children = tuple(kept for child in node.children if (kept := _plain(child)) is not None)
    return Node(category(node.label), children) if children else None


def transformed(node: Node, leaf: Callable[[Node], Iterable[Node]]) -> Node:
    children: list[Node] = []
    for child in node.children:
        children += leaf(child) if child.word else [transformed(child, leaf)]
    return Node(node.label, tuple(children))


_PENN: Final = frozenset({",", ":", "``", "''", "."})
_EAGLES: Final = re.compile(r"[Ff][a-z]{1,3}\d*")
_SAME: Final = {"PRT": "ADVP"}
_ROOTS: Final = frozenset({ROOT, "TOP", "S1", ""})

Bracket = tuple[str, int, int]


def is_punctuation(tag: str) -> bool:
    """Whether a tag marks punctuation in the supported treebanks.

    >>> [is_punctuation(tag) for tag in (".", "Fc", "fpa", "FW", "NN", "Fw")]
    [True, True, True, False, False, True]
    """
    return tag in _PENN or bool(_EAGLES.fullmatch(tag))


def brackets(tree: Node, dropped: frozenset[int]) -> Counter[Bracket]:
    """(label, first word, end) of the constituents, without the words in `dropped`."""
    result: Counter[Bracket] = Counter()
    _collect(tree, 0, 0, dropped, result)
    return result


def _collect(
    node: Node, place: int, start: int, dropped: frozenset[int], result: Counter[Bracket]
) -> tuple[int, int]:
    if node.word:
        return place + 1, start + (place not in dropped)
    end = start
    for child in node.children:
        place, end = _collect(child, place, end, dropped, result)
    if end > start and node.label not in _ROOTS:
        label = category(node.label)
        result[_SAME.get(label, label), start, end] += 1
    return place, end


def punctuation(tree: Node) -> frozenset[int]:
    return frozenset(i for i, leaf in enumerate(tree.leaves()) if is_punctuation(leaf.label))


def scores(pairs: Iterable[tuple[Node, Node | None]]) -> dict[str, Any]:
    """Bracketing scores of (gold, parsed) trees of the same words by EVALB's rules; None: no parse.

    Words whose gold tag is punctuation (`is_punctuation`) are removed first, with brackets that become empty.
    Tags and roots do not count. A label ends before `-`, `=` or `|`; `PRT` and `ADVP` are the same.
    Precision, recall and F1 are over all brackets of all sentences.

    Source: Sekine and Collins, EVALB with COLLINS.prm.
    """
    right = gold = parsed = exact = sentences = missing = tags = words = 0
    for true, guess in pairs:
        dropped = punctuation(true)
        one = brackets(true, dropped)
        other = brackets(guess, dropped) if guess is not None else Counter[Bracket]()
        gold, parsed = gold + one.total(), parsed + other.total()
        right += (one & other).total()
        exact, sentences, missing = exact + (one == other), sentences + 1, missing + (guess is None)
        leaves = [leaf.label for leaf in true.leaves()]
        words += len(leaves)
        if guess is not None:
            tags += sum(a == b.label for a, b in zip(leaves, guess.leaves(), strict=True))
    precision, recall = right / parsed if parsed else 0.0, right / gold if gold else 0.0
    return {
        "n": gold,
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if right else 0.0,
        "exact": exact / max(sentences, 1),
        "tags": tags / max(words, 1),
        "sentences": sentences,
        "without_parse": missing,
    }


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


_RARE: Final = 3  # maximum count of words that represent unknown words
_CLASS_WEIGHT: Final = 1.0  # weight of a word's class, in uses
_SHARE_WEIGHT: Final = 4.0  # weight of a tag's parent, in uses
_BACKOFF: Final = 2.0  # weight of a shorter suffix, in uses
_SURE: Final = 20  # a word with more uses has only its observed tags
_LEAST: Final = 0.003  # minimum probability of a tag, relative to the word's best


class Lexicon:
    """Emissions of the symbols of tags, from the uses of (symbol, word).

    P(tag | word) is the word's relative frequency, smoothed with that of its class: capitals, digits, hyphens
    and the last letters, learned from rare words. Bayes' rule converts it to P(word | tag).
    """

    def __init__(self, words: Mapping[tuple[str, str], float]) -> None:
        self._uses = dict(words)
        self._word: Counter[str] = Counter()
        self._tag: Counter[str] = Counter()
        self._symbol: Counter[str] = Counter()
        self._of_word: defaultdict[str, Counter[str]] = defaultdict(Counter)
        symbols: defaultdict[str, set[str]] = defaultdict(set)
        for (symbol, word), uses in words.items():
            tag = symbol.split(UP, 1)[0]
            self._word[word] += uses  # type: ignore[assignment]
            self._tag[tag] += uses  # type: ignore[assignment]
            self._symbol[symbol] += uses  # type: ignore[assignment]
            self._of_word[word][tag] += uses  # type: ignore[assignment]
            symbols[tag].add(symbol)
        self._symbols = {tag: sorted(symbols_of) for tag, symbols_of in symbols.items()}
        self._total = sum(self._word.values())
        self._tags = sorted(self._tag)
        self._place = {tag: i for i, tag in enumerate(self._tags)}
        self._usual = self._column(self._tag) / self._total
        self._known: dict[tuple[int, str], NDArray[np.float64]] = {}
        self._classes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for word, tags in self._of_word.items():
            if self._word[word] <= _RARE:
                for name in classes(word):
                    self._classes[name].update(tags)

    def tags(self, word: str) -> list[tuple[str, float]]:
        """(symbol, log P(word | symbol)) of the word's possible tags."""
        if word not in self._of_word and word.lower() in self._of_word:
            word = word.lower()
        uses, emissions = self._word[word], []
        of_tags = self._column(self._of_word.get(word, {}))
        if uses >= _SURE:
            of_tags = of_tags / uses
        else:
            of_tags = (of_tags + _CLASS_WEIGHT * self._of_class(word)) / (uses + _CLASS_WEIGHT)
        share = log(max(uses, 0.5) / self._total)
        for place in np.flatnonzero(of_tags >= _LEAST * of_tags.max()).tolist():
            tag, probability = self._tags[place], float(of_tags[place])
            of_tag = self._of_word[word][tag] if word in self._of_word else 0.0
            for symbol in self._symbols[tag]:
                usual = self._symbol[symbol] / self._tag[tag]
                seen = self._uses.get((symbol, word), 0.0)
                inner = (seen + _SHARE_WEIGHT * usual) / (of_tag + _SHARE_WEIGHT)
                emissions.append(
                    (symbol, log(probability * inner) + share - log(self._symbol[symbol] / self._total))
                )
        return emissions

    def key(self, word: str) -> tuple[str, ...]:
        if word in self._of_word:
            return (word,)
        return (word.lower(),) if word.lower() in self._of_word else classes(word)

    def _of_class(self, word: str) -> NDArray[np.float64]:
        result = self._usual
        for key in enumerate(classes(word)):
            if key not in self._known:
                seen = self._classes.get(key[1])
                if seen is None:
                    break
                self._known[key] = (self._column(seen) + _BACKOFF * result) / (seen.total() + _BACKOFF)
            result = self._known[key]
        return result

    def _column(self, counts: Mapping[str, float]) -> NDArray[np.float64]:
        result = np.zeros(len(self._tags))
        for tag, n in counts.items():
            result[self._place[tag]] = n
        return result


def classes(word: str) -> tuple[str, ...]:
    """Word classes from capitals, digits, hyphens and last letters, from coarse to fine.

    >>> classes("Xi-22")
    ('', 'Ad-a', 'Ad-a 2', 'Ad-a 22', 'Ad-a -22', 'Ad-a i-22')
    """
    lower = word.lower()
    signs = ("d", any(map(str.isdigit, word))), ("-", "-" in word), ("_", "_" in word)
    look = ("A" if word[:1].isupper() else "a") + ("U" if word.isupper() and len(word) > 1 else "")
    look += "".join(sign for sign, there in (*signs, ("a", any(map(str.isalpha, word)))) if there)
    return ("", look, *(f"{look} {lower[-k:]}" for k in range(1, 5)))
