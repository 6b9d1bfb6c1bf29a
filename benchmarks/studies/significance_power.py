"""Does a difference that is said to be found with probability .80 get found that often?

    python benchmarks/studies/significance_power.py [--pilots 20] [--fresh 100] [--segments 200] \\
        [--seed 1] [--metrics mae]

A pilot is drawn from a process that goes on for ever, the planners name the smallest difference that is found
with power .80, and fresh test sets of the same process, with a system that is better by exactly that, are
tested as `qe evaluate` tests them. What the
planner finds where there is no gain is shown, too: half the level, as it counts gains only.
"""

import argparse

import numpy as np
from numpy.typing import NDArray

from qe.evaluation.power import power
from qe.statistics.comparisons import Comparisons, Scored
from qe.statistics.draws import Levels
from qe.statistics.metric import METRICS
from qe.statistics.settings import PowerSettings, ResamplingSettings

Floats = NDArray[np.float64]
METRICS_SHOWN = ("delta_avg", "spearman", "kendall", "mae", "pearson", "rmse")
_CENSUS = 20_000  # segments from which true differences are taken


def models(rng: np.random.Generator, n: int, skill: float) -> tuple[Floats, Floats, Floats]:
    """Labels 1 .. 5; two QE models with shared and own errors.

    The first model's errors shrink by `skill`.
    """
    gold = np.round(rng.uniform(1, 5, n), 1)
    shared = rng.normal(0, 0.8, n)
    a, b = (shared + rng.normal(0, 0.5, n) for _ in range(2))
    return gold, gold + (1 - skill) * a, gold + b


def true_gain(name: str, skill: float, n: int) -> float:
    """The mean gain over test sets of n segments: DeltaAvg depends on the size of the set."""
    metric = METRICS.get(name)()
    columns = models(np.random.default_rng(7), _CENSUS, skill)
    sets = [tuple(column[first : first + n] for column in columns) for first in range(0, _CENSUS - n + 1, n)]
    gain = float(np.mean([metric.score(gold, a) - metric.score(gold, b) for gold, a, b in sets]))
    return gain if metric.higher_is_better else -gain


def skill_for(name: str, gain: float, n: int) -> float:
    low, high = -1.0, 1.0
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (middle, high) if true_gain(name, middle, n) < gain else (low, middle)
    return high


def shares(name: str, n: int, seed: int, fresh: int) -> tuple[float, float, float]:
    """One pilot: the gain that is promised, its realised power, the planner's power for no gain."""
    rng = np.random.default_rng([seed, n])
    planned = power(*models(rng, n, 0.0), metrics=[name], settings=PowerSettings(seed=seed)).metrics[0]
    skill = skill_for(name, planned.detectable, n)
    hits = [gain_is_found(name, models(rng, n, skill), number) for number in range(fresh)]
    return planned.detectable, float(np.mean(hits)), planned.by_gain[0].power


def gain_is_found(name: str, columns: tuple[Floats, Floats, Floats], seed: int) -> bool:
    """Whether the test of `qe evaluate` finds the first model better."""
    metric = METRICS.get(name)()
    gold, a, b = columns
    scored, levels = (
        Scored.from_predictions(gold, {"a": a, "b": b}, {name: metric}),
        Levels.from_groups(None, len(gold)),
    )
    result = Comparisons(scored, levels, ResamplingSettings(samples=999, seed=seed)).test("a", "b")[name]
    return bool(result.p <= 0.05 and (result.difference > 0) == metric.higher_is_better)


def realised(name: str, pilots: int, fresh: int, n: int, seed: int) -> str:
    """A row: means over pilots, with their standard errors."""
    rows = np.array([shares(name, n, seed * 1000 + pilot, fresh) for pilot in range(pilots)])
    gain, outcome, none = rows.mean(axis=0)
    errors = rows.std(axis=0, ddof=1) / np.sqrt(pilots)
    return (
        f"{name:<12} {outcome:.3f} (± {errors[1]:.3f})   promised gain {gain:.4f}"
        f"   power for no gain {none:.4f} (± {errors[2]:.4f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for option, default in (("pilots", 20), ("fresh", 100), ("segments", 200), ("seed", 1)):
        parser.add_argument(f"--{option}", type=int, default=default)
    parser.add_argument("--metrics", nargs="*", default=METRICS_SHOWN)
    given = parser.parse_args()
    total = given.pilots * given.fresh
    print(f"Realised power for .80, {total} fresh test sets of {given.segments} segments a row\n")
    for name in given.metrics:
        print(realised(name, given.pilots, given.fresh, given.segments, given.seed), flush=True)


if __name__ == "__main__":
    main()
