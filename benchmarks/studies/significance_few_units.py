"""A handful of documents: equivalence at its margin, intervals, promotion of equals.

Equals are equal models.

    python benchmarks/studies/significance_few_units.py [--simulations 2000]

Few units in docs/results/significance.md. Two systems are compared by an error rate (errors over
words) in 2 to 30 documents. Equivalence: a true difference of exactly the margin, so that .05 may be called
equivalent. Intervals: the share that holds the true difference. Promotion: a challenger that is better by
exactly the margin (none, or a tenth of the champion's error), which may be promoted in .05; in brackets the
share that cannot be decided.
"""

import argparse
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from qe.production.promotion import better_by
from qe.statistics.intervals import jackknife_interval, jackknife_scores, percentile_interval
from qe.statistics.metric import METRICS
from qe.statistics.ranks import tost
from qe.statistics.resampling import bootstrap_scores

Array = np.ndarray[Any, Any]
UNITS = (2, 3, 5, 10, 20, 30)


def rate(sums: Array) -> Array:
    """Errors per 100 words."""
    return np.asarray(100 * sums[..., 0] / sums[..., 1])


def documents(rng: np.random.Generator, units: int, gain: float) -> list[Array]:
    """Errors and words of two systems; the second one's rate is higher by `gain` of 100 words."""
    words = rng.integers(150, 250, units).astype(float)
    difficulty = rng.normal(30, 5, units)
    return [
        np.stack([words / 100 * (difficulty + more + rng.normal(0, 3, units)), words], axis=1)
        for more in (0.0, gain)
    ]


def of_documents(units: int, simulations: int, margin: float = 10.0) -> dict[str, float]:
    """Shares of simulations, by question."""
    hits = dict.fromkeys(("tost jackknife", "tost bootstrap", "jackknife", "percentile"), 0)
    for number in range(simulations):
        own, other = documents(np.random.default_rng([1, units, number]), units, margin)
        difference = float(rate(other.sum(axis=0)) - rate(own.sum(axis=0)))
        left_out = jackknife_scores(other, rate) - jackknife_scores(own, rate)
        draw = partial(bootstrap_scores, aggregate=rate, samples=400, seed=number)
        drawn = (draw(other) - draw(own))[0]
        hits["tost jackknife"] += max(tost(difference, [left_out], margin)) <= 0.05
        hits["tost bootstrap"] += centred_bootstrap(drawn, difference, margin) <= 0.05
        for name, (low, high) in {
            "jackknife": jackknife_interval(difference, [left_out]),
            "percentile": percentile_interval(drawn),
        }.items():
            hits[name] += low <= margin <= high
    return {name: count / simulations for name, count in hits.items()}


def centred_bootstrap(drawn: Array, difference: float, margin: float) -> float:
    """Larger p-value of bootstrap differences moved to each end of the margin.

    The method in use before.
    """
    null = drawn - difference
    above, below = np.sum(null - margin >= difference), np.sum(null + margin <= difference)
    return float((max(above, below) + 1) / (len(drawn) + 1))


def models(rng: np.random.Generator, labels: str, size: int) -> tuple[Array, Array, Array]:
    """Labels, and the errors of two models of one law."""
    if labels == "normal":
        gold = rng.normal(size=size)
        return gold, rng.normal(size=size), rng.normal(size=size)
    gold = rng.lognormal(size=size)
    first, second = (gold * (rng.lognormal(0, 0.8, size) - 1) for _ in range(2))
    return gold, first, second


def promoted(labels: str, name: str, share: float, size: int, simulations: int) -> str:
    """The shares of challengers that are promoted, and that cannot be decided."""
    metric = METRICS.get(name)()
    gold, errors, _ = models(np.random.default_rng(9), labels, 1_000_000)
    margin = share * metric.score(gold, gold + errors)
    hits = undecided = 0
    for number in range(simulations):
        gold, new, old = models(np.random.default_rng([2, size, number]), labels, size)
        test = better_by(gold, gold + new, gold + (1 + share) * old, metric, margin, 199, number)
        lack = test.reach.lack(0.05) if test.reach is not None else ""
        undecided += bool(lack)
        hits += test.p <= 0.05 and not lack
    return f"{hits / simulations:.3f} ({undecided / simulations:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--simulations", type=int, default=2000)
    simulations = parser.parse_args().simulations
    print("| documents | TOST, jackknife | TOST, bootstrap | interval, jackknife | interval, percentile |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for units in UNITS:
        shares = of_documents(units, simulations)
        print(f"| {units} | " + " | ".join(f"{share:.3f}" for share in shares.values()) + " |", flush=True)
    sizes = (3, 5, 10, 30, 100)
    print("\n| labels | metric | margin | " + " | ".join(f"{size} segments" for size in sizes) + " |")
    print("| --- | --- | ---: |" + " ---: |" * len(sizes))
    for labels, name, share in product(("normal", "log-normal"), ("mae", "rmse", "pearson"), (0.0, 0.1)):
        if (name, share) != ("pearson", 0.1):
            told = " | ".join(promoted(labels, name, share, size, simulations) for size in sizes)
            print(f"| {labels} | {name} | {share:g} | {told} |", flush=True)


if __name__ == "__main__":
    main()
