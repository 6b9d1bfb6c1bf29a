"""Constituents: width and depth of a segment's trees, and counts of phrases and tags."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

import numpy as np

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


def trees_of(annotated: Annotated) -> list[Tree]:
    """Trees (n,); raises InputError for a text that was not parsed, or unbalanced brackets."""
    trees = Trees.from_brackets(annotated.parses, annotated.location, plain=True)
    return [_tree(trees, i) for i in range(len(trees))]


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


def _width(tree: Tree) -> float:
    return max(tree.levels, default=np.nan)


def _depth(tree: Tree) -> float:
    return len(tree.levels) - 1 if tree.levels else np.nan


def _phrases(tree: Tree, labels: frozenset[str]) -> float:
    if not tree.levels:
        return np.nan
    return sum(is_phrase(label, labels) for label in tree.phrases)


def is_phrase(label: str, labels: frozenset[str]) -> bool:
    """Whether the label, or its part before the first dot, is among `labels`.

    >>> is_phrase("sn.e-SUJ", PHRASES["np"]), is_phrase("grup.nom", PHRASES["np"])
    (True, False)
    """
    return label in labels or label.split(".", 1)[0] in labels


def _tags(tree: Tree, beginnings: tuple[str, ...]) -> float:
    if not tree.levels:
        return np.nan
    whole = set(beginnings) & _WHOLE
    return sum(tag in whole if whole else tag.startswith(beginnings) for tag in tree.tags)


def _measures() -> Sequence[Measure[Tree]]:
    def counted(name: str, measure: Callable[[Tree], float], description: str, origin: str) -> Measure[Tree]:
        return Measure(name, f"{description}; undefined without a tree", origin, "nodes", measure, ratio=True)

    return (
        counted("width", _width, "nodes of the widest level of the constituents' tree", _WLV),
        counted("depth", _depth, "levels below the root of the constituents' tree", _WLV),
        *(
            counted(name, partial(_phrases, labels=labels), f"phrases {' or '.join(sorted(labels))}",
                    _DFKI if name == "s" else _WLV)
            for name, labels in PHRASES.items()
        ),
        *(
            counted(name, partial(_tags, beginnings=tags), f"words tagged {', '.join(tags)}", _DFKI)
            for name, tags in TAGS.items()
        ),
    )  # fmt: skip


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
    measures = _measures()

    def read(self, annotated: Annotated) -> list[Tree]:
        return trees_of(annotated)
