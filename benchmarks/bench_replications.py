"""How often tests reject a true null hypothesis at .05, and p by replications.

    python benchmarks/bench_replications.py [--simulations 2000] [--seed 1] [--data ../shared/data]

Part 1: simulated pairs of equivalent systems, n = 200 segments. Part 2: equivalent systems on real data
(runs of one MT system, after Riezler and Maxwell 2005, Table 2). Part 3: one, three and five replications of
two QE learners (after Clark et al. 2011, Table 2).
"""

import argparse
import gzip
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qe.statistics.metrics.ranking import DeltaAvg, Spearman
from qe.statistics.resampling import (
    bootstrap_rescored,
    bootstrap_scores,
    bootstrap_test,
    randomization_test,
    randomization_test_rescored,
)
from qe.statistics.result import Aggregate
from qe.systems.mt_metrics.ngrams import Bleu
from qe.systems.texts import Texts

Floats = NDArray[np.float64]
SEGMENTS, SAMPLES, LEVEL = 200, 999, 0.05
METHODS = ("centred", "win-ratio", "shifted")


def mean(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1])


def scored(values: Floats) -> Floats:
    return np.stack([values, np.ones_like(values)], axis=-1)


def normal(rng: np.random.Generator) -> tuple[Floats, Floats]:
    segment = rng.normal(0, 1, SEGMENTS)
    a, b = segment + rng.normal(0, 1, (2, SEGMENTS))
    return scored(a), scored(b)


def skewed(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Log-normal scores around a shared log-normal segment effect."""
    segment = rng.lognormal(0, 1, SEGMENTS)
    a, b = segment * rng.lognormal(0, 0.8, (2, SEGMENTS))
    return scored(a), scored(b)


def bleu_like(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Matched n-grams of two equivalent systems on segments of differing length and difficulty."""
    length = np.maximum(5, rng.lognormal(3.1, 0.5, SEGMENTS)).astype(int)
    easy = rng.beta(4, 3, SEGMENTS)
    sides = []
    for _ in range(2):
        own = np.clip(length + rng.integers(-2, 3, SEGMENTS), 4, None)
        share = np.clip(easy + rng.normal(0, 0.08, SEGMENTS), 0.05, 0.95)
        totals = np.stack([own - order for order in range(4)], axis=1)
        matched = [rng.binomial(totals[:, 0], share)]
        for order in range(1, 4):
            matched.append(rng.binomial(np.minimum(matched[-1], totals[:, order]), 0.55 + 0.3 * share))
        sides.append(np.column_stack([own, length, *matched, totals]).astype(np.float64))
    return sides[0], sides[1]


def additive_p(a: Floats, b: Floats, aggregate: Aggregate, seed: int) -> dict[str, float]:
    by_name = {"randomization": randomization_test(a, b, aggregate, samples=SAMPLES, seed=seed).p}
    one, other = bootstrap_scores(np.stack([a, b]), aggregate, samples=SAMPLES, seed=seed)
    difference = float(aggregate(a.sum(axis=0)) - aggregate(b.sum(axis=0)))
    for method in METHODS:
        by_name[method] = bootstrap_test(one, other, difference, method=method).p  # type: ignore[arg-type]
    return by_name


def ranked_p(metric: DeltaAvg | Spearman, rng: np.random.Generator, seed: int) -> dict[str, float]:
    """Two equivalent QE models: gold labels 1 .. 5, predictions with independent errors."""
    gold = np.round(rng.uniform(1, 5, SEGMENTS), 1)
    a, b = gold + rng.normal(0, 1.2, (2, SEGMENTS))
    ranks = metric.on_common_scale(a), metric.on_common_scale(b)
    exchanged = randomization_test_rescored(
        lambda heads: metric.exchanged(gold, *ranks, heads),
        ranks[0] != ranks[1],
        samples=SAMPLES,
        seed=seed,
    )
    one, other = (
        bootstrap_rescored(
            lambda c, side=side: metric.resample(gold, side, c), SEGMENTS, samples=SAMPLES, seed=seed
        )  # type: ignore[misc]
        for side in (a, b)
    )
    difference = metric.score(gold, a) - metric.score(gold, b)
    by_name = {"randomization": exchanged.p}
    for method in METHODS:
        by_name[method] = bootstrap_test(one, other, difference, method=method).p  # type: ignore[arg-type]
    return by_name


def rejection_rates(simulations: int, seed: int) -> None:
    sources: dict[str, Callable[[np.random.Generator, int], dict[str, float]]] = {
        "paired normal": lambda rng, s: additive_p(*normal(rng), mean, s),
        "skewed": lambda rng, s: additive_p(*skewed(rng), mean, s),
        "BLEU-like": lambda rng, s: additive_p(*bleu_like(rng), Bleu().aggregate, s),
        "DeltaAvg": lambda rng, s: ranked_p(DeltaAvg(), rng, s),
        "Spearman": lambda rng, s: ranked_p(Spearman(), rng, s),
    }
    error = 1.96 * np.sqrt(LEVEL * (1 - LEVEL) / simulations)
    print(f"Rejection rate of true null hypotheses at {LEVEL}: {simulations} simulations, n = {SEGMENTS},")
    print(f"{SAMPLES} samples each; 95 % of correct tests lie within {LEVEL} +- {error:.3f}\n")
    names = ("randomization", *METHODS)
    print(f"{'statistics':<14}" + "".join(f"{name:>15}" for name in names))
    for source, simulate in sources.items():
        rng = np.random.default_rng(seed)
        p = [simulate(rng, i) for i in range(simulations)]
        rates = [np.mean([each[name] <= LEVEL for each in p]) for name in names]
        print(f"{source:<14}" + "".join(f"{rate:>15.3f}" for rate in rates), flush=True)


def replicated_rates(simulations: int, seed: int) -> None:
    """Three runs of each system; systems differ by segment (not on average), or only run by run."""
    print("\nThe same with three runs of each system, by unit of exchange\n")
    print(f"{'runs of one system ...':<42}{'segment-run':>12}{'segment':>12}")
    cases = {"are independent on a segment": 0.0, "share their system's strengths": 1.0}
    for case, shared in cases.items():
        rng = np.random.default_rng(seed)
        rejected = {"segment-run": 0, "segment": 0}
        for simulation in range(simulations):
            strengths = shared * rng.normal(0, 1, (2, 1, SEGMENTS))
            a, b = scored(strengths + rng.normal(0, 1, (2, 3, SEGMENTS)))
            for exchange in rejected:
                p = randomization_test(a, b, mean, exchange=exchange, samples=SAMPLES, seed=simulation).p  # type: ignore[arg-type]
                rejected[exchange] += p <= LEVEL
        row = "".join(f"{count / simulations:>12.3f}" for count in rejected.values())
        print(f"... {case:<38}{row}", flush=True)


def equivalent_systems(folder: Path) -> None:
    """Pairs of optimizer runs of the same MT system: randomization against bootstrap."""
    print("\nEquivalent MT systems: optimizer runs of one system, BLEU, 10,000 samples\n")
    print(
        f"{'runs compared':<24}{'difference':>11}{'randomization':>15}" + "".join(f"{m:>11}" for m in METHODS)
    )
    reference = [Texts.from_lines(_lines(folder / "refs.test2010.lc.tok.en.0.gz"))]
    for system in ("baseline", "sys1"):
        texts = [
            Texts.from_lines(_lines(folder / f"hyps.lc.tok.en.{system}.opt{run}.gz")) for run in range(3)
        ]
        runs = [Bleu().statistics(text, reference) for text in texts]
        for i, j in combinations(range(3), 2):
            a, b = runs[i], runs[j]
            p = randomization_test(a, b, Bleu().aggregate, seed=1)
            one, other = bootstrap_scores(np.stack([a, b]), Bleu().aggregate, samples=10_000, seed=1)
            tests = [bootstrap_test(one, other, p.difference, method=m).p for m in METHODS]  # type: ignore[arg-type]
            row = "".join(f"{value:>11.4f}" for value in tests)
            print(f"{f'{system} {i} : {j}':<24}{p.difference:>11.3f}{p.p:>15.4f}{row}")


def _lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().rstrip("\n").split("\n")


def replications(data: Path) -> None:
    """Extra trees against a random forest: MAE on 432 held-out WMT12 segments.

    Both are random learners.
    """
    features = np.loadtxt(data / "wmt12-qe/baseline_features/training.tsv")
    effort = np.loadtxt(data / "wmt12-qe/training_set_annotations/target_system.effort")
    print("\nReplications: extra trees against a random forest, 10 trees each, MAE of effort, 432 segments;")
    print("p of the randomization test over 200 draws of replications (2.5 %, median, 97.5 %)\n")
    errors = _errors(features, effort)
    rng = np.random.default_rng(0)
    print(f"{'replications':<14}{'exchange':<14}{'2.5 %':>9}{'median':>9}{'97.5 %':>9}")
    for count in (1, 3, 5):
        draws = [(rng.choice(20, count, False), rng.choice(20, count, False)) for _ in range(200)]
        for exchange in ("segment-run", "segment"):
            p = [
                randomization_test(
                    scored(errors["extra"][i]), scored(errors["forest"][j]), mean,
                    exchange=exchange, samples=2000, seed=1,  # type: ignore[arg-type]
                ).p
                for i, j in draws
            ]  # fmt: skip
            row = "".join(f"{value:>9.4f}" for value in np.quantile(p, [0.025, 0.5, 0.975]))
            print(f"{count:<14}{exchange:<14}{row}")


def _errors(features: Floats, effort: Floats) -> dict[str, Floats]:
    """learner -> (20, 432) absolute errors of 20 seeds."""
    from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

    order = np.random.default_rng(0).permutation(len(effort))
    train, test = order[:1400], order[1400:]
    learners = {"extra": ExtraTreesRegressor, "forest": RandomForestRegressor}

    def predictions(learner: type) -> Iterator[Floats]:
        for seed in range(20):
            model = learner(n_estimators=10, min_samples_leaf=3, random_state=seed)
            yield np.abs(model.fit(features[train], effort[train]).predict(features[test]) - effort[test])

    return {name: np.stack(list(predictions(learner))) for name, learner in learners.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    arguments = parser.parse_args()
    rejection_rates(arguments.simulations, arguments.seed)
    replicated_rates(arguments.simulations, arguments.seed)
    for part, needed in [(equivalent_systems, "golden/multeval"), (replications, "wmt12-qe")]:
        if not (arguments.data / needed).exists():
            print(f"\n(left out: {arguments.data / needed} is absent)")
            continue
        part(arguments.data / needed if part is equivalent_systems else arguments.data)


if __name__ == "__main__":
    main()
