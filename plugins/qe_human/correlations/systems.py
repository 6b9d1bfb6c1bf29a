"""Correlations of systems' scores, and of segments by moments (Pearson, Spearman)."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import sparse, stats
from scipy.special import ndtr

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.basics.errors import InputError
from qe.statistics.draws import coin_sums
from qe_human.human import CORRELATIONS, Correlation, Human, Level, Problem

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
        low, high = np.full(len(self.codes), np.inf), np.full(len(self.codes), -np.inf)
        np.minimum.at(low, self.places, self.gold)
        np.maximum.at(high, self.places, self.gold)
        self.groups = int((high > low).sum())

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
    ranks: ClassVar[bool] = False
    group: Group = "none"

    def problem(self, human: Human, defined: BoolArray, whole_systems: bool = False) -> MomentProblem:
        return MomentProblem(human, defined, self.group, self.ranks)


@CORRELATIONS.register("spearman")
@dataclass(frozen=True)
class Spearman(Pearson):
    """Spearman's rho of all translations, or within segments (`item`) or systems, averaged.

    Exchanges and bootstrap samples keep the ranks of the whole data.
    """

    title: ClassVar[str] = "Spearman"
    ranks: ClassVar[bool] = True


class SystemCorrelation(Correlation):
    """A function of two scores per system, over translations that humans and all metrics score."""

    level: ClassVar[Level] = "system"
    pearson: ClassVar[bool] = False  # whether Williams' test applies

    @abstractmethod
    def correlate(self, metric: FloatArray, human: FloatArray, weights: FloatArray) -> FloatArray:
        """(...) correlations of scores (..., k) with people's (k,), with weights (k,)."""

    def problem(self, human: Human, defined: BoolArray, whole_systems: bool = False) -> Problem:
        return SystemProblem(human, defined, whole_systems, self)


class JudgedSystems(Problem):
    """Scores of the systems that humans and all metrics score; raises InputError for fewer than 2."""

    def __init__(self, human: Human, defined: BoolArray, whole_systems: bool) -> None:
        defined = defined if whole_systems else defined & human.judged()
        human = human if whole_systems else human.select(defined)
        super().__init__(human)
        self.whole_systems = whole_systems
        judged: BoolArray = np.asarray(~np.isnan(human.of_systems()) & defined.any(axis=0))
        if judged.sum() < 2:
            raise InputError(
                f"needs at least 2 systems that people and all metrics score, not {judged.sum()}"
            )
        self.judged, systems = judged, np.flatnonzero(judged)
        if whole_systems:
            self.cells = np.stack([0 * systems, systems], axis=1)
        else:
            self.defined: BoolArray = np.asarray(defined & judged)
            self.cells = np.argwhere(self.defined)
        self.groups = len(systems)

    def matrix(self, values: FloatArray) -> FloatArray:
        table = np.full(self.defined.shape, np.nan)
        table[self.defined] = values
        return table

    def means(self, values: FloatArray, segments: FloatArray) -> FloatArray:
        if self.whole_systems:
            return values
        segment, system = self.cells.T
        weight = segments[segment]
        k = len(self.judged)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.bincount(system, weight * values, k) / np.bincount(system, weight, k)
        return np.asarray(means[self.judged])


class SystemProblem(JudgedSystems):
    def __init__(
        self, human: Human, defined: BoolArray, whole_systems: bool, correlation: SystemCorrelation
    ) -> None:
        super().__init__(human, defined, whole_systems)
        self.correlation = correlation
        self.williams = self.groups if correlation.pearson else None

    def weighted(self, values: FloatArray, segments: FloatArray, systems: FloatArray) -> float:
        metric, human = self.means(values, segments), self.human.of_systems(segments)[self.judged]
        drawn = systems[self.judged]
        shown = drawn > 0
        if shown.sum() < 2 or np.isnan(metric[shown]).any() or np.isnan(human[shown]).any():
            return float("nan")
        return float(self.correlation.correlate(metric[shown], human[shown], drawn[shown]))

    def exchanged(self, x: FloatArray, y: FloatArray, heads: BoolArray) -> FloatArray:
        system, k = self.cells[:, 1], len(self.judged)
        steps = sparse.csr_array((y - x, (system, np.arange(len(x)))), shape=(k, len(x)))
        sums = np.bincount(system, x, k)[:, None] + steps @ heads.astype(np.float64)
        sides = sums, np.bincount(system, x + y, k)[:, None] - sums
        count = np.bincount(system, minlength=k)[self.judged]
        human = self.human.of_systems(self.each_segment)[self.judged]
        first, second = (
            self.correlation.correlate(side[self.judged].T / count, human, np.ones(len(human)))
            for side in sides
        )
        return first - second

    def between(self, x: FloatArray, y: FloatArray) -> float:
        first, second = self.means(x, self.each_segment), self.means(y, self.each_segment)
        return float(self.correlation.correlate(first, second, np.ones(len(first))))


@CORRELATIONS.register("pairwise_accuracy")
@dataclass(frozen=True)
class PairwiseAccuracy(SystemCorrelation):
    """Share of system pairs whose difference has the same sign by metric and people. 0 is a sign, too.

    Source: Kocmi et al. 2021, "To Ship or Not to Ship", equation 1.
    """

    title: ClassVar[str] = "pairwise accuracy"

    def correlate(self, metric: FloatArray, human: FloatArray, weights: FloatArray) -> FloatArray:
        a, b = np.triu_indices(len(human), 1)
        same = np.sign(metric[..., a] - metric[..., b]) == np.sign(human[a] - human[b])
        drawn = weights[a] * weights[b]  # a system is no pair with itself
        return np.asarray(same @ drawn / drawn.sum())


def weighted_pearson(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted Pearson's r (...) of (..., k) and (k,) values; NaN if one side is constant."""
    constant = (np.ptp(x, axis=-1) == 0) | (np.ptp(y) == 0)
    shares = weights / weights.sum()
    x, y = x - (x @ shares)[..., None], y - y @ shares
    squares = (x * x @ weights) * (y * y @ weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(constant | (squares == 0), np.nan, x * y @ weights / np.sqrt(squares)))


@CORRELATIONS.register("system_pearson")
@dataclass(frozen=True)
class SystemPearson(SystemCorrelation):
    """Pearson's r of the scores of systems."""

    title: ClassVar[str] = "Pearson of systems"
    pearson: ClassVar[bool] = True

    def correlate(self, metric: FloatArray, human: FloatArray, weights: FloatArray) -> FloatArray:
        return weighted_pearson(metric, human, weights)


@CORRELATIONS.register("system_spearman")
@dataclass(frozen=True)
class SystemSpearman(SystemCorrelation):
    """Spearman's rho of the scores of systems, as the metrics tasks up to 2013 report it."""

    title: ClassVar[str] = "Spearman of systems"
    pearson: ClassVar[bool] = True  # of ranks

    def correlate(self, metric: FloatArray, human: FloatArray, weights: FloatArray) -> FloatArray:
        count = weights.astype(np.int64)
        scores, people = (
            stats.rankdata(np.repeat(values, count, axis=-1), axis=-1) for values in (metric, human)
        )
        return weighted_pearson(scores, people, np.ones(len(people)))


@CORRELATIONS.register("soft_pairwise_accuracy")
@dataclass(frozen=True)
class SoftPairwiseAccuracy(Correlation):
    """1 - the mean of |p by people - p by the metric| over all pairs of systems.

    p is that of a one-sided permutation test of the one system being better than the other; an outcome as
    large as the observed one counts half, so that the order of a pair does not matter. `equal=whole` counts
    it whole, for the system whose name comes first, as mt-metrics-eval does. Segments are those that people
    judged for all systems; from rankings, p exchanges a pair's net wins by segment. Exchanges and bootstrap
    samples take the normal approximation of p. Source: Thompson et al. 2024, equations 3 to 5.
    """

    title: ClassVar[str] = "soft pairwise accuracy"
    level: ClassVar[Level] = "system"

    samples: int = 1000
    seed: int = 0
    equal: Literal["half", "whole"] = "half"

    def problem(self, human: Human, defined: BoolArray, whole_systems: bool = False) -> Problem:
        if whole_systems:
            raise InputError("needs segment scores of the metrics")
        if human.scores is None and human.preferences is None:
            raise InputError("needs human judgements of segments, but there are only system scores")
        return _SoftProblem(human, _common(human, defined), self)


class _SoftProblem(JudgedSystems):
    def __init__(self, human: Human, defined: BoolArray, correlation: SoftPairwiseAccuracy) -> None:
        super().__init__(human, defined, whole_systems=False)
        self.soft = correlation
        systems = np.array(sorted(np.flatnonzero(self.judged), key=human.systems.__getitem__))
        self.first, self.second = (systems[side] for side in np.triu_indices(len(systems), 1))
        self.share = {"half": 0.5, "whole": 1.0}[correlation.equal]  # of an outcome that equals the observed
        self.evidence = self._evidence()
        self.human_p = self._permuted(self.evidence)

    def _evidence(self) -> FloatArray:
        if self.human.scores is not None:
            return self._differences(self.human.scores)
        judged = self.human.preferences
        if judged is None:
            raise ValueError("no judgements of segments")
        sides = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        wins = judged.net_wins(len(self.human.segments), list(zip(*sides, strict=True)))
        return np.where(self.first < self.second, wins, -wins)

    def _differences(self, table: FloatArray) -> FloatArray:
        rows = self.defined[:, self.first] & self.defined[:, self.second]
        return np.where(rows, table[:, self.first] - table[:, self.second], 0.0)

    def score(self, values: FloatArray) -> float:
        metric = self._permuted(self._differences(self.matrix(values)))
        return float(1 - np.abs(metric - self.human_p).mean())

    def _permuted(self, differences: FloatArray) -> FloatArray:
        observed = differences.sum(axis=0)
        heads = coin_sums(differences, self.soft.samples, self.soft.seed)
        null = 2 * heads - observed
        rounding = 1e-10 * np.abs(differences).sum(axis=0)
        above, equal = null > observed + rounding, np.abs(null - observed) <= rounding
        return np.asarray(above.mean(axis=0) + self.share * equal.mean(axis=0))

    def weighted(self, values: FloatArray, segments: FloatArray, systems: FloatArray) -> float:
        drawn = systems[self.first] * systems[self.second]
        if drawn.sum() == 0:
            return float("nan")
        human = self._normal_p(segments @ self.evidence, segments @ self.evidence**2)
        table = self.matrix(values)
        if np.array_equal(self.defined.any(axis=1), self.defined[:, self.judged].all(axis=1)):
            table = np.nan_to_num(table)
            products = (table * segments[:, None]).T @ table
            sums, squares = segments @ table, np.diag(products)
            a, b = self.first, self.second
            metric = self._normal_p(sums[a] - sums[b], squares[a] + squares[b] - 2 * products[a, b])
        else:
            differences = self._differences(table)
            metric = self._normal_p(segments @ differences, segments @ differences**2)
        return float(1 - drawn @ np.abs(metric - human) / drawn.sum())

    def _normal_p(self, total: FloatArray, squares: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            p = ndtr(-total / np.sqrt(np.maximum(squares, 1e-300)))
        return np.asarray(np.where(squares > 1e-12, p, self.share))


def _common(human: Human, defined: BoolArray) -> BoolArray:
    if human.scores is None:
        return defined
    judged = ~np.isnan(human.scores)
    systems: IntArray = np.flatnonzero(judged.any(axis=0))
    complete: BoolArray = np.asarray(np.all(judged[:, systems], axis=1))
    if not complete.any():
        raise InputError("no segment has human scores for all systems")
    return defined & judged & complete[:, None]
