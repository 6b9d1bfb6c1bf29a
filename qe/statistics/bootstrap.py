"""The paired bootstrap: all systems are scored on the same test sets, drawn with replacement."""

from typing import Literal, get_args

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name
from qe.statistics.draws import bootstrap_counts, bootstrap_sums, sample_blocks
from qe.statistics.levels import Groups, group_index, group_sums
from qe.statistics.result import (
    Aggregate,
    Reach,
    Rescore,
    Tail,
    TestResult,
    as_runs,
    check_samples,
    monte_carlo_error,
    p_value,
    rounding,
)

Method = Literal["centred", "win-ratio", "shifted"]
METHODS: tuple[str, ...] = get_args(Method)
NAMES = {
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


def bootstrap_rescored(
    rescore: Rescore, rows: int, *, samples: int = 1000, seed: int = 0, groups: Groups | None = None
) -> FloatArray:
    """(samples,) scores of the same virtual test sets by `rescore`, from counts (B, rows)."""
    check_samples(samples)
    index, units = (None, rows) if groups is None else group_index(groups, rows)
    scores = np.empty(samples)
    for first, last in sample_blocks(samples, 4 * rows, samples):
        counts = bootstrap_counts(units, seed, first, last)
        scores[first:last] = rescore(counts if index is None else counts[:, index])
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
    error = monte_carlo_error(p, len(differences), exact=False)
    reach = None if units is None else Reach(units, resampled, tail)
    return TestResult(difference, p, NAMES[method], resampled, len(differences), tail, False, reach, error)
