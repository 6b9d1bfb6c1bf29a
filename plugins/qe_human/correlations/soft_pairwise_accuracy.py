"""Soft pairwise accuracy: metric and people compared by how sure they are of each pair."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import ndtr

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.basics.errors import InputError
from qe.statistics.draws import coin_sums
from qe_human.correlation import Correlation, Level, Problem
from qe_human.correlations._systems import JudgedSystems
from qe_human.human import Human


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
