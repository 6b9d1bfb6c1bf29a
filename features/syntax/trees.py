"""Trees: a batch of labelled ordered trees as arrays, from bracketed parses and from dependencies."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import offsets_of
from features.basics.errors import InputError
from features.basics.numerals import natural
from features.storage.files import digest
from features.text.annotation import NOTHING, words_of
from features.text.tokens import first_occurrence

Result = TypeVar("Result")
Tag = Literal["upos", "xpos"]

_TAGS: Final[dict[Tag, int]] = {"upos": 3, "xpos": 4}  # columns of CoNLL-U
_FORM, _HEAD, _RELATION = 1, 6, 7
_BRACKETS = re.compile(r"[()]|[^\s()]+")
_TRACE = "-NONE-"

Node = tuple[str, int]  # label, depth; a tree is its nodes in pre-order


@dataclass(frozen=True, eq=False)
class Trees:
    """n ordered trees whose nodes have labels; immutable.

    types    distinct labels, without line ends
    labels   (m,) int32, index into `types`; the nodes of a tree level by level, its root first
    arities  (m,) int32, how many children a node has; the children of a node lie side by side
    offsets  (n + 1,) int64; tree i is the nodes offsets[i]:offsets[i + 1], none if there is no parse

    Raises InputError for arrays that are no trees.

    >>> trees = Trees.from_brackets(["(S (NP (N Mary)) (VP (V brought)))"])
    >>> [trees.types[k] for k in trees.labels]
    ['S', 'NP', 'VP', 'N', 'V', 'Mary', 'brought']
    >>> trees.arities.tolist(), trees.first_child.tolist()
    ([2, 1, 1, 1, 1, 0, 0], [1, 3, 4, 5, 6, 7, 7])
    """

    types: tuple[str, ...]
    labels: NDArray[np.int32]
    arities: NDArray[np.int32]
    offsets: NDArray[np.int64]
    _cache: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)
    _lock: Any = field(default_factory=threading.RLock, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self._are_trees():
            raise InputError("these arrays of labels, numbers of children and offsets are no trees")

    def _are_trees(self) -> bool:
        m = len(self.labels)
        kinds = (self.labels, np.int32), (self.arities, np.int32), (self.offsets, np.int64)
        if any(values.ndim != 1 or values.dtype != kind for values, kind in kinds):
            return False
        if any("\n" in label for label in self.types):
            return False
        if len(self.arities) != m or not len(self.offsets) or self.offsets[0] != 0 or self.offsets[-1] != m:
            return False
        if (self.sizes < 0).any() or (self.arities < 0).any():
            return False
        if m and not 0 <= self.labels.min() <= self.labels.max() < len(self.types):
            return False
        last = self.first_child + self.arities  # beyond the last child
        ends = np.repeat(self.offsets[1:], self.sizes)
        complete = last[self.offsets[1:][self.sizes > 0] - 1] == self.offsets[1:][self.sizes > 0]
        return bool((self.first_child > np.arange(m)).all() and (last <= ends).all() and complete.all())

    @classmethod
    def from_brackets(cls, texts: Sequence[str], location: str = "brackets", plain: bool = False) -> "Trees":
        """One tree per text in Penn Treebank notation, `(S (NP (N Mary)) (VP (V slept)))`.

        Several trees of a text get a root with the label `""`; a text without any node has a tree without
        nodes.

        plain     drops traces (`-NONE-`) with what they leave empty, and functions (`NP-SBJ-1` -> `NP`)
        location  name of the texts in errors

        Raises InputError for brackets that do not match, or a text that is not in brackets.
        """
        numbered = enumerate(texts, start=1)
        trees = (_bracketed(text, f"{location}, segment {number}") for number, text in numbered)
        return cls._from_nodes(_rooted(_plain(nodes) if plain else nodes) for nodes in trees)

    @classmethod
    def from_dependencies(
        cls, blocks: Sequence[str], location: str = "dependencies", tag: Tag = "upos"
    ) -> "Trees":
        """One tree per CoNLL-U block; every word is `[tag [relation dependants ...] word]`.

        Several roots, or sentences, get a root with the label `""`.

        tag       part of speech: universal, or the language's own, `_` if a word has none
        location  name of the blocks in errors

        Raises InputError for a block without heads, or whose heads make no tree. Source: WMT12 UU, Section
        2.2, Figure 1; Johansson and Moschitti 2010.
        """
        trees: list[list[Node]] = []
        for number, block in enumerate(blocks, start=1):
            rows = list(words_of(block, location, number))
            starts = [k for k, row in enumerate(rows) if row[0] == "1"] or [0]
            nodes: list[Node] = []
            for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
                nodes += _sentence(rows[start:end], _TAGS[tag], f"{location}, segment {number}")
            trees.append(_rooted(nodes))
        return cls._from_nodes(trees)

    @classmethod
    def _from_nodes(cls, trees: Iterable[Sequence[Node]]) -> "Trees":
        index: dict[str, int] = {}
        labels: list[int] = []
        arities: list[int] = []
        offsets = [0]
        for nodes in trees:
            children = Counter(_parents(nodes))
            order = sorted(range(len(nodes)), key=lambda node: nodes[node][1])  # as before within a level
            labels += [index.setdefault(nodes[node][0], len(index)) for node in order]
            arities += [children[node] for node in order]
            offsets.append(len(labels))
        return cls(
            tuple(index), np.array(labels, np.int32), np.array(arities, np.int32), np.array(offsets, np.int64)
        )

    @classmethod
    def concatenate(cls, batches: Sequence["Trees"]) -> "Trees":
        index: dict[str, int] = {}
        labels = [np.empty(0, np.int32)]
        for batch in batches:
            mapping = np.array([index.setdefault(label, len(index)) for label in batch.types], np.int32)
            labels.append(mapping[batch.labels] if len(mapping) else batch.labels)
        arities = np.concatenate([np.empty(0, np.int32), *(batch.arities for batch in batches)])
        sizes = np.concatenate([np.empty(0, np.int64), *(batch.sizes for batch in batches)])
        offsets = offsets_of(sizes)
        return cls(tuple(index), np.concatenate(labels), arities, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "Trees":
        """The trees at `rows`, in that order; labels that no longer occur are dropped."""
        index = np.asarray(rows, np.int64)
        sizes = self.sizes[index]
        offsets = offsets_of(sizes)
        nodes = np.arange(offsets[-1]) + np.repeat(self.offsets[index] - offsets[:-1], sizes)
        order, labels = first_occurrence(self.labels[nodes], len(self.types))
        return Trees(tuple(self.types[k] for k in order), labels, self.arities[nodes], offsets)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @cached_property
    def first_child(self) -> NDArray[np.int64]:
        """Node (m,) of the first child of each node, also if it has none."""
        before = offsets_of(self.arities)
        return before[:-1] + np.repeat(self.offsets[:-1] - before[self.offsets[:-1]] + 1, self.sizes)

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        names = [label.encode("utf-8", "surrogatepass") + b"\x00" for label in self.types]
        labels, bounds = self.labels.tolist(), self.offsets.tolist()
        keys = []
        for i in range(len(self)):
            nodes = slice(bounds[i], bounds[i + 1])
            content = b"".join([names[k] for k in labels[nodes]]) + self.arities[nodes].tobytes()
            keys.append(int.from_bytes(blake2b(content, digest_size=8).digest(), "little"))
        return np.array(keys, np.uint64)

    @cached_property
    def fingerprint(self) -> str:
        names = "\x00".join(self.types).encode("utf-8", "surrogatepass")
        return digest(names, self.labels.tobytes(), self.arities.tobytes(), self.offsets.tobytes())

    def brackets(self, i: int) -> str:
        """Tree i in brackets; a node without children is its label alone."""
        parts: list[str] = []
        waiting: list[int | str] = [int(self.offsets[i])] if self.sizes[i] else []
        while waiting:
            node = waiting.pop()
            if isinstance(node, str):
                parts[-1] += node
                continue
            label, first, arity = self.types[self.labels[node]], self.first_child[node], self.arities[node]
            parts.append(f"({label}" if arity else label)
            if arity:
                waiting += [")", *reversed(range(int(first), int(first + arity)))]
        return " ".join(parts)

    def cached(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Result of `compute` for these trees, cached by `key`; of several threads one computes."""
        with self._lock:
            if key not in self._cache:
                self._cache[key] = compute()
            result: Result = self._cache[key]
            return result

    def __getstate__(self) -> dict[str, Any]:
        text = "\n".join(self.types).encode("utf-8", "surrogatepass")
        arrays = {name: getattr(self, name) for name in ("labels", "arities", "offsets")}
        return {"types": np.frombuffer(text, np.uint8).copy(), **arrays}

    def __setstate__(self, state: dict[str, Any]) -> None:
        text = state["types"].tobytes().decode("utf-8", "surrogatepass")
        types = tuple(text.split("\n")) if len(state["labels"]) else ()
        self.__dict__.update(state, types=types, _cache={}, _lock=threading.RLock())
        self.__post_init__()


@dataclass(frozen=True, slots=True)
class Tree:
    batch: Trees
    row: int

    def __str__(self) -> str:
        return self.batch.brackets(self.row)


def column(trees: Trees) -> NDArray[np.object_]:
    values = np.empty(len(trees), object)
    for i in range(len(trees)):
        values[i] = Tree(trees, i)
    return values


def gathered(column: Sequence[Tree]) -> tuple[Trees, NDArray[np.int64]]:
    """One batch with a column's distinct trees, and the index (n,) of each tree in it."""
    batches = {id(tree.batch): tree.batch for tree in column}
    if len(batches) == 1:
        return column[0].batch, np.array([tree.row for tree in column], np.int64)
    starts = dict(zip(batches, np.cumsum([0, *(len(batch) for batch in batches.values())]), strict=False))
    rows = np.array([starts[id(tree.batch)] + tree.row for tree in column], np.int64)
    used, places = np.unique(rows, return_inverse=True)
    return Trees.concatenate(list(batches.values())).take(used), places.astype(np.int64)


def _bracketed(text: str, location: str) -> list[Node]:
    nodes: list[Node] = []
    depth, opened = 0, False
    for token in _BRACKETS.findall(text):
        if token == "(":
            if opened:
                nodes.append(("", depth - 1))
            depth, opened = depth + 1, True
        elif token == ")":
            if opened:
                nodes.append(("", depth - 1))
            depth, opened = depth - 1, False
            if depth < 0:
                raise InputError("closes a bracket that was not opened", location=location)
        elif depth == 0:
            raise InputError(
                f"is no bracketed tree, but has {token[:40]!r} outside of brackets",
                location=location,
                remedy="write trees as (S (NP (N Mary)) (VP (V slept)))",
            )
        else:
            nodes.append((token, depth - 1 if opened else depth))
            opened = False
    if depth:
        raise InputError(f"{depth} brackets are not closed", location=location)
    return nodes


def _parents(nodes: Sequence[Node]) -> list[int]:
    parents: list[int] = []
    line: list[int] = []  # from the root to the node before
    for node, (_, depth) in enumerate(nodes):
        del line[depth:]
        parents.append(line[-1] if line else -1)
        line.append(node)
    return parents


def _plain(nodes: Sequence[Node]) -> list[Node]:
    parents = _parents(nodes)
    inner = set(parents)
    cached: set[int] = set()  # nodes that are kept, and those above them
    for node in reversed(range(len(nodes))):
        word = node not in inner and parents[node] >= 0 and nodes[parents[node]][0] != _TRACE
        if word or node in cached:
            cached |= {node, parents[node]}
    return [
        (category(label) if node in inner else label, depth)
        for node, (label, depth) in enumerate(nodes)
        if node in cached
    ]


def category(label: str) -> str:
    """The label without its grammatical function, index or alternative."""
    return label if label.startswith("-") else re.split("[-=|]", label, maxsplit=1)[0] or label


def _rooted(nodes: Sequence[Node]) -> list[Node]:
    if sum(depth == 0 for _, depth in nodes) > 1:
        nodes = [("", 0), *((label, depth + 1) for label, depth in nodes)]
    while nodes and nodes[0] == ("", 0) and sum(depth == 1 for _, depth in nodes) <= 1:
        nodes = [(label, depth - 1) for label, depth in nodes[1:]]
    return list(nodes)


def _sentence(rows: Sequence[Sequence[str]], tag: int, location: str) -> Iterator[Node]:
    dependants: list[list[int]] = [[] for _ in range(len(rows) + 1)]
    for word, row in enumerate(rows, start=1):
        dependants[_head(row, len(rows), location)].append(word)
    seen = 0
    waiting: list[Node | tuple[int, int]] = [(word, 0) for word in reversed(dependants[0])]
    while waiting:
        item, depth = waiting.pop()
        if isinstance(item, str):
            yield item, depth
            continue
        row, seen = rows[item - 1], seen + 1
        if row[tag] == NOTHING and tag == _TAGS["upos"]:  # treebanks leave xpos out of some words
            raise InputError(f"the word {row[_FORM]!r} has no part of speech", location=location)
        yield row[tag], depth
        yield row[_RELATION], depth + 1
        waiting.append((row[_FORM], depth + 1))
        waiting += [(word, depth + 2) for word in reversed(dependants[item])]
    if seen < len(rows):
        raise InputError(
            f"{len(rows) - seen} of {len(rows)} words depend on each other in a circle, not on a root",
            location=location,
        )


def _head(row: Sequence[str], words: int, location: str) -> int:
    text = row[_HEAD]
    if text == NOTHING:
        raise InputError(
            f"the word {row[_FORM]!r} has no head",
            location=location,
            remedy="give dependencies (CoNLL-U columns 7 and 8), not parts of speech alone",
        )
    head = natural(text)
    if head is None or head > words:
        raise InputError(f"the head of a word must be 0 to {words}, but is {text[:40]!r}", location=location)
    return head
