"""Type I error of all tests and coverage of all intervals.

By metric, null hypothesis, number of segments.

    python benchmarks/studies/significance_calibration.py run --output calibration.jsonl [--simulations \\
        2000] [--seed 1]
    python benchmarks/studies/significance_calibration.py show calibration.jsonl

A cell is a null hypothesis and a number of segments; a simulation draws gold labels and the predictions of
two systems that are equally good, asks all tests, and makes all intervals of the first system's scores
(Tukey's test sees a third such system, and rejects where it tells any two of the three apart). Finished
chunks of 50 simulations are lines of the output: a second start goes on where the first stopped, and gives
the same lines, since simulation i of a cell has a seed of its own. `show` prints tables of what is there.

Coverage is that of the score's expectation at that number of segments for DeltaAvg (which depends on it), and
of the score of 1,000,000 segments for all others.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qe.evaluation.evaluate import DEFAULT_METRICS
from qe.statistics.comparisons import Comparisons, Scored, VirtualScores
from qe.statistics.draws import Levels
from qe.statistics.intervals import (
    bca_interval,
    jackknife_interval,
    percentile_interval,
    williams_test,
    zou_interval,
)
from qe.statistics.metric import METRICS, Metric
from qe.statistics.settings import ResamplingSettings, Test

Floats = NDArray[np.float64]
Labels = tuple[Floats, dict[str, Floats]]
LEVEL, SAMPLES, CHUNK, LARGE, MANY = 0.05, 999, 50, 1_000_000, 20_000
SIZES = (30, 422)
TESTS = ("ar", "bootstrap", "tukey", "williams", "zou")
INTERVALS = ("jackknife", "percentile", "bca")


def normal(rng: np.random.Generator, n: int, systems: int) -> Labels:
    """Normal labels; predictions are the label and independent noise of its size."""
    gold = rng.normal(size=n)
    return gold, {f"s{i}": gold + rng.normal(size=n) for i in range(systems)}


def tied(rng: np.random.Generator, n: int, systems: int) -> Labels:
    """Labels in whole steps of 1 .. 5, predictions in halves of them."""
    raw = 3.4 + 0.9 * rng.normal(size=n)
    sides = {f"s{i}": np.round(2 * np.clip(raw + rng.normal(size=n), 1, 5)) / 2 for i in range(systems)}
    return np.clip(np.round(raw), 1, 5), sides


def log_normal(rng: np.random.Generator, n: int, systems: int) -> Labels:
    """Log-normal labels; predictions differ from them by log-normal factors."""
    gold = rng.lognormal(size=n)
    return gold, {f"s{i}": gold * rng.lognormal(0, 0.8, n) for i in range(systems)}


NULLS: dict[str, Callable[[np.random.Generator, int, int], Labels]] = {
    "normal": normal,
    "tied": tied,
    "log-normal": log_normal,
}


def simulate(null: str, n: int, seed: int) -> dict[str, Any]:
    """One simulation: p-values, intervals, and the first system's scores.

    p-values by test and metric, intervals by kind and metric.
    """
    rng = np.random.default_rng([seed, list(NULLS).index(null), n])
    gold, systems = NULLS[null](rng, n, 3)
    pair = {name: systems[name] for name in ("s0", "s1")}
    metrics: dict[str, Metric] = {name: METRICS.get(name)() for name in DEFAULT_METRICS}
    levels, scored = Levels.from_groups(None, n), Scored.from_predictions(gold, pair, metrics)
    drawn = scored.resampled(levels, SAMPLES, seed)

    def tested(sides: dict[str, Floats], test: Test) -> dict[str, float]:
        how = ResamplingSettings(test=test, samples=SAMPLES, seed=seed)
        engine = Comparisons(Scored.from_predictions(gold, sides, metrics), levels, how, computed=drawn)
        results = engine.tests(list(combinations(sides, 2)))
        return {m: min(one.p for (*_, metric), one in results.items() if metric == m) for m in metrics}

    p = {"ar": tested(pair, "ar"), "bootstrap": tested(pair, "bootstrap"), "tukey": tested(systems, "tukey")}
    p |= {test: {"pearson": value} for test, value in classical(gold, *pair.values()).items()}
    without = {m: scored.leave_one_out("s0", m, None) for m in metrics}
    scores = scored.scores["s0"]
    return {"p": p, "intervals": intervals(scores, drawn, without, metrics), "scores": scores}


def classical(gold: Floats, own: Floats, other: Floats) -> dict[str, float]:
    """Williams' p; for Zou's interval 0 where it does not hold 0, else 1."""
    system, baseline, between = (
        float(np.corrcoef(x, y)[0, 1]) for x, y in ((own, gold), (other, gold), (own, other))
    )
    low, high = zou_interval(system, baseline, between, len(gold))
    p = williams_test(system, baseline, between, len(gold)).p
    return {"williams": p, "zou": float(low <= 0 <= high)}


def intervals(
    scores: dict[str, float], drawn: VirtualScores, without: dict[str, Floats], metrics: dict[str, Metric]
) -> dict[str, dict[str, tuple[float, float]]]:
    """kind -> metric -> 95 % interval of the first system's score."""
    by_name: dict[str, dict[str, tuple[float, float]]] = {kind: {} for kind in INTERVALS}
    for name, metric in metrics.items():
        left = [without[name]]
        by_name["jackknife"][name] = jackknife_interval(scores[name], left, link=metric.interval_scale)
        by_name["percentile"][name] = percentile_interval(drawn["s0", name])
        by_name["bca"][name] = bca_interval(drawn["s0", name], scores[name], left[0])
    return by_name


def run(output: Path, simulations: int, seed: int, nulls: Sequence[str], sizes: Sequence[int]) -> None:
    done = {(line["null"], line["n"], line["seed"], line["first"]) for line in lines(output)}
    for n in sizes:
        for first, null in product(range(0, simulations, CHUNK), nulls):
            if (null, n, seed, first) not in done:
                listed = [simulate(null, n, seed * 1_000_000 + i) for i in range(first, first + CHUNK)]
                line = {"null": null, "n": n, "seed": seed, "first": first, "simulations": listed}
                with output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
        print(f"n = {n}: {simulations} simulations of {', '.join(nulls)}", flush=True)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Whole lines; a last one that a kill cut short is not counted as done."""
    for text in path.read_text("utf-8").splitlines(keepends=True) if path.is_file() else []:
        if text.endswith("\n"):
            yield json.loads(text)


def show(path: Path) -> None:
    cells: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for line in lines(path):
        cells.setdefault((line["null"], line["n"]), []).extend(line["simulations"])
    print(f"Type I error at {LEVEL}, {SAMPLES} samples a test\n")
    print("| null | n | simulations | test | " + " | ".join(DEFAULT_METRICS) + " |")
    print("| --- | ---: | ---: | --- | " + " | ".join(["---:"] * len(DEFAULT_METRICS)) + " |")
    for (null, n), each in cells.items():
        for test in TESTS:
            rates = [rejected([one["p"][test].get(metric) for one in each]) for metric in DEFAULT_METRICS]
            print(f"| {null} | {n} | {len(each)} | {test} | " + " | ".join(rates) + " |")
    print("\nCoverage of 95 % intervals\n")
    print("| labels | n | interval | " + " | ".join(DEFAULT_METRICS) + " |")
    print("| --- | ---: | --- | " + " | ".join(["---:"] * len(DEFAULT_METRICS)) + " |")
    for (null, n), each in cells.items():
        true = truths(null, n)
        for kind in INTERVALS:
            rates = [covered([one["intervals"][kind][m] for one in each], true[m]) for m in DEFAULT_METRICS]
            print(f"| {null} | {n} | {kind} | " + " | ".join(rates) + " |")


def rejected(p: Sequence[float | None]) -> str:
    """The share of p-values that reject, as text; - for a test that does not know the metric."""
    values = np.array(p, np.float64)
    return "-" if np.isnan(values).all() else f"{np.mean(values <= LEVEL):.3f}".lstrip("0")


def covered(bounds: Sequence[tuple[float, float]], true: float) -> str:
    """The share of intervals that hold the true score; undefined ones do not."""
    low, high = np.array(bounds, np.float64).T
    return f"{np.mean((low <= true) & (true <= high)):.3f}".lstrip("0")


def truths(null: str, n: int) -> dict[str, float]:
    """Metric -> what its intervals are to hold."""
    gold, systems = NULLS[null](np.random.default_rng(99), LARGE, 1)
    large = {m: METRICS.get(m)().score(gold, systems["s0"]) for m in DEFAULT_METRICS if m != "delta_avg"}
    rng, metric = np.random.default_rng(98), METRICS.get("delta_avg")()
    small = (NULLS[null](rng, n, 1) for _ in range(MANY))
    return large | {"delta_avg": float(np.mean([metric.score(g, sides["s0"]) for g, sides in small]))}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    running, showing = verbs.add_parser("run"), verbs.add_parser("show")
    running.add_argument("--output", type=Path, required=True)
    running.add_argument("--simulations", type=int, default=2000)
    running.add_argument("--seed", type=int, default=1)
    running.add_argument("--null", choices=NULLS, nargs="+", default=list(NULLS))
    running.add_argument("--size", type=int, nargs="+", default=list(SIZES))
    showing.add_argument("results", type=Path)
    arguments = parser.parse_args()
    if arguments.verb == "show":
        show(arguments.results)
    else:
        run(arguments.output, arguments.simulations, arguments.seed, arguments.null, arguments.size)


if __name__ == "__main__":
    main()
