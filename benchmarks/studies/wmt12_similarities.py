"""How well single similarities to the corpus rank WMT12's labelled segments.

Table 1 of TCD at WMT12.

    python benchmarks/studies/wmt12_similarities.py

Every column of `similarity` and `skip_grams`, best DeltaAvg first. Nothing is fitted: a segment that is more
like the corpus is held for the better one.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from features.core.segments import Segments
from features.text.corpus import ParallelCorpus
from features.text.tokenizer import Tokenizer
from qe.statistics.metrics.ranking import DeltaAvg
from qe_papers.extractors.corpus_matches import SkipGrams
from qe_papers.extractors.similarity import WEIGHTINGS, Similarity
from qe_papers.resources.ngram_documents import NgramDocuments

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
ORDER = 5


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args()
    tokenizers = Tokenizer("en"), Tokenizer("es")
    files = [given.data / "parallel" / "en-es" / f"train.{side}.gz" for side in ("en", "es")]
    corpus = ParallelCorpus.read(files[0], files[1], *tokenizers)
    documents = [NgramDocuments.from_tokens(side, order=ORDER) for side in (corpus.source, corpus.target)]
    folder = given.data / "wmt12-qe" / "training_set"
    texts = [(folder / name).read_text("utf-8").splitlines() for name in ("source.eng", "target_system.spa")]
    segments = Segments(tuple(texts[0]), tuple(texts[1]), *tokenizers)
    labels = np.loadtxt(given.data / "wmt12-qe" / "training_set_annotations" / "target_system.effort")
    rows = []
    for family in (
        Similarity(*documents, weightings=WEIGHTINGS),
        Similarity(*documents, okapi_within="segment", matching_orders=()),
        SkipGrams(*documents, patterns=("101", "1001", "1011", "1101", "111", "1111", "11111")),
    ):
        for name, column in zip(family.names, family.extract(segments).T, strict=True):
            known = np.nan_to_num(column, nan=float(np.nanmean(column)))
            rows.append((DeltaAvg().score(labels, known), float(spearmanr(labels, known).statistic), name))
    print(f"{len(labels)} segments against {len(corpus):,} pairs")
    print(f"{'measure':<56}{'DeltaAvg':>9}{'Spearman':>10}")
    for ranking, correlation, name in sorted(rows, reverse=True):
        print(f"{name:<56}{ranking:>9.3f}{correlation:>10.3f}")


if __name__ == "__main__":
    main()
