"""Dependencies: width and depth of a segment's trees, and distances from heads."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Final

import numpy as np

from features.basics.errors import InputError
from features.text.annotation import Annotated
from qe_papers.families import AnnotationFamily, Measure, Sides

_WLV: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1"
_OWN: Final = "this project: shape of the dependencies"
_NO_HEAD: Final = -1


@dataclass(frozen=True)
class Heads:
    """Place of each word's head (-1: root), and the number of heads above each word."""

    heads: Sequence[int]
    depths: Sequence[int]


def heads_of(annotated: Annotated) -> list[Heads]:
    """Heads (n,) of each text; raises InputError for cyclic heads."""
    heads, offsets = annotated.heads.tolist(), annotated.tokens.offsets.tolist()
    result = []
    for number, (low, high) in enumerate(pairwise(offsets), start=1):
        own = heads[low:high]
        depths = depths_of(own)
        if depths is None:
            raise InputError(
                "words depend on each other in a circle, not on a root",
                location=f"{annotated.location}, segment {number}",
            )
        result.append(Heads(own, depths))
    return result


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


def _width(tree: Heads) -> float:
    return float(np.bincount(tree.depths).max()) if tree.heads else np.nan


def _depth(tree: Heads) -> float:
    return max(tree.depths, default=np.nan)


def _roots(tree: Heads) -> float:
    return tree.heads.count(_NO_HEAD) if tree.heads else np.nan


def _mean(tree: Heads) -> float:
    distances = [abs(head - place) for place, head in enumerate(tree.heads) if head != _NO_HEAD]
    return float(np.mean(distances)) if distances else np.nan


def _leaves(tree: Heads) -> float:
    return 1 - len(set(tree.heads) - {_NO_HEAD}) / len(tree.heads) if tree.heads else np.nan


def _to_the_right(tree: Heads) -> float:
    inner = [head < place for place, head in enumerate(tree.heads) if head != _NO_HEAD]
    return float(np.mean(inner)) if inner else np.nan


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
        Measure("width", "words at the widest level of the dependencies", _WLV, "nodes", _width, ratio=True),
        Measure("depth", "heads above the word that has most", _WLV, "nodes", _depth, ratio=True),
        Measure("roots", "words without a head", _OWN, "nodes", _roots),
        Measure("distance", "mean distance of words from heads; NaN without any", _OWN, "mean words", _mean),
        Measure("leaves", "share of words without dependants", _OWN, "share", _leaves),
        Measure("to_the_right", "share of dependants after their heads", _OWN, "share", _to_the_right),
    )

    def read(self, annotated: Annotated) -> list[Heads]:
        return heads_of(annotated)
