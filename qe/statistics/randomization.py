"""Approximate randomization: exchanges outputs of two systems to test their difference.

Riezler and Maxwell 2005, Figure 1; stratified over optimizer replications: Clark et al. 2011, section 4.2.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Literal, get_args

import numpy as np

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.basics.errors import InputError, known_name
from qe.statistics.draws import coin_rows, coin_sums, every_choice, part_sums, sample_blocks
from qe.statistics.levels import Groups, group_index, group_sums
from qe.statistics.result import (
    ENUMERATED,
    Aggregate,
    Measure,
    Reach,
    Runs,
    Tail,
    TestResult,
    as_runs,
    check_samples,
    extreme,
    monte_carlo_error,
    p_value,
    rounding,
)

Exchange = Literal["segment", "segment-run", "run", "any"]
EXCHANGES: tuple[str, ...] = get_args(Exchange)
NAME = "approximate randomization"
Exchanged = Callable[[BoolArray], FloatArray]
"""(n, B) segments that change sides -> (B,) differences, for metrics that are no function of sums."""


def randomization_test(
    system: FloatArray,
    baseline: FloatArray,
    aggregate: Aggregate,
    *,
    exchange: Exchange | None = None,
    samples: int = 10_000,
    seed: int = 0,
    tail: Tail = "two-sided",
    groups: Groups | None = None,
) -> TestResult:
    """Tests whether two systems' pooled scores differ; parameters as of `randomization_tests`.

    >>> errors = np.array([[1.0, 1], [2, 1], [0, 1]])
    >>> better = np.array([[0.0, 1], [1, 1], [0, 1]])
    >>> mean = lambda sums: sums[..., 0] / sums[..., 1]
    >>> result = randomization_test(better, errors, mean)
    >>> round(result.difference, 6), result.p, result.exact, result.samples
    (-0.666667, 0.5, True, 4)
    """
    measures = {"": Measure(slice(0, np.shape(system)[-1]), aggregate)}
    return randomization_tests(
        system, baseline, measures, exchange=exchange, samples=samples, seed=seed, tail=tail, groups=groups
    )[""]


def randomization_tests(
    system: FloatArray,
    baseline: FloatArray,
    measures: Mapping[str, Measure],
    *,
    exchange: Exchange | None = None,
    samples: int = 10_000,
    seed: int = 0,
    tail: Tail = "two-sided",
    groups: Groups | None = None,
) -> dict[str, TestResult]:
    """Tests several metrics on the same exchanges.

    system, baseline  (runs, n, k) statistics, or (n, k) for one run; run r of both is one replication pair
    measures          name -> columns of the statistics and their aggregation
    exchange          segment: one coin per segment, its runs move together: do the systems differ on new
                      segments? (default)
                      segment-run: one coin per segment and run (the paper's test): are the outputs at hand
                      exchangeable? It rejects too often if the question is about new segments
                      run: whole runs change sides (all ways to deal the runs, not only pairwise): new runs
                      any: any half of all hypotheses of a segment
    groups            (n,) group of each segment: segments of a group move together

    All exchanges are enumerated if they are at most `samples`, or few (4,096); p is then exact. The number of
    runs may differ for `run` and `any` only.
    """
    check_samples(samples)
    a, b = as_runs(system, "statistics of the system"), as_runs(baseline, "statistics of the baseline")
    unit = exchange or "segment"
    _check_shapes(a, b, unit)
    pool = _Pool.from_runs(group_sums(a, groups), group_sums(b, groups), unit)
    sums, exact = pool.exchanged(samples, seed)
    label = _label(unit, len(a), groups)
    units = _label("segment", 1, groups) if unit == "any" else label
    results = {}
    for name, measure in measures.items():
        columns = measure.columns
        scores = [float(measure.aggregate(side.sum(axis=(0, 1))[columns])) for side in (a, b)]
        difference = scores[0] - scores[1]
        null = measure.aggregate(sums[:, columns]) - measure.aggregate(pool.total[columns] - sums[:, columns])
        p = p_value(null, difference, tail, exact=exact, tolerance=rounding(*scores))
        error = monte_carlo_error(p, len(sums), exact=exact)
        reach = pool.reach(columns, units, tail)
        results[name] = TestResult(difference, p, NAME, label, len(sums), tail, exact, reach, error)
    return results


def randomization_test_rescored(
    exchanged: Exchanged,
    differs: BoolArray,
    *,
    samples: int = 1000,
    seed: int = 0,
    tail: Tail = "two-sided",
    groups: Groups | None = None,
    enough: int | None = None,
    scale: float = 1.0,
) -> TestResult:
    """The same test (one run) for a metric that is no function of sums: it rescores every exchange exactly.

    enough       stop after so many differences at least as extreme as the observed one: p is then that number
                 over the shuffles that were made (Besag and Clifford 1991, a valid p-value); default: never
    scale        size of scores (of labels, if scores have their unit): what rounding is relative to
    """
    check_samples(samples)
    rows = len(differs)
    index, units = (np.arange(rows), rows) if groups is None else group_index(groups, rows)
    differing = np.flatnonzero(np.bincount(index, differs, units) > 0)
    exact = len(differing) < 63 and 2 ** len(differing) <= max(samples, ENUMERATED)
    total = 2 ** len(differing) if exact else samples
    observed = float(exchanged(np.zeros((rows, 1), np.bool_))[0])
    label = _label("segment", 1, groups)
    reach = Reach(len(differing), label, tail)
    if np.isnan(observed):
        return TestResult(
            observed, observed, NAME, label, total, tail, exact, reach, observed if not exact else 0.0
        )
    hits = 0
    for first, last in sample_blocks(total, 8 * rows, total if enough is None else max(4 * enough, 1000)):
        swapped = _every_swap(differing, units, first, last) if exact else coin_rows(units, seed, first, last)
        null = exchanged(swapped if groups is None else swapped[index])
        found = np.flatnonzero(extreme(null, observed, tail, rounding(scale)))
        if enough is not None and not exact and hits + len(found) >= enough:
            made = first + int(found[enough - hits - 1]) + 1
            p = enough / made
            error = float(p * np.sqrt((1.0 - p) / enough))
            return TestResult(observed, p, NAME, label, made, tail, False, reach, error)
        hits += len(found)
    p = hits / total if exact else (hits + 1) / (total + 1)
    error = monte_carlo_error(p, total, exact=exact)
    return TestResult(observed, p, NAME, label, total, tail, exact, reach, error)


def _every_swap(differing: IntArray, units: int, first: int, last: int) -> BoolArray:
    swapped = np.zeros((units, last - first), np.bool_)
    swapped[differing] = (np.arange(first, last)[None, :] >> np.arange(len(differing))[:, None]) & 1
    return swapped


def _check_shapes(a: FloatArray, b: FloatArray, unit: str) -> None:
    known_name("exchange", unit, EXCHANGES)
    if a.shape[1:] != b.shape[1:]:
        raise InputError(
            f"the system has {a.shape[1]} segments x {a.shape[2]} statistics,"
            f" the baseline {b.shape[1]} x {b.shape[2]}"
        )
    if len(a) != len(b) and unit in ("segment-run", "segment"):
        raise InputError(
            f"the system has {len(a)} runs, the baseline {len(b)}; exchange '{unit}' needs as many",
            remedy="use exchange 'run' or 'any', or leave runs out",
        )


@dataclass(frozen=True, eq=False)
class _Pool:
    system_sums: FloatArray
    total: FloatArray
    differences: FloatArray
    parts: FloatArray | None
    take: int

    @classmethod
    def from_runs(cls, a: FloatArray, b: FloatArray, unit: str) -> "_Pool":
        system_sums = a.sum(axis=(0, 1))
        total = system_sums + b.sum(axis=(0, 1))
        if unit in ("run", "any"):
            if unit == "run":
                a, b = a.sum(axis=1, keepdims=True), b.sum(axis=1, keepdims=True)
            return cls(
                system_sums, total, np.empty((0, 0)), np.concatenate([a, b]).transpose(1, 0, 2), len(a)
            )
        differences = (b - a).reshape(-1, a.shape[2]) if unit == "segment-run" else (b - a).sum(axis=0)
        return cls(system_sums, total, differences, None, 0)

    def exchanged(self, samples: int, seed: int) -> tuple[FloatArray, bool]:
        most = max(samples, ENUMERATED)
        if self.parts is not None:
            if _fits(comb(self.parts.shape[1], self.take), len(self.parts), most):
                return every_choice(_all_parts(self.parts, self.take)), True
            return part_sums(self.parts, self.take, samples, seed), False
        differing = self.differences[(self.differences != 0).any(axis=1)]
        if _fits(2, len(differing), most):
            return self.system_sums + every_choice(np.stack([0 * differing, differing], axis=1)), True
        return self.system_sums + coin_sums(self.differences, samples, seed), False

    def reach(self, columns: slice, unit: str, tail: Tail) -> Reach:
        if self.parts is None:
            return Reach(int((self.differences[:, columns] != 0).any(axis=1).sum()), unit, tail)
        pool = self.parts[..., columns]
        units = int((pool != pool[:, :1]).any(axis=(1, 2)).sum())
        hypotheses = pool.shape[1]
        if unit == "run":
            return Runs(self.take if units else 0, unit, tail, runs=hypotheses - self.take)
        # Unequal parts have no mirror image.
        tail = tail if 2 * self.take == hypotheses else "greater"
        return Reach(units, unit, tail, comb(hypotheses, self.take))


def _fits(ways: int, units: int, samples: int) -> bool:
    return bool(units * np.log(ways) <= np.log(samples) + 1e-9)


def _all_parts(pool: FloatArray, take: int) -> FloatArray:
    ways = [list(way) for way in combinations(range(pool.shape[1]), take)]
    return np.stack([pool[:, way].sum(axis=1) for way in ways], axis=1)


def _label(unit: str, runs: int, groups: Groups | None) -> str:
    unit = "segment" if unit == "segment-run" and runs == 1 else unit
    return unit if groups is None else unit.replace("segment", "group")
