"""Pairwise accuracy with ties of segment scores, the metric's ties calibrated."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.basics.errors import InputError
from qe.people.correlation import Correlation, Level, Problem
from qe.people.correlations._all_pairs import calibrated_on_all_pairs
from qe.people.correlations._pairs import Pairs, pairs_within_segments
from qe.people.human import Human

_BINS = 1024  # thresholds that exchanges and bootstrap samples choose from
_DRAWN = 1 << 16  # pairs of all translations that they look at


@dataclass(frozen=True)
class AccEq(Correlation):
    """Share of pairs that the metric orders as people do, or finds equal as they do (acc_eq, "accuracy*").

    group  item: pairs of translations of one segment, averaged over the segments; none: pairs of all
           translations

    The metric finds two translations equal if their scores differ by no more than a threshold, the one that
    gives the metric its highest accuracy on these data (the smallest of them); `calibrate=false` takes 0.
    Exchanges and bootstrap samples calibrate anew, to one of 1,024 thresholds; without groups they look at
    65,536 pairs that are drawn once. Source: Deutsch, Foster and Freitag 2023, sections 5 and 6.
    """

    level: ClassVar[Level] = "segment"
    group: Literal["item", "none"] = "item"
    calibrate: bool = True
    seed: int = 0

    def problem(self, human: Human, known: BoolArray, whole_systems: bool = False) -> Problem:
        if self.group == "item":
            return _ItemProblem(human, known, self.calibrate)
        return _AllProblem(human, known, self.calibrate, self.seed)


class _PairProblem(Problem):
    """Pairs in groups, accuracies averaged over groups."""

    pairs: Pairs

    def __init__(self, human: Human, calibrate: bool) -> None:
        super().__init__(human)
        self.calibrate = calibrate

    def accuracy(self, values: FloatArray, cell: FloatArray, whole: FloatArray) -> float:
        pairs, bins = self.pairs, _BINS if self.calibrate else 1
        return float(
            _best_of_grid(values, pairs.left, pairs.right, pairs.sign, pairs.starts, cell, whole, bins)
        )

    def calibrated(self, values: FloatArray) -> tuple[float, float]:
        """The best threshold and its accuracy, exact."""
        pairs = self.pairs
        differences = values[pairs.left] - values[pairs.right]
        sizes = np.diff(pairs.starts)
        weight = np.repeat(1.0 / sizes / len(sizes), sizes)
        return best_threshold(differences, pairs.sign, weight, self.calibrate)

    def score(self, values: FloatArray) -> float:
        return self.calibrated(values)[1]

    def details(self, values: FloatArray) -> dict[str, float]:
        return {"threshold": self.calibrated(values)[0], "pairs": float(len(self.pairs.sign))}


class _ItemProblem(_PairProblem):
    def __init__(self, human: Human, known: BoolArray, calibrate: bool) -> None:
        super().__init__(human, calibrate)
        self.pairs = pairs_within_segments(human, known, ties=True)
        self.cells, self.groups = self.pairs.cells, len(self.pairs.groups)

    def weighted(self, values: FloatArray, segments: FloatArray, systems: FloatArray) -> float:
        return self.accuracy(values, systems[self.cells[:, 1]], segments[self.pairs.groups])


class _AllProblem(_PairProblem):
    def __init__(self, human: Human, known: BoolArray, calibrate: bool, seed: int) -> None:
        super().__init__(human, calibrate)
        if human.scores is None:
            raise InputError("without groups it needs human scores, but there are rankings or system scores")
        judged = known & ~np.isnan(human.scores)
        self.cells, self.gold = np.argwhere(judged), human.scores[judged]
        if len(self.cells) < 2:
            raise InputError("needs at least 2 translations that people and all metrics score")
        left, right = (side.astype(np.int32) for side in _drawn_pairs(len(self.cells), seed))
        sign = np.sign(self.gold[left] - self.gold[right]).astype(np.int8)
        self.pairs = Pairs(self.cells, left, right, sign, np.array([0, len(left)]), np.zeros(1, np.int64))

    def weighted(self, values: FloatArray, segments: FloatArray, systems: FloatArray) -> float:
        cell = segments[self.cells[:, 0]] * systems[self.cells[:, 1]]
        return self.accuracy(values, cell, np.ones(1))

    def calibrated(self, values: FloatArray) -> tuple[float, float]:
        return calibrated_on_all_pairs(values, self.gold, self.calibrate)

    def details(self, values: FloatArray) -> dict[str, float]:
        n = len(self.cells)
        return {"threshold": self.calibrated(values)[0], "pairs": float(n * (n - 1) // 2)}


def best_threshold(
    differences: FloatArray, sign: NDArray[np.signedinteger], weight: FloatArray, calibrate: bool = True
) -> tuple[float, float]:
    """The threshold (0, or the size of a difference) of the highest accuracy, and that accuracy.

    differences  (p,) the metric's, of the left minus of the right translation
    sign         (p,) what people said: 1, -1, 0
    weight       (p,) of the pairs; they sum up to 1

    >>> metric, human = np.array([0.0, 2, 6, 8]), np.array([1, 1, 1, 4])
    >>> a, b = np.triu_indices(4, 1)
    >>> best_threshold(metric[a] - metric[b], np.sign(human[a] - human[b]), np.full(6, 1 / 6))
    (4.0, 0.6666666666666666)
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


def _drawn_pairs(n: int, seed: int) -> tuple[IntArray, IntArray]:
    """All pairs of n cells, or so many drawn ones."""
    if n * (n - 1) // 2 <= _DRAWN:
        left, right = np.triu_indices(n, 1)
        return left, right
    rng = np.random.default_rng(seed)
    left = np.sort(rng.integers(0, n, _DRAWN))  # neighbours in memory
    right = (left + rng.integers(1, n, _DRAWN)) % n
    return left, right


@numba.njit(cache=True, nogil=True)
def _best_of_grid(
    values: Any, left: Any, right: Any, sign: Any, starts: Any, cell: Any, whole: Any, bins: int
) -> Any:
    """The highest weighted accuracy among thresholds on a grid; the first one is 0."""
    spread = values.max() - values.min()
    per_unit = bins / spread if spread > 0 else 0.0
    change = np.zeros(bins + 1)
    weight, base = 0.0, 0.0
    for g in range(len(whole)):
        if whole[g] == 0:
            continue
        total = 0.0
        for p in range(starts[g], starts[g + 1]):
            total += cell[left[p]] * cell[right[p]]
        if total == 0:
            continue
        weight += whole[g]
        share = whole[g] / total
        for p in range(starts[g], starts[g + 1]):
            w = share * cell[left[p]] * cell[right[p]]
            difference = values[left[p]] - values[right[p]]
            size = abs(difference)
            place = min(int(size * per_unit), bins - 1) + int(size > 0)
            # Without branches, which nobody could predict.
            concordant = int(difference * sign[p] > 0)
            base += w * concordant
            change[place] += w * (int(sign[p] == 0) - concordant)
    base += change[0]
    if weight == 0:
        return np.nan
    best, now = base, base
    for place in range(1, bins + 1):
        now += change[place]
        if bins > 1 and now > best:
            best = now
    return best / weight
