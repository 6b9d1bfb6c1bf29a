"""Correlations of scores of whole systems."""

from abc import abstractmethod
from typing import Any, ClassVar

import numba
import numpy as np

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError
from qe_human.correlation import Correlation, Level, Problem
from qe_human.human import Human


class SystemCorrelation(Correlation):
    """A function of two scores per system.

    A metric's scores of systems are the means of its segment scores, or given as such. People's are given,
    means of their scores, or made from rankings. Both are of the same translations: those with human
    judgements and scores of all metrics. An exchange moves segment scores where there are any.
    """

    level: ClassVar[Level] = "system"
    pearson: ClassVar[bool] = False  # whether Williams' test applies

    @abstractmethod
    def correlate(self, metric: FloatArray, human: FloatArray, weights: FloatArray) -> FloatArray:
        """(...) correlations of scores (..., k) with people's (k,), with weights (k,)."""

    def problem(self, human: Human, defined: BoolArray, whole_systems: bool = False) -> Problem:
        return SystemProblem(human, defined, whole_systems, self)


class JudgedSystems(Problem):
    """Scores of the systems that people and all metrics score. Raises InputError for fewer than 2 such
    systems.
    """

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
        """(s, k) segment scores, NaN if there is none."""
        table = np.full(self.defined.shape, np.nan)
        table[self.defined] = values
        return table

    def means(self, values: FloatArray, segments: FloatArray) -> FloatArray:
        """(judged systems,) the metric's scores."""
        if self.whole_systems:
            return values
        segment, system = self.cells.T
        weight = segments[segment]
        k = len(self.judged)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.bincount(system, weight * values, k) / np.bincount(system, weight, k)
        return np.asarray(means[self.judged])

    def exchanged_means(
        self, x: FloatArray, y: FloatArray, heads: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """(B, judged systems) scores of both pseudo-metrics after the exchanges (n, B)."""
        system = self.cells[:, 1]
        sums = np.zeros((len(self.judged), heads.shape[1]))
        _add_shown(x, y, np.ascontiguousarray(heads), system, sums)
        both = np.bincount(system, x + y, len(self.judged))
        count = np.bincount(system, minlength=len(self.judged))[self.judged]
        first, second = sums[self.judged], (both[:, None] - sums)[self.judged]
        return first.T / count, second.T / count


@numba.njit(cache=True, nogil=True)
def _add_shown(x: Any, y: Any, heads: Any, rows: Any, sums: Any) -> None:
    for i in range(len(x)):
        a, b, row, result = x[i], y[i], heads[i], sums[rows[i]]
        for s in range(len(row)):
            result[s] += b if row[s] else a


class SystemProblem(JudgedSystems):
    """See `SystemCorrelation`."""

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
        human = self.human.of_systems(self.each_segment)[self.judged]
        first, second = (
            self.correlation.correlate(means, human, np.ones(len(human)))
            for means in self.exchanged_means(x, y, heads)
        )
        return first - second

    def between(self, x: FloatArray, y: FloatArray) -> float:
        first, second = self.means(x, self.each_segment), self.means(y, self.each_segment)
        return float(self.correlation.correlate(first, second, np.ones(len(first))))
