"""The nearest of 315,831 corpus segments, exactly: segments per second.

By words and by characters.

python benchmarks/studies/speed_nearest.py  # the first 24 source and MT segments of the WMT 2012 test set

Each side has an index of its own. `CPU ms` is processor time for a segment and side; `segments/s` is by the
wall, both sides of each segment, on all cores.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from features.text.corpus import ParallelCorpus
from features.text.tokenizer import Tokenizer
from qe_papers.resources.corpus_index import CorpusIndex

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--segments", type=int, default=24)
    given = parser.parse_args()
    tokenizers = Tokenizer("en"), Tokenizer("es")
    files = [given.data / "parallel" / "en-es" / f"train.{side}.gz" for side in ("en", "es")]
    corpus = ParallelCorpus.read(files[0], files[1], *tokenizers)
    folder = given.data / "wmt12-qe" / "test_set"
    texts = [
        tokenizer.tokens((folder / name).read_text("utf-8").splitlines()[: given.segments])
        for tokenizer, name in zip(tokenizers, ("source.eng", "target_system.spa"), strict=True)
    ]
    indices = [CorpusIndex.build(corpus, side="source"), CorpusIndex.build(corpus, side="target")]
    print(f"{len(texts[0])} segments against {len(corpus):,} pairs")
    print(f"{'nearest by':<22}{'CPU ms a side':>14}{'segments/s':>12}")
    for name, by_characters in (("words", False), ("words and characters", True)):
        for index, text in zip(indices, texts, strict=True):  # compiles, spells the corpus out
            index.nearest(text.take(np.arange(4)), by_characters=by_characters)

        def search(by_characters: bool = by_characters) -> None:
            for index, text in zip(indices, texts, strict=True):
                index.nearest(text, by_characters=by_characters)

        cpu, wall = timed(search)
        rate = len(texts[0]) / wall
        print(f"{name:<22}{1e3 * cpu / 2 / len(texts[0]):>14.2f}{rate:>12,.1f}")


def timed(work: Callable[[], None]) -> tuple[float, float]:
    """Processor and wall seconds."""
    started = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - started[0], time.perf_counter() - started[1]


if __name__ == "__main__":
    main()
