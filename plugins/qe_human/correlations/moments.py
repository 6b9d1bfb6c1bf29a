"""Pearson's and Spearman's correlation of segment scores: within groups of cells, averaged over groups."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numba
import numpy as np
from scipy import stats

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError
from qe_human.correlation import CORRELATIONS, Correlation, Level, Problem
from qe_human.human import Human

Group = Literal["none", "item", "system"]
_CONSTANT = 1e-20  # variances below this share of the mean square are rounding


class MomentProblem(Problem):
    """Pearson's or Spearman's correlation of the cells with a human score.

    group  none: of all cells; item: of the systems' scores of each segment, averaged over the segments;
           system: of the segments' scores of each system, averaged over the systems. Groups without a
           defined correlation (a side is constant) are left out of the average.
    """

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
        return float(_mean_pearson(values, self.gold, cell, self.places, totals))

    def on_common_scale(self, values: FloatArray) -> FloatArray:
        return super().on_common_scale(self._ranked(values))

    def exchanged(self, scores_a: FloatArray, scores_b: FloatArray, heads: BoolArray) -> FloatArray:
        order, values = np.argsort(self.places, kind="stable"), np.empty(heads.shape[1])
        starts = np.append(0, np.cumsum(np.bincount(self.places)))
        _differences(scores_a, scores_b, self.gold, order, starts, np.ascontiguousarray(heads), values)
        return values

    def between(self, scores_a: FloatArray, scores_b: FloatArray) -> float:
        one = np.ones(1)
        return float(
            _mean_pearson(scores_a, scores_b, np.ones(len(scores_a)), np.zeros(len(scores_a), np.int64), one)
        )

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


@numba.njit(cache=True, nogil=True)
def _mean_pearson(x: Any, y: Any, cell: Any, places: Any, totals: Any) -> Any:
    groups = len(totals)
    total, sx, sy = np.zeros(groups), np.zeros(groups), np.zeros(groups)
    for i in range(len(x)):
        g, w = places[i], cell[i]
        total[g] += w
        sx[g] += w * x[i]
        sy[g] += w * y[i]
    sxx, syy, sxy = np.zeros(groups), np.zeros(groups), np.zeros(groups)
    for i in range(len(x)):
        g, w = places[i], cell[i]
        if w > 0:
            dx, dy = x[i] - sx[g] / total[g], y[i] - sy[g] / total[g]
            sxx[g] += w * dx * dx
            syy[g] += w * dy * dy
            sxy[g] += w * dx * dy
    mean, weight = 0.0, 0.0
    for g in range(groups):
        if totals[g] > 0 and total[g] > 0:
            x0, y0 = sx[g] ** 2 / total[g], sy[g] ** 2 / total[g]
            if sxx[g] > _CONSTANT * (sxx[g] + x0) and syy[g] > _CONSTANT * (syy[g] + y0):
                mean += totals[g] * sxy[g] / np.sqrt(sxx[g] * syy[g])
                weight += totals[g]
    return mean / weight if weight > 0 else np.nan


@numba.njit(cache=True, nogil=True)
def _differences(
    scores_a: Any, scores_b: Any, gold: Any, order: Any, starts: Any, heads: Any, result: Any
) -> None:
    samples = heads.shape[1]
    sums, mean = np.empty((6, samples)), np.zeros((2, samples))
    defined = np.zeros((2, samples), np.int64)
    for g in range(len(starts) - 1):
        cells = order[starts[g] : starts[g + 1]]
        n = len(cells)
        sums[:] = 0.0
        y, a0, b0 = gold[cells].mean(), scores_a[cells].mean(), scores_b[cells].mean()
        middle, yy = (a0 + b0) / 2, 0.0
        for i in cells:
            a, b, weight, row = scores_a[i] - middle, scores_b[i] - middle, gold[i] - y, heads[i]
            yy += weight * weight
            for s in range(samples):
                p, q = (b, a) if row[s] else (a, b)
                sums[0, s] += p
                sums[1, s] += p * p
                sums[2, s] += p * weight
                sums[3, s] += q
                sums[4, s] += q * q
                sums[5, s] += q * weight
        if not yy > _CONSTANT * (yy + n * y * y):
            continue
        for side in range(2):
            for s in range(samples):
                x, xx = sums[3 * side, s] / n, sums[3 * side + 1, s]
                spread = xx - n * x * x
                if spread > 1e-14 * xx:
                    mean[side, s] += sums[3 * side + 2, s] / np.sqrt(spread * yy)
                    defined[side, s] += 1
    for s in range(samples):
        first = mean[0, s] / defined[0, s] if defined[0, s] > 0 else np.nan
        second = mean[1, s] / defined[1, s] if defined[1, s] > 0 else np.nan
        result[s] = first - second


@CORRELATIONS.register("pearson")
@dataclass(frozen=True)
class Pearson(Correlation):
    """Pearson's r of all translations, or within segments (`item`) or systems, averaged. A segment in which
    a side is constant is left out of the average.
    """

    title: ClassVar[str] = "Pearson"
    level: ClassVar[Level] = "segment"
    group: Group = "none"

    def problem(self, human: Human, defined: BoolArray, whole_systems: bool = False) -> MomentProblem:
        return MomentProblem(human, defined, self.group, ranks=False)


@CORRELATIONS.register("spearman")
@dataclass(frozen=True)
class Spearman(Correlation):
    """Spearman's rho of all translations, or within segments (`item`) or systems, averaged. Exchanges and
    bootstrap samples keep the ranks of the whole data.
    """

    title: ClassVar[str] = "Spearman"
    level: ClassVar[Level] = "segment"
    group: Group = "none"

    def problem(self, human: Human, defined: BoolArray, whole_systems: bool = False) -> MomentProblem:
        return MomentProblem(human, defined, self.group, ranks=True)
