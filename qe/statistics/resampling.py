"""Tests by resampling: paired bootstrap, approximate randomization, all pairs after Tukey and Scheffé."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import Any, Literal, get_args

import numpy as np

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError, known_name
from qe.statistics.draws import (
    Groups,
    bootstrap_counts,
    bootstrap_sums,
    coin_rows,
    coin_sums,
    every_choice,
    group_index,
    group_sums,
    part_sums,
    permutations,
    permuted_sums,
    sample_blocks,
)
from qe.statistics.result import (
    ENUMERATED,
    Aggregate,
    Measure,
    Permutations,
    Reach,
    Rescore,
    Runs,
    TestResult,
    as_runs,
    extreme,
    monte_carlo_error,
    p_value,
    rounding,
)
from qe.statistics.settings import EXCHANGES, PERMUTED, Contrasts, Exchange, Tail, check_samples

Method = Literal["centred", "win-ratio", "shifted"]
METHODS: tuple[str, ...] = get_args(Method)
BOOTSTRAPS = {
    "centred": "paired bootstrap (centred)",
    "win-ratio": "paired bootstrap (win ratio, Koehn 2004)",
    "shifted": "paired bootstrap (shifted, Riezler and Maxwell 2005)",
}


def bootstrap_scores(
    statistics: FloatArray, aggregate: Aggregate, *, samples: int = 1000, seed: int = 0,
    groups: Groups | None = None,
) -> FloatArray:  # fmt: skip
    """(runs, samples) scores of virtual test sets; the same seed draws the same segments everywhere.

    statistics  (runs, n, k), or (n, k) for one run; summed over runs first, the pooled score's distribution
    groups      (n,) group of each segment: whole groups are drawn
    """
    check_samples(samples)
    runs = group_sums(as_runs(statistics), groups)
    return aggregate(unstack(bootstrap_sums(stack(runs), samples, seed), len(runs)))


def stack(runs: FloatArray) -> FloatArray:
    """(r, n, k) -> (n, r k): runs (or systems) side by side, so that they share one draw."""
    return np.ascontiguousarray(runs.transpose(1, 0, 2)).reshape(runs.shape[1], -1)


def unstack(sums: FloatArray, runs: int) -> FloatArray:
    """(samples, r k) -> (r, samples, k): the reverse of `stack`."""
    return sums.reshape(len(sums), runs, -1).transpose(1, 0, 2)


def bootstrap_rescored(rescore: Rescore, rows: int, *, samples: int = 1000, seed: int = 0) -> FloatArray:
    """(samples,) scores of the same virtual test sets by `rescore`, from counts (B, rows)."""
    check_samples(samples)
    scores = np.empty(samples)
    for first, last in sample_blocks(samples, 4 * rows, samples):
        scores[first:last] = rescore(bootstrap_counts(rows, seed, first, last))
    return scores


def bootstrap_test(
    system: FloatArray,
    baseline: FloatArray,
    difference: float,
    *,
    method: Method = "centred",
    tail: Tail = "two-sided",
    resampled: str = "segment",
    units: int | None = None,
) -> TestResult:
    """Tests a difference from (samples,) bootstrap scores of two systems on the same sets.

    Parameters
    ----------
    difference : float
        Score of the system minus score of the baseline, on the real test set.
    units : int or None, default=None
        Segments (groups) in which the systems differ; None: not known.
    method : {'centred', 'win-ratio', 'shifted'}, default='centred'
        `centred`: the signed differences, moved to mean 0, are the null distribution; `win-ratio`: the
        share of virtual test sets that the better system does not win (Koehn 2004), one-sided by nature;
        `shifted`: |difference| minus its mean (Riezler and Maxwell 2005, Figure 2), two-sided; it rejects
        true null hypotheses about twice too often (docs/results/significance.md).
    """
    known_name("bootstrap test", method, METHODS)
    differences = system - baseline
    tolerance = rounding(system, baseline)
    null, observed = differences - difference, difference
    if method == "win-ratio":
        null = difference - differences
        if tail == "two-sided":
            tail = "greater" if difference > 0 else "less"
    elif method == "shifted":
        if tail != "two-sided":
            raise InputError("the shifted bootstrap is two-sided", remedy="use the centred bootstrap")
        sizes = np.abs(differences)
        null, observed = np.maximum(sizes - sizes.mean(), 0.0), abs(difference)
    p = 1.0
    if not abs(difference) <= tolerance:
        p = p_value(null, observed, tail, exact=False, tolerance=tolerance)
    reach, samples = None if units is None else Reach(units, resampled, tail), len(differences)
    error = monte_carlo_error(p, samples, exact=False)
    return TestResult(difference, p, BOOTSTRAPS[method], resampled, samples, tail, False, reach, error)


RANDOMIZATION = "approximate randomization"
Exchanged = Callable[[BoolArray], FloatArray]
"""(n, B) segments that change sides -> (B,) differences, for metrics that are no function of sums."""


def randomization_test(
    system: FloatArray, baseline: FloatArray, aggregate: Aggregate, **options: Any
) -> TestResult:
    """Tests whether two systems' pooled scores differ; options as of `randomization_tests`.

    >>> errors = np.array([[1.0, 1], [2, 1], [0, 1]])
    >>> better = np.array([[0.0, 1], [1, 1], [0, 1]])
    >>> mean = lambda sums: sums[..., 0] / sums[..., 1]
    >>> result = randomization_test(better, errors, mean)
    >>> round(result.difference, 6), result.p, result.exact, result.samples
    (-0.666667, 0.5, True, 4)
    """
    measures = {"": Measure(slice(0, np.shape(system)[-1]), aggregate)}
    return randomization_tests(system, baseline, measures, **options)[""]


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
    pool = _Pool(group_sums(a, groups), group_sums(b, groups), unit)
    sums, exact = pool.exchanged(samples, seed)
    label = _label(unit, len(a), groups)
    units = _label("segment", 1, groups) if unit == "any" else label
    results = {}
    for name, measure in measures.items():
        columns = measure.columns
        scores = [float(measure.aggregate(side.sum(axis=(0, 1))[columns])) for side in (a, b)]
        difference = scores[0] - scores[1]
        null = measure.aggregate(sums[:, columns]) - measure.aggregate(pool.total[columns] - sums[:, columns])
        reach, tolerance = pool.reach(columns, units, tail), rounding(*scores)
        results[name] = tested(difference, null, RANDOMIZATION, label, tail, exact, reach, tolerance)
    return results


def tested(
    difference: float, null: FloatArray, test: str, unit: str, tail: Tail, exact: bool, reach: Reach,
    tolerance: float,
) -> TestResult:  # fmt: skip
    """The result from (B,) differences under the null hypothesis."""
    p = p_value(null, difference, tail, exact=exact, tolerance=tolerance)
    error = monte_carlo_error(p, len(null), exact=exact)
    return TestResult(difference, p, test, unit, len(null), tail, exact, reach, error)


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
    result = TestResult(observed, observed, RANDOMIZATION, label, total, tail, exact, reach)
    if np.isnan(observed):
        return replace(result, error=0.0 if exact else observed)
    hits = 0
    for first, last in sample_blocks(total, 8 * rows, total if enough is None else max(4 * enough, 1000)):
        if exact:
            swapped = np.zeros((units, last - first), np.bool_)
            swapped[differing] = (np.arange(first, last) >> np.arange(len(differing))[:, None]) & 1
        else:
            swapped = coin_rows(units, seed, first, last)
        null = exchanged(swapped if groups is None else swapped[index])
        found = np.flatnonzero(extreme(null, observed, tail, rounding(scale)))
        if enough is not None and not exact and hits + len(found) >= enough:
            made = first + int(found[enough - hits - 1]) + 1
            p = enough / made
            return replace(result, p=p, samples=made, error=float(p * np.sqrt((1.0 - p) / enough)))
        hits += len(found)
    p = hits / total if exact else (hits + 1) / (total + 1)
    return replace(result, p=p, error=monte_carlo_error(p, total, exact=exact))


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


class _Pool:
    def __init__(self, a: FloatArray, b: FloatArray, unit: str) -> None:
        self.system_sums = a.sum(axis=(0, 1))
        self.total = self.system_sums + b.sum(axis=(0, 1))
        self.parts: FloatArray | None = None
        self.take, self.differences = len(a), np.empty((0, 0))
        if unit in ("run", "any"):
            if unit == "run":
                a, b = a.sum(axis=1, keepdims=True), b.sum(axis=1, keepdims=True)
            self.parts = np.concatenate([a, b]).transpose(1, 0, 2)
        elif unit == "segment-run":
            self.differences = (b - a).reshape(-1, a.shape[2])
        else:
            self.differences = (b - a).sum(axis=0)

    def exchanged(self, samples: int, seed: int) -> tuple[FloatArray, bool]:
        most = max(samples, ENUMERATED)
        if self.parts is not None:
            if _fits(comb(self.parts.shape[1], self.take), len(self.parts), most):
                ways = [list(way) for way in combinations(range(self.parts.shape[1]), self.take)]
                all_parts = np.stack([self.parts[:, way].sum(axis=1) for way in ways], axis=1)
                return every_choice(all_parts), True
            return part_sums(np.ascontiguousarray(self.parts), self.take, samples, seed), False
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


def _label(unit: str, runs: int, groups: Groups | None) -> str:
    unit = "segment" if unit == "segment-run" and runs == 1 else unit
    return unit if groups is None else unit.replace("segment", "group")


TUKEY = "randomized Tukey HSD"
SCHEFFE = "randomized Scheffe test"
ALL_PAIRS: Mapping[Contrasts, str] = {"pairs": TUKEY, "all": SCHEFFE}
TestsOfPairs = dict[tuple[str, str], TestResult]


def tukey_hsd(
    statistics: Mapping[str, FloatArray],
    aggregate: Aggregate,
    *,
    samples: int = 10_000,
    seed: int = 0,
    groups: Groups | None = None,
    contrasts: Contrasts = "pairs",
    exchange: str = "segment",
) -> TestsOfPairs:
    """Every pair of systems, p already corrected for all pairs.

    In each shuffle the outputs of each segment are permuted among the systems; p is the share of shuffles
    whose largest difference between any two pseudo-systems is at least the pair's difference; for Scheffe,
    whose largest contrast, on the scale of a difference of two, is.

    Parameters
    ----------
    contrasts : Contrasts, default='pairs'
        pairs: Tukey's test; all: Scheffe's, whose claim covers every contrast of the systems, such as the
        mean of some against the mean of others.
    exchange : str, default='segment'
        What is permuted: segment (its runs stay together, for new segments) or segment-run (every run alone,
        for these outputs only), as in `randomization_tests`.
    statistics : mapping of str to array of float
        Name -> (runs, n, k) or (n, k), all of one shape.
    """
    check_samples(samples)
    known_name("exchange", exchange, PERMUTED)
    names = tuple(statistics)
    _check_systems(names)
    runs = [as_runs(statistics[name], f"statistics of '{name}'") for name in names]
    for name, array in zip(names, runs, strict=True):
        if array.shape != runs[0].shape:
            raise InputError(
                f"'{name}' has (runs, segments, columns) {array.shape}, '{names[0]}' {runs[0].shape}"
            )
    pooled = [array.sum(axis=0, keepdims=True) if exchange == "segment" else array for array in runs]
    units = np.stack([group_sums(array, groups).reshape(-1, array.shape[2]) for array in pooled], axis=1)
    scores = np.asarray(aggregate(np.stack([array.sum(axis=(0, 1)) for array in runs])))
    shuffled = aggregate(permuted_sums(units, samples, seed))
    unit = "segment-run" if len(pooled[0]) > 1 else "segment"
    label = unit if groups is None else unit.replace("segment", "group")
    differing = int((units != units[:, :1]).any(axis=(1, 2)).sum())
    return _tests(names, scores, shuffled, label, differing, contrasts)


def tukey_hsd_rescored(
    rescore: Rescore,
    names: Sequence[str],
    rows: int,
    *,
    samples: int = 1000,
    seed: int = 0,
    groups: Groups | None = None,
    contrasts: Contrasts = "pairs",
) -> TestsOfPairs:
    """The same for a metric that is no function of sums, rescored from counts (B, m rows) of 0 and 1."""
    check_samples(samples)
    _check_systems(names)
    systems = len(names)
    index, units = (np.arange(rows), rows) if groups is None else group_index(groups, rows)
    unchanged = np.repeat(np.eye(systems, dtype=np.int32), rows, axis=1)
    shuffled = np.empty((samples, systems))
    for first, last in sample_blocks(samples, 16 * rows * systems, samples):
        permuted = permutations(units, systems, seed, first, last)[:, index]
        for j in range(systems):
            counts = permuted[:, None, :, j] == np.arange(systems)[None, :, None]
            shuffled[first:last, j] = rescore(counts.reshape(last - first, -1).astype(np.int32))
    label = "segment" if groups is None else "group"
    return _tests(names, rescore(unchanged), shuffled, label, units, contrasts)


def _check_systems(names: Sequence[str]) -> None:
    if len(names) < 2:
        raise InputError(f"comparing all pairs needs at least two systems, but got {len(names)}")


def _tests(
    names: Sequence[str], scores: FloatArray, shuffled: FloatArray, label: str, units: int,
    contrasts: Contrasts,
) -> TestsOfPairs:  # fmt: skip
    if contrasts == "pairs":
        largest = np.asarray(shuffled.max(axis=1) - shuffled.min(axis=1))
    else:
        deviations = shuffled - shuffled.mean(axis=1, keepdims=True)
        largest = np.asarray(np.sqrt(2 * (deviations**2).sum(axis=1)))
    tolerance = rounding(scores)
    reach = Permutations(units, label, "greater", systems=len(names))
    options: Any = (ALL_PAIRS[contrasts], label, "two-sided", False, reach, tolerance)
    return {
        (names[i], names[j]): tested(float(scores[i] - scores[j]), largest, *options)
        for i, j in combinations(range(len(names)), 2)
    }
