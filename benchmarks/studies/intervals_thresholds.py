"""How often thresholds of `qe triage --bad` break their promise, in 1,000 draws from a known population.

    python benchmarks/studies/intervals_thresholds.py

A draw breaks it if more than the stated share of all segments beyond its threshold is bad. HTER is drawn from
Beta(1, 4), 24 % above .3; predictions add noise (standard deviation .12).
"""

import argparse
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy import stats

from features.basics.array_types import FloatArray, IntArray
from features.basics.errors import InputError
from qe.production.risk import triage

Draw = tuple[FloatArray, FloatArray, IntArray]  # labels, predictions, documents
RISK, CONFIDENCE, LIMIT = 0.05, 0.9, 0.3


def skewed(generator: np.random.Generator, n: int, shape: float = 4.0, noise: float = 0.12) -> Draw:
    """Independent segments."""
    gold = generator.beta(1, shape, n)
    return gold, np.clip(gold + noise * generator.normal(size=n), 0, 1), np.arange(n)


def tied(generator: np.random.Generator, n: int) -> Draw:
    """Predictions of one decimal."""
    gold, predicted, units = skewed(generator, n)
    return gold, predicted.round(1), units


def useless(generator: np.random.Generator, n: int) -> Draw:
    """Predictions that say nothing, of segments of which 5.5 % are bad: any threshold breaks the promise."""
    bad = generator.random(n) < 0.055
    return np.where(bad, 0.9, 0.1), generator.random(n), np.arange(n)


def clustered(generator: np.random.Generator, n: int) -> Draw:
    """Documents of 20 segments, which share 80 % of the variance of labels and of errors of predictions."""
    documents = np.arange(n) // 20
    shared = generator.normal(size=(2, documents[-1] + 1))[:, documents]
    latent, error = np.sqrt(0.8) * shared + np.sqrt(0.2) * generator.normal(size=(2, n))
    gold = stats.beta.ppf(stats.norm.cdf(latent), 1, 4)
    return gold, np.clip(gold + 0.12 * error, 0, 1), documents


SCENARIOS = {
    "skewed labels": skewed,
    "few bad (2.8 %)": partial(skewed, shape=10.0),
    "noisy (.3)": partial(skewed, noise=0.3),
    "ties": tied,
    "useless, 5.5 % bad": useless,
    "documents of 20": clustered,
}


def thresholds(draw: "partial[Draw]", n: int, draws: int, by_document: bool) -> Iterator[float | None]:
    for seed in range(draws):
        gold, predicted, documents = draw(np.random.default_rng(seed), n)
        units = documents if by_document else None
        try:
            control = triage(
                gold,
                predicted,
                bad=f"hter>{LIMIT}",
                risk=RISK,
                confidence=CONFIDENCE,
                documents=units,
                samples=1,
            )
        except InputError:  # too few labels
            yield None
        else:
            yield control.thresholds[""].publish


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--labels", nargs="+", choices=list(SCENARIOS), default=list(SCENARIOS))
    given = parser.parse_args()
    print("| labels | n | broken | no threshold | published |\n|---|---:|---:|---:|---:|")
    for name in given.labels:
        draw = SCENARIOS[name]
        gold, predicted, _ = draw(np.random.default_rng(1_000_000), 500_000)
        order = np.argsort(predicted, kind="stable")
        ranked, bad = predicted[order], np.cumsum(gold[order] > LIMIT)
        for by_document in (False, True) if name.startswith("documents") else (False,):
            for n in (50, 200, 1000):
                found = list(thresholds(draw, n, given.draws, by_document))
                ranks = np.searchsorted(ranked, [x for x in found if x is not None], side="right")
                broken = sum(bad[rank - 1] / rank > RISK for rank in ranks if rank) / len(found)
                title = f"{name}, `--documents`" if by_document else name
                share = ranks.sum() / len(ranked) / len(found)
                missing = 1 - len(ranks) / len(found)
                print(f"| {title} | {n} | {broken:.1%} | {missing:.0%} | {share:.0%} |", flush=True)


if __name__ == "__main__":
    main()
