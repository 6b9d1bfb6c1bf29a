"""Bracketed treebanks (Penn Treebank, CESS) as trees of nodes."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from features.basics.errors import InputError
from features.basics.numerals import MAX_WORDS
from features.storage.files import read_lines

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


def category(label: str) -> str:
    """The label without function, index and alternative."""
    return label if label.startswith("-") else re.split("[-=|]", label, maxsplit=1)[0] or label


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
