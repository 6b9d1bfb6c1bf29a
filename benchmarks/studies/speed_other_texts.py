"""Cost of comparing with other texts: building resources, families, nearest segments.

Build times, microseconds per segment, and the nearest-segment search against comparing with every segment by
rapidfuzz.

python benchmarks/studies/speed_other_texts.py build CORPUS      # CORPUS: the folder `corpus` of a bundle
python benchmarks/studies/speed_other_texts.py nearest CORPUS
"""

import argparse
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

from features.core.bundle import RESOURCES
from features.core.resource import Resource
from features.core.segments import Segments
from features.text.corpus import ParallelCorpus
from features.text.tokens import Tokens
from qe.data.format import FORMATS
from qe_papers.extractors.corpus_matches import EditDistance
from qe_papers.extractors.similarity import Similarity, Topics
from qe_papers.extractors.word_classes import Casing
from qe_papers.extractors.word_models import TriggerScores, WordLexiconScores
from qe_papers.resources.corpus_index import CorpusIndex

KINDS = ("corpus_index", "ngram_documents", "triggers", "topic_model", "word_lexicon", "truecaser")
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def build(corpus: ParallelCorpus, data: Path) -> None:
    """CPU seconds and size of every part, then the cost of every family that needs only these."""
    parts: dict[str, Any] = {}
    for kind in KINDS:
        outcome = RESOURCES.get(kind)
        outcome.build(corpus.take(np.arange(500)), **next(iter(outcome.parts.values())))  # compiles
        for name, settings in outcome.parts.items():
            started = time.process_time(), time.perf_counter()
            parts[name] = outcome.build(corpus, **settings)
            report(name, parts[name], time.process_time() - started[0], time.perf_counter() - started[1])
    segments = FORMATS.get("wmt12")().read(data / "wmt12-qe").splits["train"].segments
    for family in (Similarity, EditDistance, TriggerScores, Topics, WordLexiconScores, Casing):
        fields = family.__dataclass_fields__
        cost(family(**{name: parts[name] for name in fields if name in parts}), segments)


def report(name: str, part: Resource, cpu: float, seconds: float) -> None:
    arrays = [value for value in vars(part).values() if isinstance(value, np.ndarray)]
    size = sum(array.nbytes for array in arrays) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{name:40s} {cpu:6.1f} CPU s {seconds:6.1f} s {size:7.0f} MB of arrays, peak so far {peak:.2f} GB")


def cost(extractor: Any, segments: Segments) -> None:
    extractor.extract(segments.take(range(20)))
    segments.source_tokens.lower(), segments.target_tokens.lower()
    started = time.process_time(), time.perf_counter()
    extractor.extract(segments)
    cpu, seconds = time.process_time() - started[0], time.perf_counter() - started[1]
    n = len(segments)
    print(
        f"{type(extractor).__name__:40s} {1e6 * cpu / n:8.0f} us CPU a segment, {n / seconds:6.0f} per second"
    )


def nearest(corpus: ParallelCorpus, data: Path) -> None:
    """Segments per second of the bounded search, both sides, and of rapidfuzz."""
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    segments = FORMATS.get("wmt12")().read(data / "wmt12-qe").splits["train"].take(range(0, 1832, 4)).segments
    for side in ("source", "target"):
        index = CorpusIndex.build(corpus, side=side)  # type: ignore[arg-type]
        tokens: Tokens = getattr(segments, f"{side}_tokens")
        index.nearest(tokens.take(np.arange(2)))
        started = time.perf_counter(), time.process_time()
        neighbours = index.nearest(tokens)
        wall, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
        rate = len(tokens) / wall
        few = tokens.take(np.arange(0, len(tokens), 46)).lower()
        known = few.ids_in(index.vocabulary)
        queries = [characters(known[a:b]) for a, b in zip(few.offsets, few.offsets[1:], strict=False)]
        choices = [characters(index.ids[a:b]) for a, b in zip(index.offsets, index.offsets[1:], strict=False)]
        started = time.perf_counter(), 0.0
        distances = cdist(queries, choices, scorer=Levenshtein.distance, workers=-1, dtype=np.uint16)
        slow = len(few) / (time.perf_counter() - started[0])
        assert distances.min(axis=1).tolist() == neighbours.word_edits[::46].tolist()
        print(
            f"{side}: {rate:.0f} per second ({len(tokens) / cpu:.0f} per CPU second), "
            f"rapidfuzz {slow:.1f} per second: {rate / slow:.0f} times; {len(few)} compared, equal"
        )


def characters(ids: Any) -> str:
    """One private character per word; unknown words (0) are marked so that they equal nothing."""
    return "".join(chr(int(i) + 0x10000 if i else 0x1) for i in ids)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("build", "nearest"))
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    arguments = parser.parse_args()
    corpus = ParallelCorpus.load(arguments.corpus)
    {"build": build, "nearest": nearest}[arguments.what](corpus, arguments.data)


if __name__ == "__main__":
    main()
