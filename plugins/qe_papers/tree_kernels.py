"""Tree kernels: similarity of trees as the weighted number of shared fragments."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.threads import apply_to_each, even_ranges
from features.syntax.trees import Trees

_ALONE = -1  # key of a node without shared fragments


@dataclass(frozen=True)
class TreeKernel(ABC):
    """K(a, b) = sum over pairs of nodes of Delta, which is 0 for nodes of different kinds.

    Normalised: K(a, b) / sqrt(K(a, a) K(b, b)), 1 for equal trees; 0 for a tree without fragments. A value is
    symmetric and depends on its two trees only, to the last bit. Rows are computed on all cores, and cached
    with the batch.
    """

    @abstractmethod
    def kinds(self, trees: Trees) -> tuple[NDArray[np.int64], Sequence[Hashable]]:
        """Kind (m,) of each node, -1 for one without shared fragments; description of each kind."""

    @property
    @abstractmethod
    def decays(self) -> tuple[bool, float, float]:
        """Whether fragments may have part of a node's children, lambda, mu."""

    def gram(self, trees: Trees) -> FloatArray:
        """Normalised values (n, n) between the trees of a batch, read-only."""
        values: FloatArray = trees.cached((self, "gram"), lambda: self._gram(trees))
        return values

    def between(self, rows: Trees, columns: Trees) -> FloatArray:
        """Normalised values (n, k) of n trees with k others."""
        numbers: dict[Hashable, int] = columns.cached(
            (type(self), "numbers"), lambda: {kind: i for i, kind in enumerate(self.kinds(columns)[1])}
        )
        own, kinds = self.kinds(rows)
        known = np.array([*(numbers.get(kind, _ALONE) for kind in kinds), _ALONE], np.int64)
        trees_a, trees_b = _sorted(rows, known[own]), self._sorted_nodes(columns)
        values = np.zeros((len(rows), len(columns)))

        def fill(start: int, end: int) -> None:
            _rectangle(trees_a, trees_b, self.decays, start, end, values)

        apply_to_each(fill, *_columns(even_ranges(rows.sizes + 1.0)))
        return _normalised(values, self.own_values(rows), self.own_values(columns))

    def own_values(self, trees: Trees) -> FloatArray:
        """K(a, a) (n,), not normalised; raises InputError for a tree whose value is too large."""
        values: FloatArray = trees.cached((self, "own values"), lambda: self._own_values(trees))
        return values

    def _sorted_nodes(self, trees: Trees) -> "_Sorted":
        sorted_nodes: _Sorted = trees.cached(
            (type(self), "sorted"), lambda: _sorted(trees, self.kinds(trees)[0].astype(np.int64))
        )
        return sorted_nodes

    def _gram(self, trees: Trees) -> FloatArray:
        own, prepared = self.own_values(trees), self._sorted_nodes(trees)
        values = np.diag(own)
        later = np.cumsum(trees.sizes[::-1])[::-1]  # nodes of a tree and of those after it

        def fill(start: int, end: int) -> None:
            _triangle(prepared, self.decays, start, end, values)

        apply_to_each(fill, *_columns(even_ranges((trees.sizes + 1.0) * later, per_core=16)))
        values = _normalised(values, own, own)
        values.setflags(write=False)
        return values

    def _own_values(self, trees: Trees) -> FloatArray:
        values, prepared = np.zeros(len(trees)), self._sorted_nodes(trees)

        def fill(start: int, end: int) -> None:
            _diagonal(prepared, self.decays, start, end, values)

        apply_to_each(fill, *_columns(even_ranges(trees.sizes**2 + 1.0)))
        with np.errstate(over="ignore"):
            too_large = np.flatnonzero(~np.isfinite(values**2))
        if len(too_large):
            row = int(too_large[0])
            raise InputError(
                f"a tree of {trees.sizes[row]} nodes shares more fragments with itself than can be counted: "
                f"{trees.brackets(row)[:60]} ...",
                remedy="give the kernel a smaller decay (lambda)",
            )
        return values


@dataclass(frozen=True)
class SubsetTreeKernel(TreeKernel):
    """Fragments have all children of a node or none, which respects the grammar's productions.

    Delta = 0 for nodes with different productions (their label and their children's); else lambda prod_j (1 +
    Delta(child j, child j)), which is lambda for equal preterminals.

    decay  lambda, more than 0

    Source: Collins and Duffy 2001; node pairs by sorted productions: Moschitti 2006, Section 3.2.
    """

    decay: float = 0.4

    def __post_init__(self) -> None:
        _check_decay("decay", self.decay)

    @property
    def decays(self) -> tuple[bool, float, float]:
        return False, self.decay, 1.0

    def kinds(self, trees: Trees) -> tuple[NDArray[np.int64], Sequence[Hashable]]:
        """Productions: a label and those of its children."""
        labels, inner = trees.labels.tolist(), np.flatnonzero(trees.arities)
        first = trees.first_child[inner].tolist()
        last = (trees.first_child + trees.arities)[inner].tolist()
        index: dict[tuple[int, ...], int] = {}
        kinds = np.full(len(labels), _ALONE, np.int64)
        kinds[inner] = [
            index.setdefault((labels[node], *labels[start:end]), len(index))
            for node, start, end in zip(inner.tolist(), first, last, strict=True)
        ]
        return kinds, [tuple(trees.types[k] for k in production) for production in index]


@dataclass(frozen=True)
class PartialTreeKernel(TreeKernel):
    """Fragments have any of a node's children, in order.

    Delta = 0 for nodes with different labels; else mu (lambda^2 + sum over equally long subsequences J, J' of
    the two nodes' children of lambda^(d(J) + d(J')) times the product of Delta over their members), with d(J)
    = last - first + 1.

    decay        lambda, more than 0: weight of long and broken sequences of children
    depth_decay  mu, more than 0: weight of deep fragments

    Source: Moschitti 2006, Section 3.1, Equation 2.
    """

    decay: float = 0.4
    depth_decay: float = 0.4

    def __post_init__(self) -> None:
        _check_decay("decay", self.decay)
        _check_decay("depth_decay", self.depth_decay)

    @property
    def decays(self) -> tuple[bool, float, float]:
        return True, self.decay, self.depth_decay

    def kinds(self, trees: Trees) -> tuple[NDArray[np.int64], Sequence[Hashable]]:
        return trees.labels.astype(np.int64), trees.types


_Sorted = tuple[
    NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64],
    NDArray[np.int64],
]  # fmt: skip
"""A batch: tree offsets, tree keys, first children, numbers of children, kinds of nodes, and the nodes of
each tree sorted by kind."""


_Decays = tuple[bool, float, float]
_Room = tuple[FloatArray, NDArray[np.int64], FloatArray]
"""Delta of two trees' nodes (all 0), the ranges of equal kinds, one row of a recursion over children."""


def _check_decay(name: str, value: float) -> None:
    if not value > 0:
        raise InputError(f"'{name}' of a tree kernel must be more than 0, but is {value}")


def _sorted(trees: Trees, kinds: NDArray[np.int64]) -> _Sorted:
    tree = np.repeat(np.arange(len(trees)), trees.sizes)
    order = np.lexsort((np.arange(len(kinds)), kinds, tree))
    return trees.offsets, trees.keys, trees.first_child, trees.arities, kinds, order


def _columns(ranges: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [start for start, _ in ranges], [end for _, end in ranges]


def _normalised(values: FloatArray, trees_a: FloatArray, trees_b: FloatArray) -> FloatArray:
    norms = np.sqrt(trees_a[:, np.newaxis] * trees_b[np.newaxis])
    return np.divide(values, norms, out=np.zeros_like(values), where=norms > 0)


@numba.njit(cache=True, nogil=True)
def _diagonal(trees: _Sorted, decays: _Decays, start: int, end: int, values: FloatArray) -> None:
    room = _room(trees, trees)
    for i in range(start, end):
        values[i] = _value(trees, i, trees, i, decays, room)


@numba.njit(cache=True, nogil=True)
def _triangle(trees: _Sorted, decays: _Decays, start: int, end: int, values: FloatArray) -> None:
    room = _room(trees, trees)
    for i in range(start, end):
        for j in range(i + 1, len(values)):
            values[i, j] = values[j, i] = _value(trees, i, trees, j, decays, room)


@numba.njit(cache=True, nogil=True)
def _rectangle(
    trees_a: _Sorted, trees_b: _Sorted, decays: _Decays, start: int, end: int, values: FloatArray
) -> None:
    room = _room(trees_a, trees_b)
    for i in range(start, end):
        for j in range(values.shape[1]):
            values[i, j] = _value(trees_a, i, trees_b, j, decays, room)


@numba.njit(cache=True, nogil=True)
def _room(trees_a: _Sorted, trees_b: _Sorted) -> _Room:
    largest = 0
    for offsets in (trees_a[0], trees_b[0]):
        for i in range(len(offsets) - 1):
            largest = max(largest, offsets[i + 1] - offsets[i])
    return np.zeros((largest, largest)), np.zeros((largest, 2), np.int64), np.zeros(largest + 1)


@numba.njit(cache=True, nogil=True)
def _value(trees_a: _Sorted, i: int, trees_b: _Sorted, j: int, decays: _Decays, room: _Room) -> float:
    if trees_b[1][j] < trees_a[1][i]:
        trees_a, i, trees_b, j = trees_b, j, trees_a, i
    value: float = _ordered(trees_a, i, trees_b, j, decays, room)
    return value


@numba.njit(cache=True, nogil=True)
def _ordered(trees_a: _Sorted, i: int, trees_b: _Sorted, j: int, decays: _Decays, room: _Room) -> float:
    start, end, base = trees_a[0][i], trees_a[0][i + 1], trees_b[0][j]
    first_left, first_right, arities_left, arities_right = trees_a[2], trees_b[2], trees_a[3], trees_b[3]
    order = trees_b[5]
    partial, decay, depth_decay = decays
    delta, ranges, row = room
    _match(trees_a, i, trees_b, j, ranges)
    total = 0.0
    # Children follow their node, so that their values are computed before it.
    for a in range(end - 1, start - 1, -1):
        for place in range(ranges[a - start, 0], ranges[a - start, 1]):
            b = order[place]
            first_child, second_child = first_left[a] - start, first_right[b] - base
            if partial:
                value = depth_decay * decay**2
                if arities_left[a] > 0 and arities_right[b] > 0:
                    value += depth_decay * _subsequences(
                        delta, first_child, arities_left[a], second_child, arities_right[b], decay, row
                    )
            else:
                value = decay
                for c in range(arities_left[a]):
                    value *= 1.0 + delta[first_child + c, second_child + c]
            delta[a - start, b - base] = value
            total += value
    for a in range(start, end):
        for place in range(ranges[a - start, 0], ranges[a - start, 1]):
            delta[a - start, order[place] - base] = 0.0
    return total


@numba.njit(cache=True, nogil=True)
def _match(trees_a: _Sorted, i: int, trees_b: _Sorted, j: int, ranges: NDArray[np.int64]) -> None:
    start, right_end = trees_b[0][j], trees_b[0][j + 1]
    end = start
    kinds, order, right_kinds, right_order = trees_a[4], trees_a[5], trees_b[4], trees_b[5]
    first = trees_a[0][i]
    for place in range(first, trees_a[0][i + 1]):
        a = order[place]
        kind = kinds[a]
        if place == first or kind != kinds[order[place - 1]]:
            start = end
            while start < right_end and right_kinds[right_order[start]] < kind:
                start += 1
            end = start
            while end < right_end and right_kinds[right_order[end]] == kind:
                end += 1
        ranges[a - first, 0] = start
        ranges[a - first, 1] = end if kind >= 0 else start


@numba.njit(cache=True, nogil=True)
def _subsequences(
    delta: FloatArray, first_child: int, n: int, second_child: int, k: int, decay: float, row: FloatArray
) -> float:
    total = 0.0
    row[: k + 1] = 0.0
    for x in range(n):
        before = 0.0  # D(x - 1, y - 1)
        along = 0.0  # sum over y' <= y of decay^(y - y') S(x, y')
        for y in range(k):
            ending = delta[first_child + x, second_child + y] * decay**2 * (1.0 + before)
            total += ending
            along = ending + decay * along
            before = row[y + 1]
            row[y + 1] = along + decay * before
    return total
