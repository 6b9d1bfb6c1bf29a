"""Does a difference that is said to be found with probability .80 get found that often?

    python benchmarks/bench_power.py [--pilots 20] [--fresh 100] [--segments 200] [--seed 1]

A pilot is drawn from a process that goes on for ever, the planners name the smallest difference that is found
with power .80, and fresh test sets of the same process, with a system that is better by exactly that, are
tested as `qe evaluate` (exchanged predictions) and `qe compare` (exchanged statistics) test them.
"""

import argparse

import numpy as np
from numpy.typing import NDArray

from features.core.progress import silent
from qe.evaluation.pairs import Tester
from qe.evaluation.power import PowerSettings, power
from qe.metrics._base import METRICS
from qe.significance.levels import Levels
from qe.significance.power import detectable_difference
from qe.significance.randomization import randomization_test

Floats = NDArray[np.float64]
_CENSUS = 20_000  # segments from which true differences are taken


def mean(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1])


def scored(values: Floats) -> Floats:
    return np.stack([values, np.ones_like(values)], axis=-1)


def models(rng: np.random.Generator, n: int, skill: float) -> tuple[Floats, Floats, Floats]:
    """Labels 1 .. 5; two QE models with shared and own errors; the first one's errors shrink by `skill`."""
    gold = np.round(rng.uniform(1, 5, n), 1)
    shared = rng.normal(0, 0.8, n)
    a, b = (shared + rng.normal(0, 0.5, n) for _ in range(2))
    return gold, gold + (1 - skill) * a, gold + b


def true_gain(name: str, skill: float) -> float:
    metric = METRICS.get(name)()
    gold, a, b = models(np.random.default_rng(7), _CENSUS, skill)
    gain = metric.score(gold, a) - metric.score(gold, b)
    return gain if metric.higher_is_better else -gain


def skill_for(name: str, gain: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(18):
        middle = (low + high) / 2
        low, high = (middle, high) if true_gain(name, middle) < gain else (low, middle)
    return high


def realised(name: str, pilots: int, fresh: int, n: int, seed: int) -> tuple[float, float]:
    """Share of fresh test sets where the gain is found; mean gain that was promised."""
    metric = METRICS.get(name)()
    hits, gains = [], []
    for pilot in range(pilots):
        rng = np.random.default_rng([seed, pilot])
        settings = PowerSettings(seed=pilot)
        gain = power(*models(rng, n, 0.0), metrics=[name], settings=settings).metrics[0].detectable
        skill = skill_for(name, gain)
        gains.append(gain)
        for number in range(fresh):
            gold, a, b = models(rng, n, skill)
            scores = {"a": {name: metric.score(gold, a)}, "b": {name: metric.score(gold, b)}}
            tester = Tester(
                gold,
                {"a": a, "b": b},
                scores,
                {name: metric},
                {},
                999,
                number,
                "ar",
                Levels.of(None, n),
                silent,
            )
            result = tester.exchanged("a", "b")[name]
            hits.append(result.p <= 0.05 and (result.difference > 0) == metric.higher_is_better)
    return float(np.mean(hits)), float(np.mean(gains))


def realised_of_sums(heavy: bool, pilots: int, n: int, seed: int) -> float:
    hits = 0
    for pilot in range(pilots):
        rng = np.random.default_rng([seed, pilot])

        def noise() -> Floats:
            return rng.lognormal(0, 1, n) - np.exp(0.5) if heavy else rng.normal(size=n)  # noqa: B023

        gain = detectable_difference(scored(noise()), scored(noise()), mean, samples=1000, seed=pilot)
        result = randomization_test(scored(noise() + gain), scored(noise()), mean, samples=999, seed=pilot)
        hits += result.p <= 0.05 and result.difference > 0
    return hits / pilots


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for option, default in (("pilots", 20), ("fresh", 100), ("segments", 200), ("seed", 1)):
        parser.add_argument(f"--{option}", type=int, default=default)
    given = parser.parse_args()
    total = given.pilots * given.fresh
    print(f"Realised power for .80, {total} fresh test sets of {given.segments} segments a row\n")
    for heavy in (False, True):
        for n in (30, 100, given.segments):
            share = realised_of_sums(heavy, total, n, given.seed)
            print(f"means, {'log-normal' if heavy else 'normal':<12} n = {n:<5} {share:.3f}", flush=True)
    for name in ("delta_avg", "spearman", "kendall", "pearson", "mae", "rmse"):
        share, gain = realised(name, given.pilots, given.fresh, given.segments, given.seed)
        print(f"{name:<12} {share:.3f}   promised gain {gain:.4f}", flush=True)


if __name__ == "__main__":
    main()
