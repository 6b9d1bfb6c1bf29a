"""`qe suggest` in simulation: 500 labels by it, and at random, from pools.

The pools hide their labels.

python benchmarks/studies/suggest_simulation.py  # MLQE-PE en-de HTER, ro-en DA; WMT18 en-de HTER

Each draw splits the training segments anew: a third is held out, 3,000 of the others are the pool. Both
start from the same 100 random labels and add 100 four times. The figure is Pearson's correlation of ridge
regression (fixed penalty) on the held-out third, with the features that need no resources: `surface`, and
`decoder` if the data have it. p: randomization of signs over the draws, two-sided. `all`: the labels of the
whole pool.
"""

import argparse
from itertools import product
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from qe.config.experiment import from_mapping
from qe.production.suggestion import choose
from qe.training.check import check
from qe.training.preparation import prepare

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
TASKS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "en-de HTER (MLQE-PE)": (
        {"format": "mlqe_pe", "path": "mlqe-pe", "pair": "en-de", "label": "hter", "text": "tokenised"},
        ["surface", "decoder"],
    ),
    "ro-en DA (MLQE-PE)": (
        {"format": "mlqe_pe", "path": "mlqe-pe", "pair": "ro-en", "label": "da", "text": "tokenised"},
        ["surface", "decoder"],
    ),
    "en-de HTER (WMT18)": (
        {"format": "wmt_qe", "path": "wmt18-qe/en-de.smt", "source_language": "en", "target_language": "de"},
        ["surface"],
    ),
}
START, STEP, ROUNDS, POOL, PENALTY = 100, 100, 4, 3000, 200.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--cache", type=Path, default=Path(gettempdir()) / "bench-suggest")
    given = parser.parse_args()
    print(f"{'task':<24}{'random':>9}{'suggest':>9}{'difference':>12}{'p':>9}{'all':>9}")
    for name, (dataset, kinds) in TASKS.items():
        rows, labels = read(dataset, kinds, given.data, given.cache)
        figures = np.array([draw(rows, labels, seed) for seed in range(given.draws)])
        chance, ours, all_ = figures.mean(axis=0)
        p = sign_test(figures[:, 1] - figures[:, 0])
        print(f"{name:<24}{chance:>9.4f}{ours:>9.4f}{ours - chance:>+12.4f}{p:>9.4f}{all_:>9.4f}", flush=True)


def read(dataset: dict[str, Any], kinds: list[str], data: Path, cache: Path) -> tuple[FloatArray, FloatArray]:
    """Features and labels of the training segments."""
    features = [{"kind": kind} for kind in kinds]
    content = {"name": "suggest", "dataset": dataset, "features": features, "learner": [{"kind": "ridge"}]}
    prepared = prepare(check(from_mapping(content, data)), cache)
    table = prepared.extraction.static(prepared.training.segments)
    return table.to_numpy(np.float64), prepared.scores


def draw(rows: FloatArray, labels: FloatArray, seed: int) -> tuple[float, float, float]:
    """Pearson's correlation on the held-out third: at random, by `choose`, whole pool."""
    order = np.random.default_rng(seed).permutation(len(rows))
    held_out, pool = order[: len(rows) // 3], order[len(rows) // 3 :][:POOL]
    chance, chosen = pool[: START + STEP * ROUNDS], pool[:START]
    for number in range(ROUNDS):
        free = np.setdiff1d(pool, chosen)
        more, _ = choose(rows[chosen], labels[chosen], rows[free], STEP, seed * ROUNDS + number)
        chosen = np.concatenate([chosen, free[more]])
    return tuple(correlation(rows, labels, some, held_out) for some in (chance, chosen, pool))  # type: ignore[return-value]


def correlation(rows: FloatArray, labels: FloatArray, some: Any, held_out: Any) -> float:
    """Correlation of ridge regression learned from some rows, on others."""
    middle = np.nanmedian(rows[some], axis=0)
    filled = np.where(np.isfinite(rows), rows, np.where(np.isfinite(middle), middle, 0))
    mean, deviation = filled[some].mean(axis=0), filled[some].std(axis=0)
    scaled = np.clip((filled - mean) / np.where(deviation > 0, deviation, 1), -4, 4)
    own, centred = scaled[some], labels[some] - labels[some].mean()
    weights = np.linalg.solve(own.T @ own + PENALTY * np.eye(own.shape[1]), own.T @ centred)
    return float(np.corrcoef(scaled[held_out] @ weights, labels[held_out])[0, 1])


def sign_test(differences: FloatArray) -> float:
    """Two-sided p of the mean, over all signs, or 100,000 draws of them."""
    n = len(differences)
    if n <= 16:
        signs = np.array(list(product((-1, 1), repeat=n)))
        return float((np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12).mean())
    signs = np.random.default_rng(0).choice((-1, 1), (100_000, n))
    as_large = int((np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12).sum())
    return (as_large + 1) / (len(signs) + 1)


if __name__ == "__main__":
    main()
