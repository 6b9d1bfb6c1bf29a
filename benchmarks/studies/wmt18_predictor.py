"""How well the predictor predicts held-out text, and what learning takes.

    qe resources build --source ... --target ... --only predictor --output BUNDLE
    python benchmarks/studies/wmt18_predictor.py BUNDLE --pairs 60000 --epochs 1 2

Learns from `--pairs` random pairs of the bundle's corpus (seed 0) and predicts 2,000 others, with the links
of the bundle's aligner: mean log-probability of the words that it knows (nats), share of these that are the
most probable ones, CPU seconds of learning.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from features.core.bundle import Bundle
from features.resources.predictor import PredictorBuilder
from features.text.corpus import ParallelCorpus
from features.text.tokens import MARKERS

HELD_OUT = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--pairs", type=int, default=60_000)
    parser.add_argument("--epochs", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    aligner: Any = Bundle(arguments.bundle).part("aligner")
    corpus = ParallelCorpus.load(arguments.bundle / "corpus")
    order = np.random.default_rng(0).permutation(len(corpus))
    tested = corpus.take(np.sort(order[:HELD_OUT]))
    learned = corpus.take(np.sort(order[HELD_OUT : HELD_OUT + arguments.pairs]))
    links = aligner.align(tested.source, tested.target, "source-target", batch=500)
    print(f"{len(learned):,} pairs, {len(learned.target.ids):,} words to learn from")
    for epochs in arguments.epochs:
        started = time.process_time()
        predictor = PredictorBuilder(aligner=aligner, epochs=epochs).build(learned)
        seconds = time.process_time() - started
        predicted = predictor.predict(tested.source, tested.target, links)
        known = tested.target.lower().ids_in(predictor.target_words) >= len(MARKERS)
        log, first = predicted.log_probability[known].mean(), (predicted.rank[known] < 0.5).mean()
        print(
            f"epochs {epochs}: log-probability {log:.3f}, first {first:.3f}, {seconds:.0f} CPU s", flush=True
        )


if __name__ == "__main__":
    main()
