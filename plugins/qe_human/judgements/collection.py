"""Judgements of systems in pairs: tasks read from files, counts, preference cycles."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from features.basics.array_types import IntArray
from features.basics.errors import InputError
from qe.display.summary import Printable


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

    def drop(self, name: str) -> "PairwiseCounts":
        kept = [i for i, system in enumerate(self.systems) if system != name]
        cells = np.ix_(kept, kept)
        return PairwiseCounts(tuple(self.systems[i] for i in kept), self.wins[cells], self.ties[cells])


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
    paths = list(threes)
    for knot in _knots(preferred):
        if len(knot) > 1 and not members & set(knot):
            paths.append(min((_shortest_through(preferred, start) for start in knot), key=len))
    margins, listed = counts.margins, []
    for path in paths:
        first = path.index(min(path))
        turned = path[first:] + path[:first]
        steps = zip(turned, turned[1:] + turned[:1], strict=True)
        names = tuple(counts.systems[i] for i in turned)
        listed.append(Circle(names, tuple(int(margins[a, b]) for a, b in steps)))
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


CodeArray = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Comparisons:
    """m comparisons from n tasks, in each of which one judge ranks the translations of one segment.

    first, second   (m,) indices of the systems compared; first < second
    outcome         (m,) 1 if the first was judged better, -1 if the second was, 0 for a tie
    task            (m,) task of each comparison, ascending
    segment, judge  (n,) codes of each task
    with_itself     how often a task compared a system with itself
    silent          systems that were shown, but compared with no other; they are not among the k
    """

    systems: tuple[str, ...]
    first: CodeArray
    second: CodeArray
    outcome: NDArray[np.int8]
    task: CodeArray
    segment: CodeArray
    judge: CodeArray
    with_itself: int = 0
    silent: tuple[str, ...] = ()

    @property
    def tasks(self) -> int:
        return len(self.segment)

    @property
    def cells(self) -> CodeArray:
        k = len(self.systems)
        better = np.where(self.outcome < 0, self.second, self.first)
        worse = np.where(self.outcome < 0, self.first, self.second)
        return np.asarray(better * k + worse + (self.outcome == 0) * (k * k), np.int32)

    def counts(self) -> PairwiseCounts:
        wins, ties = tables(np.bincount(self.cells, minlength=2 * len(self.systems) ** 2), len(self.systems))
        return PairwiseCounts(self.systems, wins, ties)


def tables(flat: NDArray[np.int64], systems: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(..., 2 k k) sums over `Comparisons.cells` -> (..., k, k) wins and symmetric ties."""
    both = flat.reshape(*flat.shape[:-1], 2, systems, systems)
    ties = both[..., 1, :, :]
    return both[..., 0, :, :], ties + np.swapaxes(ties, -1, -2)


def comparisons(
    systems: tuple[str, ...],
    appearances: CodeArray,
    ranks: NDArray[np.int16],
    segment: CodeArray,
    judge: CodeArray,
) -> Comparisons:
    """All pairs of every task.

    systems      k names, sorted
    appearances  (n, w) index of the system at each place of a task, -1 for an empty place
    ranks        (n, w) its rank, lower is better; -1: blank
    """
    left_place, right_place = np.triu_indices(appearances.shape[1], 1)  # none if tasks show one system
    first, second = appearances[:, left_place], appearances[:, right_place]
    judged = (np.minimum(first, second) >= 0) & (ranks[:, left_place] > 0) & (ranks[:, right_place] > 0)
    itself = judged & (first == second)
    judged &= first != second
    outcome = np.sign(ranks[:, right_place] - ranks[:, left_place])[judged]
    task = np.nonzero(judged)[0]
    first, second = first[judged], second[judged]
    outcome = np.where(first < second, outcome, -outcome)
    compared, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    left_code, right_code = codes.reshape(2, -1)
    return Comparisons(
        tuple(systems[i] for i in compared),
        np.minimum(left_code, right_code).astype(np.int32),
        np.maximum(left_code, right_code).astype(np.int32),
        outcome.astype(np.int8),
        task.astype(np.int32),
        segment,
        judge,
        int(itself.sum()),
        tuple(name for i, name in enumerate(systems) if i not in compared),
    )


@dataclass(frozen=True, eq=False)
class JudgedPair:
    """The judgements of one language pair; `comparisons` is None if only counts were given."""

    name: str
    counts: PairwiseCounts
    comparisons: Comparisons | None
    notes: tuple[str, ...] = ()


class Codes:
    """Texts as numbers, in the order of first appearance.

    >>> codes = Codes()
    >>> codes.codes(["b", "a", "b"]).tolist(), codes.texts
    ([0, 1, 0], ['b', 'a'])
    """

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    @property
    def texts(self) -> list[str]:
        return list(self.numbers)

    def codes(self, texts: Iterable[str]) -> CodeArray:
        numbers = self.numbers
        return np.fromiter((numbers.setdefault(text, len(numbers)) for text in texts), np.int32)


@dataclass(eq=False)
class Collection(Printable):
    """Tasks and counts of all files read so far. Formats add to it."""

    pairs: Codes = field(default_factory=Codes)
    systems: Codes = field(default_factory=Codes)
    segments: Codes = field(default_factory=Codes)
    judges: Codes = field(default_factory=Codes)
    parts: list[tuple[CodeArray, CodeArray, CodeArray, CodeArray, NDArray[np.int16]]] = field(
        default_factory=list
    )
    counts: dict[str, Counter[tuple[str, str, str]]] = field(default_factory=dict)

    def add_tasks(
        self,
        pairs: Sequence[str],
        segments: Sequence[str],
        judges: Sequence[str],
        systems: Sequence[Sequence[str | None]],
        ranks: NDArray[np.int16],
    ) -> None:
        """Adds n tasks.

        systems  for each of w places, n names; None for an empty place
        ranks    (n, w); -1 where left blank
        """
        shown = []
        for names in systems:
            places = self.systems.codes("" if name is None else name for name in names)
            empty = self.systems.numbers.get("", -1)
            shown.append(np.where(places == empty, -1, places).astype(np.int32))
        codes = self.pairs.codes(pairs), self.segments.codes(segments), self.judges.codes(judges)
        self.parts.append((*codes, np.stack(shown, axis=1), ranks))

    def add_counts(self, pair: str, a: str, b: str, wins: int, ties: int, losses: int) -> None:
        """Adds the judgements of a pair of systems, given once."""
        counter = self.counts.setdefault(pair, Counter())
        counter[a, "wins", b] += wins
        counter[b, "wins", a] += losses
        counter[a, "ties", b] += ties
        counter[b, "ties", a] += ties

    def judged_pairs(self) -> dict[str, JudgedPair]:
        """Judgements by language pair; raises InputError for a pair both as tasks and as counts."""
        both = sorted(set(self.pairs.numbers) & set(self.counts))
        if both:
            raise InputError(
                f"the pair {both[0]} comes both as tasks and as counts",
                remedy="rank them apart: intervals and agreement need tasks",
            )
        judged = {name: self._from_tasks(name) for name in self.pairs.texts}
        note = "only counts are given: no intervals, no rank ranges, no agreement between judges"
        for name, counter in self.counts.items():
            systems = tuple(sorted({system for system, _, _ in counter}))
            wins, ties = (
                np.array([[counter[a, kind, b] for b in systems] for a in systems], np.int64)
                for kind in ("wins", "ties")
            )
            judged[name] = JudgedPair(name, PairwiseCounts(systems, wins, ties), None, (note,))
        return judged

    def _from_tasks(self, name: str) -> JudgedPair:
        number = self.pairs.numbers[name]
        width = max(shown.shape[1] for _, _, _, shown, _ in self.parts)
        columns = [
            (segment[own], judge[own], _widened(shown[own], width), _widened(ranks[own], width))
            for pair, segment, judge, shown, ranks in self.parts
            if (own := pair == number).any()
        ]
        segment, judge, shown, ranks = (np.concatenate(column) for column in zip(*columns, strict=True))
        texts = self.systems.texts
        codes = sorted((int(code) for code in np.unique(shown[shown >= 0])), key=texts.__getitem__)
        places = np.full(len(texts) + 1, -1, np.int32)  # its last entry is that of code -1
        places[codes] = np.arange(len(codes))
        systems = tuple(texts[code] for code in codes)
        judged = comparisons(systems, places[shown], ranks, segment, judge)
        silent, notes = judged.tasks - len(np.unique(judged.task)), []
        if judged.with_itself:
            notes.append(f"{judged.with_itself} comparisons of a system with itself say nothing")
        if judged.silent:
            notes.append(f"shown, but compared with no other system: {', '.join(judged.silent)}")
        if silent:
            notes.append(f"{silent:,} of {judged.tasks:,} tasks compare no two systems")
        return JudgedPair(name, judged.counts(), judged, tuple(notes))


def _widened(array: NDArray[np.generic], width: int) -> NDArray[np.generic]:
    return np.pad(array, ((0, 0), (0, width - array.shape[1])), constant_values=-1)
