"""Constituent and dependency trees: their shape, phrases and probabilities."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import ClassVar, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.syntax.trees import Trees
from features.text.annotation import Annotated
from qe_papers.families import AnnotationFamily, Measure, Sides

_WLV: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1"
_DFKI: Final = "Avramidis 2012 (DFKI), section 2.2.1 and table 5"

# Category -> label prefixes, up to a dot, of the Penn Treebank and of CESS or AnCora.
PHRASES: Final[Mapping[str, frozenset[str]]] = {
    "s": frozenset({"S"}),
    "np": frozenset({"NP", "sn"}),
    "vp": frozenset({"VP", "grup.verb", "gv", "infinitiu", "gerundi"}),
    "pp": frozenset({"PP", "sp"}),
}
TAGS: Final[Mapping[str, tuple[str, ...]]] = {
    "cc": ("CC", "cc"), "vb": ("VB", "v"), "nn": ("NN", "n"), "jj": ("JJ", "a"),
    "comma": (",", "Fc", "fc"), "dot": (".", "Fp", "fp"),
}  # fmt: skip
_WHOLE: Final = frozenset({"CC", "cc", ",", "Fc", "fc", ".", "Fp", "fp"})  # tags that are not prefixes


@dataclass(frozen=True)
class Tree:
    """Number of nodes at each depth (none: no tree), labels of nodes above tags, and tags."""

    levels: Sequence[int]
    phrases: Sequence[str]
    tags: Sequence[str]


def _tree(trees: Trees, i: int) -> Tree:
    first, last = int(trees.offsets[i]), int(trees.offsets[i + 1])
    depths = np.zeros(last - first, np.int64)
    arities, children = trees.arities[first:last].tolist(), (trees.first_child[first:last] - first).tolist()
    above, levels, phrases, tags = [False] * (last - first), list[int](), list[str](), list[str]()
    for node, (arity, child) in enumerate(zip(arities, children, strict=True)):
        depths[child : child + arity] = depths[node] + 1
        if not arity:
            continue
        above[node] = arity == 1 and not arities[child]
        (tags if above[node] else phrases).append(trees.types[trees.labels[first + node]])
        levels += [0] * (int(depths[node]) + 1 - len(levels))
        levels[int(depths[node])] += 1
    return Tree(levels, phrases, tags)


def _in_tree(count: Callable[[Tree], float]) -> Callable[[Tree], float]:
    return lambda tree: count(tree) if tree.levels else np.nan


def _phrases(tree: Tree, labels: frozenset[str]) -> float:
    return sum(is_phrase(label, labels) for label in tree.phrases)


def is_phrase(label: str, labels: frozenset[str]) -> bool:
    """Whether the label, or its part before the first dot, is among `labels`.

    >>> is_phrase("sn.e-SUJ", PHRASES["np"]), is_phrase("grup.nom", PHRASES["np"])
    (True, False)
    """
    return label in labels or label.split(".", 1)[0] in labels


def _tags(tree: Tree, beginnings: tuple[str, ...]) -> float:
    whole = set(beginnings) & _WHOLE
    return sum(tag in whole if whole else tag.startswith(beginnings) for tag in tree.tags)


def _measures() -> Iterator[Measure[Tree]]:
    rows: list[tuple[str, str, str, Callable[[Tree], float]]] = [
        ("width", "nodes of the widest level of the constituents' tree", _WLV, lambda tree: max(tree.levels)),
        ("depth", "levels below the root of the constituents' tree", _WLV, lambda tree: len(tree.levels) - 1),
    ]
    for name, labels in PHRASES.items():
        what, origin = f"phrases {' or '.join(sorted(labels))}", _DFKI if name == "s" else _WLV
        rows.append((name, what, origin, partial(_phrases, labels=labels)))
    for name, tags in TAGS.items():
        rows.append((name, f"words tagged {', '.join(tags)}", _DFKI, partial(_tags, beginnings=tags)))
    for name, what, origin, count in rows:
        text = f"{what}; undefined without a tree"
        yield Measure(name, text, origin, "nodes", _in_tree(count), ratio=True)


@dataclass(frozen=True)
class ConstituentTrees(AnnotationFamily):
    """Width, depth, phrases and tags of constituency trees of each side, with difference and ratio.

    sides  parsed sides

    All values are NaN for a text without a tree; a text of several sentences has one tree, whose root is
    above theirs. Labels are those of the Penn Treebank and of CESS (AnCora).

    Raises InputError for a text that was not parsed.
    """

    plain: ClassVar[str] = "how long and how nested the sentences of the {text} are"

    sides: Sides = "both"

    stem = "tree"
    measures = tuple(_measures())

    def read(self, annotated: Annotated) -> list[Tree]:
        trees = Trees.from_brackets(annotated.parses, annotated.location, plain=True)
        return [_tree(trees, i) for i in range(len(trees))]


_OWN: Final = "this project: shape of the dependencies"
_NO_HEAD: Final = -1


@dataclass(frozen=True)
class Heads:
    """Place of each word's head (-1: root), and the number of heads above each word."""

    heads: Sequence[int]
    depths: Sequence[int]

    @property
    def arcs(self) -> list[int]:
        """Place of each head minus that of its dependant."""
        return [head - place for place, head in enumerate(self.heads) if head != _NO_HEAD]


def depths_of(heads: Sequence[int]) -> list[int] | None:
    """Number of heads above every word; None if heads are cyclic."""
    depths = {_NO_HEAD: -1}
    for place in range(len(heads)):
        line, node = list[int](), place
        while node not in depths:
            if len(line) == len(heads):
                return None
            line.append(node)
            node = heads[node]
        for node in reversed(line):
            depths[node] = depths[heads[node]] + 1
    return [depths[place] for place in range(len(heads))]


def _of_words(measure: Callable[[Heads], float]) -> Callable[[Heads], float]:
    return lambda tree: measure(tree) if tree.heads else np.nan


def _of_arcs(measure: Callable[[list[int]], list[int] | list[bool]]) -> Callable[[Heads], float]:
    return lambda tree: float(np.mean(measure(tree.arcs))) if tree.arcs else np.nan


_WIDTH: Final = "words at the widest level of the dependencies"
_DEPTH: Final = "heads above the word that has most"
_DISTANCE: Final = "mean distance of words from heads; NaN without any"
_RIGHT: Final = "share of dependants after their heads"


@dataclass(frozen=True)
class DependencyTrees(AnnotationFamily):
    """Width, depth, distances and leaves of dependency trees of each side, with difference and ratio.

    sides  parsed sides

    All values are NaN for a text without words.

    Raises InputError for words without heads, and for cyclic heads.
    """

    plain: ClassVar[str] = "how long and how nested the sentences of the {text} are"

    sides: Sides = "both"

    stem = "dependency"
    measures = (
        Measure("width", _WIDTH, _WLV, "nodes",
                _of_words(lambda t: float(np.bincount(t.depths).max())), ratio=True),
        Measure("depth", _DEPTH, _WLV, "nodes", _of_words(lambda t: max(t.depths)), ratio=True),
        Measure("roots", "words without a head", _OWN, "nodes", _of_words(lambda t: t.heads.count(_NO_HEAD))),
        Measure("distance", _DISTANCE, _OWN, "mean words", _of_arcs(lambda arcs: [abs(a) for a in arcs])),
        Measure("leaves", "share of words without dependants", _OWN, "share",
                _of_words(lambda t: 1 - len(set(t.heads) - {_NO_HEAD}) / len(t.heads))),
        Measure("to_the_right", _RIGHT, _OWN, "share", _of_arcs(lambda arcs: [a < 0 for a in arcs])),
    )  # fmt: skip

    def read(self, annotated: Annotated) -> list[Heads]:
        heads, result = annotated.heads.tolist(), list[Heads]()
        for number, (low, high) in enumerate(pairwise(annotated.tokens.offsets.tolist()), start=1):
            depths = depths_of(heads[low:high])
            if depths is None:
                raise InputError(
                    "words depend on each other in a circle, not on a root",
                    location=f"{annotated.location}, segment {number}",
                )
            result.append(Heads(heads[low:high], depths))
        return result


_DFKI_PARSES: Final = "Avramidis 2012 (DFKI), section 2.2.1 (there the Berkeley parser)"


@dataclass(frozen=True, eq=False)
class Parses:
    """Parses of a text: log-probabilities, best first (none: not comparable); whether only `plain` parses."""

    plain: bool | None
    log: FloatArray
    words: int

    @property
    def best(self) -> float:
        return float(self.log[0]) if len(self.log) else np.nan

    @property
    def mean(self) -> float:
        return float(self.log.mean()) if len(self.log) else np.nan

    @property
    def shares(self) -> FloatArray:
        weights = np.exp(self.log - self.log.max(initial=-np.inf))
        return np.asarray(weights / weights.sum())


def _entropy(parses: Parses) -> float:
    if not len(parses.log):
        return np.nan
    shares = parses.shares
    return float(-(shares * np.log(np.maximum(shares, np.finfo(np.float64).tiny))).sum())


_BEST: Final = "logarithm of the best parse's probability"
_SURE: Final = "share of the best parse in the probability of the n best"
_NUMBER: Final = "how many parses there are among the n best"
MEASURES: Final[Sequence[Measure[Parses]]] = (
    Measure("log_probability", _BEST, _DFKI_PARSES, "nat", lambda p: p.best, ratio=True),
    Measure("log_probability_by_word", f"{_BEST}, by word", _DFKI_PARSES, "nat",
            lambda p: p.best / p.words if p.words else np.nan),
    Measure("trees", _NUMBER, _DFKI_PARSES, "parses", lambda p: len(p.log) or np.nan, ratio=True),
    Measure("confidence", _SURE, _DFKI_PARSES, "share",
            lambda p: float(p.shares[0]) if len(p.log) else np.nan, ratio=True),
    Measure("mean_log_probability", "mean of the n best's logarithms", _DFKI_PARSES, "nat",
            lambda p: p.mean, ratio=True),
    Measure("spread", f"{_BEST} less the mean of the n best", _DFKI_PARSES, "nat", lambda p: p.best - p.mean),
    Measure("entropy", "entropy of the n best parses", _DFKI_PARSES, "nat", _entropy),
    Measure("plain", "1 if only the plain grammar has a tree", "this project", "share",
            lambda p: np.nan if p.plain is None else float(p.plain)),
)  # fmt: skip


@dataclass(frozen=True)
class ParseProbabilities(AnnotationFamily):
    """Log-likelihood of the best parse; number, confidence and spread of the n best.

    sides  parsed sides

    An annotator trained with `n_best=100` gives at most 100 parses; with a single parse the spread is 0 and
    the confidence 1. All values except `plain` are NaN for a text without a tree, and for a text that only
    the plain grammar parses, whose probabilities are not comparable.

    Raises InputError for a text that was not parsed, or whose parse has no probabilities.
    """

    plain: ClassVar[str] = "how well the sentences of the {text} are formed"

    sides: Sides = "both"

    stem = "parse"
    measures = MEASURES

    def read(self, annotated: Annotated) -> list[Parses]:
        lists, lengths = annotated.value_lists("tree_log_probabilities"), annotated.tokens.lengths.tolist()
        result = []
        for number, (tree, text, log, words) in enumerate(
            zip(annotated.parses, annotated.blocks, lists, lengths, strict=True), start=1
        ):
            if tree and not (len(log) and np.isfinite(log).all()):
                raise InputError(
                    "the parse has no probabilities",
                    location=f"{annotated.location}, segment {number}",
                    remedy="annotate with an annotator of constituents, or give "
                    "`# tree_log_probabilities = -81.2 -83`",
                )
            plain = "# tree_grammar = plain" in text
            result.append(Parses(plain if tree else None, np.empty(0) if plain else log, words))
        return result
