"""Power: the difference that a test set can show, and the size that a difference needs.

For metrics that are functions of sums; `qe.evaluation.power` simulates the whole test for any metric.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.statistics.bootstrap import apart, beside
from qe.statistics.groups import Groups, group_sums
from qe.statistics.result import Aggregate, as_runs
from qe.statistics.sums import bootstrap_sums

# Larger test sets are not simulated; their noise shrinks with the root of their size.
_LARGEST = 50_000
_ROUNDS = 20
_FEWEST = 4


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
    """The smallest true difference that a two-sided test finds with probability `power`.

    The test is at `level`.

    Virtual test sets of that size are drawn from the statistics. Each one is tested against the critical
    value that it gives by itself (Student's t of its own standard error, which the exchanges of a
    randomization test come to), not against that of the true variance; and the pilot's variance counts as
    what it is, an estimate (`pilot_certainty`). In units of the metric.
    Raises InputError for statistics of different shape, systems that do not differ, fewer than 4 segments in
    the pilot, and power or level outside (0, 1).

    Parameters
    ----------
    system, baseline : array of float
        (runs, n, k) statistics of a pair of systems like those to be compared.
    size : int or None, default=None
        Segments (groups) of the test set in question; default: as many as there are.
    """
    check_shares(power=power, level=level)
    pair = _pair(system, baseline, groups)
    wanted = pair.shape[1] if size is None else size
    if wanted < 2:
        raise InputError(f"a test set has at least 2 segments, but got size {wanted}")
    simulated = min(wanted, _LARGEST)
    noise = _Noise.of(pair, aggregate, simulated, samples, seed)
    return noise.detectable(power, level) * float(np.sqrt(simulated / wanted))


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
    """The number of segments (groups) that finds a true `difference` with `power`.

    See `detectable_difference` for the other parameters.

    Raises InputError for a difference of 0.
    """
    if difference == 0 or np.isnan(difference):
        raise InputError(f"no test set is large enough for a difference of {difference}")
    size = _pair(system, baseline, groups).shape[1]
    for _ in range(_ROUNDS):
        smallest = detectable_difference(
            system, baseline, aggregate,
            size=size, power=power, level=level, samples=samples, seed=seed, groups=groups,
        )  # fmt: skip
        before, size = size, max(2, int(np.ceil(size * (smallest / abs(difference)) ** 2)))
        if abs(size - before) <= 0.005 * before:
            break
    return int(size)


def pilot_certainty(influence: FloatArray) -> float:
    """Degrees of freedom of a pilot's variance: how sure it is, from the kurtosis of its values.

    influence  (n,) what each unit of the pilot adds to the difference

    n - 1 for normal values, fewer with heavy tails: 2 n / (kurtosis - 1), by the variance of a sample
    variance. A planner that takes the variance for known promises too much. Source: Browne 1995.
    """
    n = len(influence)
    kurtosis = float(stats.kurtosis(influence, fisher=False, bias=True)) if np.ptp(influence) > 0 else 3.0
    return float(np.clip(2 * n / max(kurtosis - 1, 1e-9), 1.0, n - 1.0))


def check_shares(**shares: float) -> None:
    """Raises InputError for values outside (0, 1)."""
    for name, value in shares.items():
        if not 0 < value < 1:
            raise InputError(f"{name} must lie between 0 and 1, but got {value}")


def check_pilot(units: int) -> None:
    """Raises InputError for a pilot with too few segments (or groups)."""
    if units < _FEWEST:
        raise InputError(f"a pilot has at least {_FEWEST} segments (groups), but got {units}")


@dataclass(frozen=True, eq=False)
class _Noise:
    deviations: FloatArray
    errors: FloatArray
    size: int

    @classmethod
    def of(cls, pair: FloatArray, aggregate: Aggregate, size: int, samples: int, seed: int) -> "_Noise":
        units = pair.shape[1]
        influence = _influence(pair[0], aggregate) - _influence(pair[1], aggregate)
        if not np.ptp(influence) > 0:
            raise InputError("the systems of the pilot do not differ", remedy="take a pair that differs")
        columns = np.column_stack([beside(pair), influence, influence**2])
        sums = bootstrap_sums(columns, samples, seed, size=size)
        scores = aggregate(apart(sums[:, :-2], 2))
        differences = np.asarray(scores[0] - scores[1])
        squares = sums[:, -1] - sums[:, -2] ** 2 / size
        errors = units / size * np.sqrt(np.maximum(squares, 0.0) * size / (size - 1))
        freedom = pilot_certainty(influence)
        chance = np.random.default_rng([seed, 1]).chisquare(freedom, samples)
        scale = np.sqrt(freedom / chance * units / (units - 1))
        return cls(scale * (differences - differences.mean()), scale * errors, size)

    def detectable(self, power: float, level: float) -> float:
        critical = stats.t.isf(level / 2.0, self.size - 1) * self.errors
        low, high = 0.0, float(critical.max()) + 2.0 * float(np.abs(self.deviations).max())
        for _ in range(60):
            middle = (low + high) / 2.0
            if np.mean(np.abs(self.deviations + middle) >= critical) < power:
                low = middle
            else:
                high = middle
        return high


def _influence(units: FloatArray, aggregate: Aggregate) -> FloatArray:
    total = units.sum(axis=0)
    steps = np.diag(1e-4 * np.maximum(np.abs(total), 1))
    gradient = (aggregate(total + steps) - aggregate(total - steps)) / (2 * steps.diagonal())
    return np.asarray(units @ gradient)


def _pair(system: FloatArray, baseline: FloatArray, groups: Groups | None) -> FloatArray:
    a, b = (group_sums(as_runs(side).sum(axis=0)[None], groups) for side in (system, baseline))
    if a.shape != b.shape:
        raise InputError(f"system and baseline differ in shape: {a.shape[1:]} and {b.shape[1:]}")
    check_pilot(a.shape[1])
    return np.concatenate([a, b])
