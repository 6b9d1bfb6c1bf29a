"""Agreement on pairs of translations that people compared, directly or by their scores: Kendall, acc_eq."""

from abc import abstractmethod
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Literal

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.basics.errors import InputError
from qe_human.human import CORRELATIONS, Correlation, Human, Level, Problem, Resampled


@dataclass(frozen=True, eq=False)
class Pairs:
    """p pairs of n cells, in the order of their groups.

    cells          (n, 2) segment and system
    first, second  (p,) places in cells
    sign           (p,) 1 if people found the first better, -1 if the second, 0 for a tie
    starts         (g + 1,) where the pairs of each group start
    groups         (g,) segment of each group
    """

    cells: IntArray
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    sign: NDArray[np.int8]
    starts: IntArray
    groups: IntArray


def pairs_within_segments(human: Human, defined: BoolArray, *, ties: bool) -> Pairs:
    """All pairs of systems on each segment, ties too with `ties`; raises InputError if there are none."""
    if human.scores is not None:
        scores, judged = human.scores, defined & ~np.isnan(human.scores)
        none = np.empty(0, np.int64)
        parts: list[tuple[IntArray, IntArray, IntArray, FloatArray]] = [(none, none, none, np.empty(0))]
        for i, j in combinations(range(len(human.systems)), 2):
            rows = np.flatnonzero(judged[:, i] & judged[:, j])
            parts.append((rows, 0 * rows + i, 0 * rows + j, np.sign(scores[rows, i] - scores[rows, j])))
        segment, a, b, sign = (np.concatenate(column) for column in zip(*parts, strict=True))
    elif (given := human.preferences) is not None:
        both = defined[given.segment, given.first] & defined[given.segment, given.second]
        segment, a, b = given.segment[both], given.first[both], given.second[both]
        sign = given.outcome[both].astype(np.float64)
    else:
        raise InputError("needs human judgements of segments, but there are only system scores")
    if not ties:
        decided = sign != 0
        segment, a, b, sign = segment[decided], a[decided], b[decided], sign[decided]
    if not len(segment):
        raise InputError("needs translations of one segment with human scores and scores of all metrics")
    order = np.argsort(segment, kind="stable")
    segment, a, b, sign = segment[order], a[order], b[order], sign[order]
    systems = len(human.systems)
    used, places = np.unique(np.append(segment * systems + a, segment * systems + b), return_inverse=True)
    first, second = places.reshape(2, -1).astype(np.int32)
    groups, starts = np.unique(segment, return_index=True)
    cells = np.stack([used // systems, used % systems], axis=1)
    return Pairs(cells, first, second, sign.astype(np.int8), np.append(starts, len(segment)), groups)


@CORRELATIONS.register("kendall_wmt12")
@dataclass(frozen=True)
class KendallWmt12(Correlation):
    """(concordant - discordant) / all pairs that people found different.

    Pairs are translations of one segment: from rankings, every judgement is one, as often as it was made;
    from scores, every two systems. A pair that the metric scores equal counts as discordant. Source:
    Callison-Burch et al. 2012, section 5.2, as Machacek and Bojar 2014, section 4, spell it out.
    """

    title: ClassVar[str] = "Kendall (WMT12)"
    level: ClassVar[Level] = "segment"

    def problem(self, human: Human, defined: BoolArray, whole_systems: bool = False) -> Problem:
        return _KendallProblem(human, defined)


class _KendallProblem(Problem):
    def __init__(self, human: Human, defined: BoolArray) -> None:
        super().__init__(human)
        self.pairs = pairs_within_segments(human, defined, ties=False)
        self.cells, self.groups = self.pairs.cells, len(self.pairs.groups)

    def weighted(self, values: FloatArray, segments: FloatArray, systems: FloatArray) -> float:
        pairs = self.pairs
        cell, totals = systems[pairs.cells[:, 1]], np.repeat(segments[pairs.groups], np.diff(pairs.starts))
        weights = totals * cell[pairs.first] * cell[pairs.second]
        concordant = (values[pairs.first] - values[pairs.second]) * pairs.sign > 0
        total = weights.sum()
        return float(2 * weights[concordant].sum() / total - 1) if total > 0 else float("nan")

    def exchanged(self, first: FloatArray, second: FloatArray, heads: BoolArray) -> FloatArray:
        pairs, sides = self.pairs, (first, second)
        better, worse = pairs.first, pairs.second
        faces = [((a[better] - b[worse]) * pairs.sign > 0).astype(np.float64) for a in sides for b in sides]
        both, one = faces[3] - faces[0], faces[2] - faces[1]
        slopes = np.bincount(better, both + one, len(first)) + np.bincount(worse, both - one, len(first))
        return np.asarray(slopes @ (2.0 * heads - 1.0) / len(pairs.sign))

    def details(self, values: FloatArray) -> dict[str, float]:
        return {"pairs": float(len(self.pairs.sign))}


_BINS = 1 << 16


def calibrated_on_all_pairs(
    values: FloatArray, gold: FloatArray, calibrate: bool = True
) -> tuple[float, float]:
    """The best threshold (see `best_threshold`) and its accuracy over all pairs of (n,) values."""
    n = len(values)
    pairs = n * (n - 1) // 2
    gains, losses = np.zeros(_BINS, np.int64), np.zeros(_BINS, np.int64)
    low, high = np.full(_BINS, np.inf), np.zeros(_BINS)
    width = float(np.ptp(values)) / _BINS or 1.0
    base = int(_count(values, gold, width, gains, losses, low, high))
    if not calibrate:
        return 0.0, base / pairs
    at_edge = base + np.append(0, np.cumsum(gains - losses))
    best = int(np.argmax(at_edge))
    # If all differences of a bin are the same, its edge says all.
    inside = (gains > 0) & (low < high) & (at_edge[:-1] + gains >= at_edge[best])
    total = int((gains + losses)[inside].sum())
    sizes, changes = np.empty(total), np.empty(total, np.int64)
    _collect(values, gold, width, inside, sizes, changes)
    order = np.argsort(sizes, kind="stable")
    sizes, changes = sizes[order], changes[order]
    bins = np.minimum((sizes / width).astype(np.int64), _BINS - 1)
    answers = [(int(at_edge[best]), -(0.0 if best == 0 else float(high[best - 1])))]
    for number in np.flatnonzero(inside):
        first, end = np.searchsorted(bins, [number, number + 1])
        reached = at_edge[number] + np.cumsum(changes[first:end])
        last = np.append(np.diff(sizes[first:end]) > 0, True)
        place = int(np.argmax(reached[last]))
        answers.append((int(reached[last][place]), -float(sizes[first:end][last][place])))
    correct, threshold = max(answers)  # of equal ones, the smallest threshold
    return abs(threshold), correct / pairs


@numba.njit(cache=True, nogil=True)
def _count(values: Any, gold: Any, width: float, gains: Any, losses: Any, low: Any, high: Any) -> int:
    base = 0
    for i in range(len(values)):
        for j in range(i):
            difference, judged = values[i] - values[j], gold[i] - gold[j]
            if difference == 0:
                base += judged == 0
                continue
            concordant = judged != 0 and (difference > 0) == (judged > 0)
            if concordant or judged == 0:
                size = abs(difference)
                place = min(int(size / width), len(gains) - 1)
                low[place], high[place] = min(low[place], size), max(high[place], size)
                gains[place] += not concordant
                losses[place] += concordant
                base += concordant
    return base


@numba.njit(cache=True, nogil=True)
def _collect(values: Any, gold: Any, width: float, indices: Any, sizes: Any, changes: Any) -> None:
    at = 0
    for i in range(len(values)):
        for j in range(i):
            difference, judged = values[i] - values[j], gold[i] - gold[j]
            if difference == 0 or (judged != 0 and (difference > 0) != (judged > 0)):
                continue
            if indices[min(int(abs(difference) / width), len(indices) - 1)]:
                sizes[at], changes[at] = abs(difference), 1 if judged == 0 else -1
                at += 1


_DRAWN = 1 << 16  # pairs of all translations that exchanges and bootstrap samples look at


@CORRELATIONS.register("acc_eq")
@dataclass(frozen=True)
class AccEq(Correlation):
    """Share of pairs that the metric orders, or ties, as people do (acc_eq, "accuracy*").

    The metric finds two translations equal if their scores differ by at most a threshold, the one that
    gives the metric its highest accuracy on these data (the smallest of them); `calibrate=false` takes 0.
    Exchanges and bootstrap samples calibrate again, as exactly; without groups they look at 65,536 pairs that
    are drawn once. Source: Deutsch, Foster and Freitag 2023, sections 5 and 6.

    Parameters
    ----------
    group : {'item', 'none'}, default='item'
        item: pairs of translations of one segment, averaged over the segments; none: pairs of all
        translations.
    """

    title: ClassVar[str] = "calibrated accuracy"
    level: ClassVar[Level] = "segment"
    group: Literal["item", "none"] = "item"
    calibrate: bool = True
    seed: int = 0

    def problem(self, human: Human, defined: BoolArray, whole_systems: bool = False) -> Problem:
        if self.group == "item":
            return _ItemProblem(human, defined, self.calibrate)
        return _AllProblem(human, defined, self.calibrate, self.seed)


class _PairProblem(Problem):
    pairs: Pairs

    def __init__(self, human: Human, calibrate: bool) -> None:
        super().__init__(human)
        self.calibrate = calibrate

    @abstractmethod
    def weights(self, segments: FloatArray, systems: FloatArray) -> tuple[FloatArray, FloatArray]:
        pass

    def weighted(self, values: FloatArray, segments: FloatArray, systems: FloatArray) -> float:
        return self.resampled(values)(segments, systems)

    def resampled(self, values: FloatArray) -> Resampled:
        pairs = self.pairs
        steps = _steps(values[pairs.first] - values[pairs.second], pairs.sign)
        places = np.repeat(np.arange(len(pairs.groups)), np.diff(pairs.starts))

        def score(segments: FloatArray, systems: FloatArray) -> float:
            cell, whole = self.weights(segments, systems)
            each = cell[pairs.first] * cell[pairs.second]
            totals = np.bincount(places, each, len(pairs.groups))
            counted = np.where(totals > 0, whole, 0.0)
            if not counted.sum() > 0:
                return float("nan")
            shares = counted / np.where(totals > 0, totals, 1.0) / counted.sum()
            return float(_best(*steps, each * shares[places], self.calibrate))

        return score

    def exchanged(self, first: FloatArray, second: FloatArray, heads: BoolArray) -> FloatArray:
        pairs, sides = self.pairs, (first, second)
        faces = [one[pairs.first] - two[pairs.second] for one in sides for two in sides]
        steps = _steps(np.concatenate(faces), np.tile(pairs.sign, len(faces)))
        sizes = np.diff(pairs.starts)
        weight = np.repeat(1.0 / sizes / len(sizes), sizes)
        values, coins = np.empty(heads.shape[1]), np.ascontiguousarray(heads).view(np.uint8)
        _best_of_exchanges(*steps, weight, pairs.first, pairs.second, coins, values, self.calibrate)
        return values

    def calibrated(self, values: FloatArray) -> tuple[float, float]:
        pairs = self.pairs
        differences = values[pairs.first] - values[pairs.second]
        sizes = np.diff(pairs.starts)
        weight = np.repeat(1.0 / sizes / len(sizes), sizes)
        return best_threshold(differences, pairs.sign, weight, self.calibrate)

    def score(self, values: FloatArray) -> float:
        return self.calibrated(values)[1]

    def details(self, values: FloatArray) -> dict[str, float]:
        return {"threshold": self.calibrated(values)[0], "pairs": float(len(self.pairs.sign))}


class _ItemProblem(_PairProblem):
    def __init__(self, human: Human, defined: BoolArray, calibrate: bool) -> None:
        super().__init__(human, calibrate)
        self.pairs = pairs_within_segments(human, defined, ties=True)
        self.cells, self.groups = self.pairs.cells, len(self.pairs.groups)

    def weights(self, segments: FloatArray, systems: FloatArray) -> tuple[FloatArray, FloatArray]:
        return systems[self.cells[:, 1]], segments[self.pairs.groups]


class _AllProblem(_PairProblem):
    def __init__(self, human: Human, defined: BoolArray, calibrate: bool, seed: int) -> None:
        super().__init__(human, calibrate)
        if human.scores is None:
            raise InputError("without groups it needs human scores, but there are rankings or system scores")
        judged = defined & ~np.isnan(human.scores)
        self.cells, self.gold = np.argwhere(judged), human.scores[judged]
        if len(self.cells) < 2:
            raise InputError("needs at least 2 translations that people and all metrics score")
        n = len(self.cells)
        if n * (n - 1) // 2 <= _DRAWN:
            first, second = (side.astype(np.int32) for side in np.triu_indices(n, 1))
        else:
            rng = np.random.default_rng(seed)
            first = np.sort(rng.integers(0, n, _DRAWN)).astype(np.int32)  # neighbours in memory
            second = ((first + rng.integers(1, n, _DRAWN)) % n).astype(np.int32)
        sign = np.sign(self.gold[first] - self.gold[second]).astype(np.int8)
        self.pairs = Pairs(self.cells, first, second, sign, np.array([0, len(first)]), np.zeros(1, np.int64))

    def weights(self, segments: FloatArray, systems: FloatArray) -> tuple[FloatArray, FloatArray]:
        return segments[self.cells[:, 0]] * systems[self.cells[:, 1]], np.ones(1)

    def calibrated(self, values: FloatArray) -> tuple[float, float]:
        return calibrated_on_all_pairs(values, self.gold, self.calibrate)

    def details(self, values: FloatArray) -> dict[str, float]:
        n = len(self.cells)
        return {"threshold": self.calibrated(values)[0], "pairs": float(n * (n - 1) // 2)}


def best_threshold(
    differences: FloatArray, sign: NDArray[np.signedinteger], weight: FloatArray, calibrate: bool = True
) -> tuple[float, float]:
    """The threshold (0, or the size of a difference) of the highest accuracy, and that accuracy.

    differences  (p,) the metric's, of the first minus of the second translation
    sign         (p,) of the human difference: 1, -1, 0
    weight       (p,) of the pairs; they sum to 1
    """
    sizes = np.abs(differences)
    correct = np.sign(differences) == sign
    if not calibrate or not len(sizes):
        return 0.0, float(weight @ correct) if len(sizes) else float("nan")
    # What a pair adds to the accuracy once the threshold reaches its difference.
    change = weight * ((sign == 0).astype(np.float64) - correct)
    order = np.argsort(sizes)
    thresholds = np.append(0.0, sizes[order])
    accuracies = float(weight @ correct) + np.append(0.0, np.cumsum(change[order]))
    last = np.append(np.diff(thresholds) > 0, True)
    best = int(np.argmax(np.round(accuracies[last], 12)))
    return float(thresholds[last][best]), float(accuracies[last][best])


def _steps(
    differences: FloatArray, sign: NDArray[np.signedinteger]
) -> tuple[IntArray, NDArray[np.int8], BoolArray, int]:
    """Places by size of the difference, what each adds once tied, where equal sizes end, how many are 0."""
    sizes = np.abs(differences)
    order = np.argsort(sizes, kind="stable")
    change = np.where(sign == 0, 1, -(differences * sign > 0).astype(np.int8))[order]
    ends = np.append(np.diff(sizes[order]) > 0, True)
    return order, change.astype(np.int8), ends, int((sizes == 0).sum())


@numba.njit(cache=True, nogil=True)
def _best(order: Any, change: Any, ends: Any, zeros: int, weight: Any, calibrate: bool) -> Any:
    ordered, now, best = 0.0, 0.0, 0.0
    for e in range(len(order)):
        w = weight[order[e]]
        ordered += w if change[e] < 0 else 0.0
        now += change[e] * w
        if e < zeros or (calibrate and ends[e] and now > best):
            best = now
    return ordered + best


@numba.njit(cache=True, nogil=True)
def _best_of_exchanges(
    order: Any, change: Any, ends: Any, zeros: int, weight: Any, first_cells: Any, second_cells: Any,
    heads: Any, result: Any, calibrate: bool,
) -> None:  # fmt: skip
    pairs, samples = len(first_cells), heads.shape[1]
    ordered, now, best = np.zeros((2, samples)), np.zeros((2, samples)), np.zeros((2, samples))
    gained = False
    for e in range(len(order)):
        pair, face = order[e] % pairs, order[e] // pairs
        if change[e] != 0:
            step, kept = change[e] * weight[pair], weight[pair] if change[e] < 0 else 0.0
            a, b = heads[first_cells[pair]], heads[second_cells[pair]]
            for s in range(samples):
                shown = 2 * a[s] + b[s]
                first, second = 1.0 if shown == face else 0.0, 1.0 if shown == 3 - face else 0.0
                now[0, s] += step * first
                now[1, s] += step * second
                ordered[0, s] += kept * first
                ordered[1, s] += kept * second
            gained = gained or change[e] > 0
        if gained and (e == zeros - 1 or (calibrate and e >= zeros and ends[e])):
            for side in range(2):
                for s in range(samples):
                    best[side, s] = now[side, s] if e < zeros else max(best[side, s], now[side, s])
            gained = False
    for s in range(samples):
        result[s] = ordered[0, s] + best[0, s] - ordered[1, s] - best[1, s]
