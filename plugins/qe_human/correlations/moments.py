"""Pearson's and Spearman's correlation of segment scores: within groups of cells, averaged over groups."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import sparse, stats

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.basics.errors import InputError
from qe_human.correlation import CORRELATIONS, Correlation, Level, Problem
from qe_human.human import Human

Group = Literal["none", "item", "system"]
_CONSTANT = 1e-20  # variances below this share of the mean square are rounding


class MomentProblem(Problem):
    def __init__(self, human: Human, defined: BoolArray, group: Group, ranks: bool) -> None:
        super().__init__(human)
        if human.scores is None:
            raise InputError("needs human scores of segments, but there are only rankings or system scores")
        judged = defined & ~np.isnan(human.scores)
        self.cells = np.argwhere(judged)
        if len(self.cells) < 2:
            raise InputError("needs at least 2 translations that people and all metrics score")
        self.group, self.ranks = group, ranks
        codes = {"none": 0 * self.cells[:, 0], "item": self.cells[:, 0], "system": self.cells[:, 1]}[group]
        self.codes, self.places = np.unique(codes, return_inverse=True)
        self.gold = self._ranked(human.scores[judged])
        if group == "none":
            self.williams = len(self.cells)
        self.groups = self._differing(self.gold)

    def weighted(self, values: FloatArray, segments: FloatArray, systems: FloatArray) -> float:
        of_segments, of_systems = segments[self.cells[:, 0]], systems[self.cells[:, 1]]
        if self.group == "none":
            cell, totals = of_segments * of_systems, np.ones(1)
        elif self.group == "item":
            cell, totals = of_systems, segments[self.codes]
        else:
            cell, totals = of_segments, systems[self.codes]
        return _mean_pearson(values, self.gold, cell, self.places, totals)

    def on_common_scale(self, values: FloatArray) -> FloatArray:
        return super().on_common_scale(self._ranked(values))

    def exchanged(self, scores_a: FloatArray, scores_b: FloatArray, heads: BoolArray) -> FloatArray:
        places, n = self.places, np.bincount(self.places)
        middle = (np.bincount(places, scores_a + scores_b) / 2 / n)[places]
        mean_gold = np.bincount(places, self.gold) / n
        gold, sides = self.gold - mean_gold[places], (scores_a - middle, scores_b - middle)
        yy = np.bincount(places, gold * gold)
        varied = yy > _CONSTANT * (yy + n * mean_gold**2)
        coins, scores = heads.astype(np.float64), []
        for a, b in (sides, sides[::-1]):
            parts = ((a, b), (a * a, b * b), (a * gold, b * gold))
            x, xx, xy = (_exchanged_sums(stays, moves, places, coins)[varied] for stays, moves in parts)
            spread = xx - x * x / n[varied, None]
            defined = spread > 1e-14 * xx
            with np.errstate(invalid="ignore", divide="ignore"):
                correlations = np.where(defined, xy / np.sqrt(spread * yy[varied, None]), 0.0)
                scores.append(correlations.sum(axis=0) / defined.sum(axis=0))
        return np.asarray(scores[0] - scores[1])

    def between(self, scores_a: FloatArray, scores_b: FloatArray) -> float:
        n = len(scores_a)
        return _mean_pearson(scores_a, scores_b, np.ones(n), np.zeros(n, np.int64), np.ones(1))

    def _ranked(self, values: FloatArray) -> FloatArray:
        if not self.ranks:
            return np.ascontiguousarray(values, np.float64)
        order = np.argsort(self.places, kind="stable")
        ranked = np.empty(len(values))
        for rows in np.split(order, np.cumsum(np.bincount(self.places))[:-1]):
            ranked[rows] = stats.rankdata(values[rows])
        return ranked

    def _differing(self, values: FloatArray) -> int:
        low, high = np.full(len(self.codes), np.inf), np.full(len(self.codes), -np.inf)
        np.minimum.at(low, self.places, values)
        np.maximum.at(high, self.places, values)
        return int((high > low).sum())


def _exchanged_sums(stays: FloatArray, moves: FloatArray, places: IntArray, coins: FloatArray) -> FloatArray:
    steps = sparse.csr_array((moves - stays, (places, np.arange(len(places)))))
    return np.asarray(np.bincount(places, stays)[:, None] + steps @ coins)


def _mean_pearson(
    x: FloatArray, y: FloatArray, cell: FloatArray, places: IntArray, totals: FloatArray
) -> float:
    def sums(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(places, cell * values, len(totals)))

    total = sums(np.ones(len(x)))
    with np.errstate(invalid="ignore", divide="ignore"):
        x_mean, y_mean = sums(x) / total, sums(y) / total
        dx, dy = x - x_mean[places], y - y_mean[places]
        xx, yy, xy = sums(dx * dx), sums(dy * dy), sums(dx * dy)
        varied = (xx > _CONSTANT * (xx + total * x_mean**2)) & (yy > _CONSTANT * (yy + total * y_mean**2))
        correlations = xy / np.sqrt(xx * yy)
    weights = np.where(varied & (total > 0), totals, 0.0)
    defined = weights > 0
    return float(weights[defined] @ correlations[defined] / weights.sum()) if defined.any() else float("nan")


@CORRELATIONS.register("pearson")
@dataclass(frozen=True)
class Pearson(Correlation):
    """Pearson's r of all translations, or within segments (`item`) or systems, averaged.

    A segment in which a side is constant is left out of the average.
    """

    title: ClassVar[str] = "Pearson"
    level: ClassVar[Level] = "segment"
    group: Group = "none"

    def problem(self, human: Human, defined: BoolArray, whole_systems: bool = False) -> MomentProblem:
        return MomentProblem(human, defined, self.group, ranks=False)


@CORRELATIONS.register("spearman")
@dataclass(frozen=True)
class Spearman(Correlation):
    """Spearman's rho of all translations, or within segments (`item`) or systems, averaged.

    Exchanges and bootstrap samples keep the ranks of the whole data.
    """

    title: ClassVar[str] = "Spearman"
    level: ClassVar[Level] = "segment"
    group: Group = "none"

    def problem(self, human: Human, defined: BoolArray, whole_systems: bool = False) -> MomentProblem:
        return MomentProblem(human, defined, self.group, ranks=True)
