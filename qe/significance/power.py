"""Power: what difference a test set of a given size can show, and what size a difference needs."""

import numpy as np

from features.core.errors import InputError
from qe.significance._sums import bootstrap_sums
from qe.significance.bootstrap import apart, beside
from qe.significance.groups import Groups, group_sums
from qe.significance.result import Aggregate, FloatArray, as_runs

# Larger test sets are not simulated; their noise shrinks with the root of their size.
_LARGEST = 50_000
_ROUNDS = 20


def detectable_difference(
    system: FloatArray,
    baseline: FloatArray,
    aggregate: Aggregate,
    *,
    size: int | None = None,
    power: float = 0.8,
    level: float = 0.05,
    samples: int = 4000,
    seed: int = 0,
    groups: Groups | None = None,
) -> float:
    """The smallest true difference that a two-sided test at `level` finds with probability `power`.

    system, baseline  (runs, n, k) statistics of a pair of systems like those to be compared
    size              segments (groups) of the test set in question; default: as many as there are

    Virtual test sets of that size are drawn from the statistics; the spread of the difference around its
    mean gives the critical value, and the power of every larger difference. In units of the metric.
    Raises InputError for statistics of different shape, and power or level outside (0, 1).
    """
    _check_shares(power=power, level=level)
    pair = _pair(system, baseline, groups)
    wanted = pair.shape[1] if size is None else size
    if wanted < 2:
        raise InputError(f"a test set has at least 2 segments, but got size {wanted}")
    simulated = min(wanted, _LARGEST)
    noise = _noise(pair, aggregate, simulated, samples, seed)
    return _detectable(noise, power, level) * float(np.sqrt(simulated / wanted))


def size_needed(
    system: FloatArray,
    baseline: FloatArray,
    aggregate: Aggregate,
    difference: float,
    *,
    power: float = 0.8,
    level: float = 0.05,
    samples: int = 4000,
    seed: int = 0,
    groups: Groups | None = None,
) -> int:
    """The segments (groups) needed to find a true `difference` with probability `power`; see above.

    Raises InputError for a difference of 0.
    """
    if difference == 0 or np.isnan(difference):
        raise InputError(f"no test set is large enough for a difference of {difference}")
    size = _pair(system, baseline, groups).shape[1]
    for _ in range(_ROUNDS):
        found = detectable_difference(
            system, baseline, aggregate,
            size=size, power=power, level=level, samples=samples, seed=seed, groups=groups,
        )  # fmt: skip
        before, size = size, max(2, int(np.ceil(size * (found / abs(difference)) ** 2)))
        if abs(size - before) <= 0.005 * before:
            break
    return int(size)


def _check_shares(**shares: float) -> None:
    for name, value in shares.items():
        if not 0 < value < 1:
            raise InputError(f"{name} must lie between 0 and 1, but got {value}")


def _pair(system: FloatArray, baseline: FloatArray, groups: Groups | None) -> FloatArray:
    """(2, n, k): statistics of both, summed over runs."""
    a, b = (group_sums(as_runs(side).sum(axis=0)[None], groups) for side in (system, baseline))
    if a.shape != b.shape:
        raise InputError(f"system and baseline differ in shape: {a.shape[1:]} and {b.shape[1:]}")
    return np.concatenate([a, b])


def _noise(pair: FloatArray, aggregate: Aggregate, size: int, samples: int, seed: int) -> FloatArray:
    """(samples,) deviations of the difference from its mean over virtual test sets."""
    scores = aggregate(apart(bootstrap_sums(beside(pair), samples, seed, size=size), 2))
    differences = np.asarray(scores[0] - scores[1])
    return np.asarray(differences - differences.mean())


def _detectable(noise: FloatArray, power: float, level: float) -> float:
    """Bisection for the shift whose shifted noise passes the critical value with probability `power`."""
    critical = float(np.quantile(np.abs(noise), 1.0 - level))
    low, high = 0.0, critical + 2.0 * float(np.abs(noise).max())
    for _ in range(60):
        middle = (low + high) / 2.0
        if np.mean(np.abs(noise + middle) >= critical) < power:
            low = middle
        else:
            high = middle
    return high
