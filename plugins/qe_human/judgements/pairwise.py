"""Pairwise counts of judgements; the preferences that an order violates, and preference circles."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from features.basics.array_types import IntArray


@dataclass(frozen=True, eq=False)
class PairwiseCounts:
    """Counts of one language pair.

    systems  k names
    wins     (k, k): [a, b] is how often a was judged better than b
    ties     (k, k): how often they were judged equal; symmetric
    """

    systems: tuple[str, ...]
    wins: IntArray
    ties: IntArray

    @property
    def judged(self) -> IntArray:
        """(k, k) how often a and b were compared; symmetric."""
        return self.wins + self.wins.T + self.ties

    @property
    def decided(self) -> IntArray:
        """(k,) how often each system was judged better or worse than another, ties aside."""
        return np.asarray(self.wins.sum(axis=0) + self.wins.sum(axis=1))

    @property
    def total(self) -> int:
        return int(self.wins.sum() + self.ties.sum() // 2)

    @property
    def margins(self) -> IntArray:
        """(k, k) the preference for a over b: wins minus losses if there are more wins, else 0."""
        return np.asarray(np.maximum(self.wins - self.wins.T, 0))

    def select(self, systems: Sequence[int]) -> "PairwiseCounts":
        index = np.asarray(systems, np.int64)
        cells = np.ix_(index, index)
        names = tuple(self.systems[i] for i in systems)
        return PairwiseCounts(names, self.wins[cells], self.ties[cells])

    def drop(self, name: str) -> "PairwiseCounts":
        return self.select([i for i, system in enumerate(self.systems) if system != name])


@dataclass(frozen=True)
class Violation:
    """`preferred` was judged better than `ranked_above`, which an order ranks above it, by `margin` wins."""

    preferred: str
    ranked_above: str
    margin: int


def violations(order: Sequence[str], counts: PairwiseCounts) -> list[Violation]:
    """The violated preferences of an order (all systems, best first), from its top.

    The sum of margins is the order's cost (Lopez 2012, Tables 2 and 3; findings of WMT 2012, Eq. 7).
    """
    margins = counts.margins
    places = [counts.systems.index(name) for name in order]
    return [
        Violation(counts.systems[low], counts.systems[high], int(margins[low, high]))
        for i, high in enumerate(places)
        for low in places[i + 1 :]
        if margins[low, high] > 0
    ]


@dataclass(frozen=True)
class Circle:
    """Each system is preferred to the next, and the last to the first; `margins` are wins minus losses."""

    systems: tuple[str, ...]
    margins: tuple[int, ...]

    @property
    def weakest(self) -> int:
        return min(self.margins)


def circles(counts: PairwiseCounts) -> list[Circle]:
    """All circles of three systems, and a shortest one of each knot without such; strongest first."""
    preferred = counts.margins > 0
    threes = list(_threes(preferred))
    members = {system for three in threes for system in three}
    longer = [
        _shortest(preferred, knot) for knot in _knots(preferred) if len(knot) > 1 and not members & set(knot)
    ]
    listed = [_circle(counts, path) for path in (*threes, *longer)]
    return sorted(listed, key=lambda circle: -circle.weakest)


def knots(counts: PairwiseCounts) -> list[list[str]]:
    """Groups of systems that are joined by circles, largest first."""
    groups = sorted((knot for knot in _knots(counts.margins > 0) if len(knot) > 1), key=len, reverse=True)
    return [[counts.systems[i] for i in knot] for knot in groups]


def _threes(preferred: NDArray[np.bool_]) -> Iterator[tuple[int, ...]]:
    for a in range(len(preferred)):
        for b in np.flatnonzero(preferred[a]):
            if b > a:
                yield from (
                    (a, int(b), int(c)) for c in np.flatnonzero(preferred[b] & preferred[:, a]) if c > a
                )


def _knots(preferred: NDArray[np.bool_]) -> list[list[int]]:
    _, labels = connected_components(preferred.astype(np.int8), directed=True, connection="strong")
    return [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]


def _shortest(preferred: NDArray[np.bool_], knot: list[int]) -> tuple[int, ...]:
    return min((_shortest_through(preferred, start) for start in knot), key=len)


def _shortest_through(preferred: NDArray[np.bool_], start: int) -> tuple[int, ...]:
    paths: deque[tuple[int, ...]] = deque([(start,)])
    seen = {start}
    while paths:
        path = paths.popleft()
        for after in map(int, np.flatnonzero(preferred[path[-1]])):
            if after == start:
                return path
            if after not in seen:
                seen.add(after)
                paths.append((*path, after))
    raise ValueError(f"system {start} is in no cycle")


def _circle(counts: PairwiseCounts, path: tuple[int, ...]) -> Circle:
    first = path.index(min(path))
    turned = path[first:] + path[:first]
    steps = zip(turned, turned[1:] + turned[:1], strict=True)
    margins = counts.margins
    return Circle(tuple(counts.systems[i] for i in turned), tuple(int(margins[a, b]) for a, b in steps))
