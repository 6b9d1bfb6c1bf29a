"""Approximate randomization: exchange what two systems produced, and see how often they differ as much.

Riezler and Maxwell 2005, Figure 1; stratified over optimizer replications: Clark et al. 2011, section 4.2.
"""

from collections.abc import Mapping
from itertools import combinations
from math import comb
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from features.core.errors import InputError
from qe.significance._sums import coin_faces, coin_sums, every_choice, part_sums
from qe.significance.groups import Groups, group_index, group_sums
from qe.significance.result import (
    BLOCK_BYTES,
    Aggregate,
    CountArray,
    FloatArray,
    Measure,
    Rescore,
    Tail,
    TestResult,
    as_runs,
    check_samples,
    p_value,
    rounding,
)

Exchange = Literal["segment-run", "segment", "run", "any"]
EXCHANGES: tuple[str, ...] = get_args(Exchange)
NAME = "approximate randomization"


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
    block: int = 10_000,
    threads: int = 1,
) -> TestResult:
    """Tests whether two systems' pooled scores differ; see `randomization_tests` for the parameters.

    >>> errors = np.array([[1.0, 1], [2, 1], [0, 1]])
    >>> better = np.array([[0.0, 1], [1, 1], [0, 1]])
    >>> mean = lambda sums: sums[..., 0] / sums[..., 1]
    >>> result = randomization_test(better, errors, mean)
    >>> round(result.difference, 6), result.p, result.exact, result.samples
    (-0.666667, 0.5, True, 8)
    """
    columns = slice(0, np.shape(system)[-1])
    return randomization_tests(
        system, baseline, {"": Measure(columns, aggregate)},
        exchange=exchange, samples=samples, seed=seed, tail=tail, groups=groups, block=block, threads=threads,
    )[""]  # fmt: skip


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
    block: int = 10_000,
    threads: int = 1,
) -> dict[str, TestResult]:
    """The same exchanges scored by several metrics; a score is the aggregate of sums over all runs.

    system, baseline  (runs, n, k) statistics, or (n, k) for one run; run r of both is one replication pair
    measures          name -> columns of the statistics and their aggregation
    exchange          segment-run: one coin per segment and run (the paper's test; default)
                      segment: one coin per segment, its runs move together
                      run: whole runs change sides (all ways to deal the runs, not only pairwise)
                      any: any half of all hypotheses of a segment
    groups            (n,) group of each segment: segments of a group move together
    block, threads    bound memory and use processors; they change no digit of the result

    All exchanges are enumerated where they are no more than `samples`; p is then exact. The number of runs
    may differ for `run` and `any` only.

    Raises InputError for statistics of different shape, unknown exchange, values that are not finite.
    """
    check_samples(samples)
    a, b = as_runs(system, "statistics of the system"), as_runs(baseline, "statistics of the baseline")
    unit = exchange or "segment-run"
    _check_shapes(a, b, unit)
    sums, total, exact = _exchanged_sums(
        group_sums(a, groups), group_sums(b, groups), unit, samples, seed, block, threads
    )
    observed_a, observed_b = a.sum(axis=(0, 1)), b.sum(axis=(0, 1))
    label = _label(unit, len(a), groups)
    return {
        name: _result(measure, sums, total, observed_a, observed_b, label, tail, exact)
        for name, measure in measures.items()
    }


def randomization_test_rescored(
    rescore: Rescore,
    rows: int,
    *,
    samples: int = 1000,
    seed: int = 0,
    tail: Tail = "two-sided",
    groups: Groups | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> TestResult:
    """The same test for a metric that is no function of sums (one run); exact rescoring of every exchange.

    `rescore` gets counts (B, 2 rows) of 0 and 1 over the system's rows followed by the baseline's, and
    returns (B,) scores; `block_bytes` bounds the counts of one call and changes no digit.
    Put the predictions of different systems on a common scale (ranks) before.
    """
    check_samples(samples)
    index, units = (np.arange(rows), rows) if groups is None else group_index(groups, rows)
    exact = units < 63 and 2**units <= samples
    total = 2**units if exact else samples
    kept = np.zeros((1, units), np.bool_)
    own, other = (float(rescore(_two_sides(side, index))[0]) for side in (kept, ~kept))
    null = np.empty(total)
    block = max(1, block_bytes // (8 * rows))
    largest = rounding(own, other)
    for first in range(0, total, block):
        last = min(first + block, total)
        faces = _all_faces(units, first, last) if exact else coin_faces(units, seed, first, last)
        null[first:last] = rescore(_two_sides(faces, index)) - rescore(_two_sides(~faces, index))
    p = p_value(null, own - other, tail, exact=exact, tolerance=largest)
    return TestResult(own - other, p, NAME, _label("segment", 1, groups), total, tail, exact)


def _two_sides(faces: NDArray[np.bool_], index: NDArray[np.int64]) -> CountArray:
    """(B, 2 rows) counts: the row's own side where the coin is tails, the other system's where heads."""
    heads = faces[:, index].astype(np.int32)
    return np.concatenate([1 - heads, heads], axis=1)


def _all_faces(units: int, first: int, last: int) -> NDArray[np.bool_]:
    bits = (np.arange(first, last)[:, None] >> np.arange(units)) & 1
    return bits.astype(np.bool_)


def _check_shapes(a: FloatArray, b: FloatArray, unit: str) -> None:
    if unit not in EXCHANGES:
        raise InputError(f"unknown exchange '{unit}'", remedy=f"known: {', '.join(EXCHANGES)}")
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


def _exchanged_sums(
    a: FloatArray, b: FloatArray, unit: str, samples: int, seed: int, block: int, threads: int
) -> tuple[FloatArray, FloatArray, bool]:
    """(B, k) sums of the pseudo-system, (k,) sums of both systems together, whether B is all exchanges."""
    whole = a.sum(axis=(0, 1))
    total = whole + b.sum(axis=(0, 1))
    if unit in ("run", "any"):
        if unit == "run":
            a, b = a.sum(axis=1, keepdims=True), b.sum(axis=1, keepdims=True)
        pool = np.concatenate([a, b]).transpose(1, 0, 2)
        if _fits(comb(pool.shape[1], len(a)), len(pool), samples):
            return every_choice(_all_parts(pool, len(a))), total, True
        return part_sums(pool, len(a), samples, seed, block=block, threads=threads), total, False
    differences = (b - a).reshape(-1, a.shape[2]) if unit == "segment-run" else (b - a).sum(axis=0)
    if _fits(2, len(differences), samples):
        return whole + every_choice(np.stack([0 * differences, differences], axis=1)), total, True
    return whole + coin_sums(differences, samples, seed, block=block, threads=threads), total, False


def _fits(ways: int, units: int, samples: int) -> bool:
    """Whether ways ** units <= samples, without huge numbers."""
    return bool(units * np.log(ways) <= np.log(samples) + 1e-9)


def _all_parts(pool: FloatArray, take: int) -> FloatArray:
    """(n, c, k): for each segment, the sums of all c ways to take `take` of its hypotheses."""
    ways = [list(way) for way in combinations(range(pool.shape[1]), take)]
    return np.stack([pool[:, way].sum(axis=1) for way in ways], axis=1)


def _label(unit: str, runs: int, groups: Groups | None) -> str:
    unit = "segment" if unit == "segment-run" and runs == 1 else unit
    return unit if groups is None else unit.replace("segment", "group")


def _result(
    measure: Measure,
    sums: FloatArray,
    total: FloatArray,
    observed_a: FloatArray,
    observed_b: FloatArray,
    label: str,
    tail: Tail,
    exact: bool,
) -> TestResult:
    at = measure.columns
    own, other = (float(measure.aggregate(side[at])) for side in (observed_a, observed_b))
    null = measure.aggregate(sums[:, at]) - measure.aggregate(total[at] - sums[:, at])
    p = p_value(null, own - other, tail, exact=exact, tolerance=rounding(own, other))
    return TestResult(own - other, p, NAME, label, len(sums), tail, exact)
