"""How often `qe correlate` finds differences between equal metrics, and to a better one.

    python benchmarks/studies/correlate_metric_differences.py [--simulations 400] [--systems 8]

The level of the tests in docs/correlate.md. Two metrics follow one law: the truth, an error of each
system (sd .3), an error of each segment (sd .6), both, or neither, and an error of each translation (sd .5).
The exchange of single scores (`--exchange score`) stands beside that of whole segments and systems (default).
In the last row of a correlation the second metric has three times the error of each translation: the share
found is power.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from features.basics.assignments import configured
from qe_human.human import CORRELATIONS, Human
from qe_human.metric_evaluation.comparison import compare
from qe_human.metric_evaluation.reading import Evaluation, Metric
from qe_human.settings import CorrelationSettings

Array = np.ndarray[Any, Any]
NAMES = (
    "system_pearson",
    "soft_pairwise_accuracy",
    "pairwise_accuracy",
    "pearson",
    "acc_eq",
    "kendall_wmt12",
)
LAWS = {  # sd of the errors of systems, of segments, and factor of the second metric's own errors
    "shared by systems": (0.3, 0.0, 1.0),
    "shared by segments": (0.0, 0.6, 1.0),
    "shared by both": (0.3, 0.6, 1.0),
    "of translations alone": (0.0, 0.0, 1.0),
    "of translations alone, one metric worse": (0.0, 0.0, 3.0),
}


def one_law(rng: np.random.Generator, law: str, segments: int, systems: int) -> list[Array]:
    """People's scores (s, k), and those of two metrics."""
    by_system, by_segment, worse = LAWS[law]
    shape = segments, systems
    truth = rng.normal(0, 0.3, (1, systems)) + rng.normal(0, 1, shape)
    people = truth + rng.normal(0, 0.5, shape)
    metrics = [
        truth
        + rng.normal(0, by_system, (1, systems))
        + rng.normal(0, by_segment, (segments, 1))
        + factor * rng.normal(0, 0.5, shape)
        for factor in (1.0, worse)
    ]
    return [people, *metrics]


def rejected(name: str, law: str, exchange: str | None, arguments: argparse.Namespace) -> float:
    """The share of comparisons that find a difference at .05."""
    hits = 0
    for number in range(arguments.simulations):
        rng = np.random.default_rng([arguments.seed, number])
        people, *scores = one_law(rng, law, arguments.segments, arguments.systems)
        segments, systems = (tuple(map(str, range(size))) for size in people.shape)
        metrics = tuple(Metric(f"m{i}", table) for i, table in enumerate(scores))
        evaluation = Evaluation("simulated", Human(systems, segments, people), metrics)
        settings = CorrelationSettings(samples=0, permutations=199, seed=number, exchange=exchange)
        (one,) = compare(name, configured(CORRELATIONS, name), evaluation, settings).tests.values()
        hits += one.result.p <= 0.05
    return hits / arguments.simulations


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--simulations", type=int, default=400)
    parser.add_argument("--systems", type=int, default=8)
    parser.add_argument("--segments", type=int, default=60)
    parser.add_argument("--correlations", nargs="+", default=list(NAMES))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args(given)
    print("| correlation | errors | single scores | segments and systems |\n| --- | --- | ---: | ---: |")
    for name in arguments.correlations:
        for law in LAWS:
            shares = [rejected(name, law, exchange, arguments) for exchange in ("score", None)]
            told = " | ".join(f"{share:.3f}".removeprefix("0") for share in shares)
            print(f"| {name} | {law} | {told} |", flush=True)


if __name__ == "__main__":
    main()
