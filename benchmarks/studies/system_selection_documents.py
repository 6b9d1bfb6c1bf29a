"""Document BLEU of WMT12's training set, predicted out of fold in four ways.

Soricut and Narsale, Table 1.

The paper's 12 features, M5P, documents of ten consecutive segments, ten folds of documents:

    statistics   five models a segment, their statistics summed over the document (the paper's "Sent")
    means        the same segments' predicted BLEU, averaged by length
    segments     one model of segment BLEU, averaged by length
    documents    one model of document BLEU from the mean features of its segments (the paper's "Doc")

    python benchmarks/studies/system_selection_documents.py --resources BUNDLE --translation \\
        apertium.es [--data-root DIR]

`--translation`: a second system's output, the pseudo-reference (`qe data translate`). p-values are paired,
against `documents`, corrected by Holm.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.storage.files import read_lines
from qe.data.dataset import LabelScale, Split
from qe.data.folds import make_folds
from qe.evaluation.evaluate import Report, evaluate
from qe.models.pipeline import Candidate
from qe.resources.bundle_source import default_cache
from qe.statistics.settings import SignificanceSettings
from qe.systems.documents import (
    DocumentReport,
    blocks,
    document_means,
    document_names,
    document_scores,
    evaluate_documents,
)
from qe.systems.mt_metrics.ngrams import Bleu
from qe_papers.selection.chooser import BleuModel, segment_bleu, without_reference
from qe_papers.selection.selection import Translations, make_extraction

ROOT = Path(__file__).resolve().parents[2]
WAYS = ("statistics", "means", "segments", "documents")
BLEU = Bleu(tokenize="13a")
SCALE = LabelScale("BLEU", 0, 100, True)


def predictions(
    data: Translations, number: int, statistics: FloatArray, resources: Path, learner: str
) -> dict[str, FloatArray]:
    """Way -> (d,) predicted BLEU of every document of the numbered system."""
    extraction, tokenizers = make_extraction(
        [{"set": "soricut-narsale"}], resources, ("en", "es"), default_cache()
    )
    segments = data.segments(tokenizers)[number]
    split = Split(segments, scores=segment_bleu(statistics), reference=data.references[0])
    lengths, names = statistics[:, 0], document_names(data.documents)
    by_name = {way: np.full(len(names), np.nan) for way in WAYS}
    documents = np.array(data.documents)
    for train, test in make_folds(len(data), 10, scheme="document", documents=data.documents):
        own, other = extraction.fold(split, train, test)
        columns = [names.index(name) for name in document_names(documents[test])]
        predicted = (
            BleuModel(learner).fit(own, statistics[train]).predict(other, without_reference(statistics[test]))
        )
        plain = Candidate(learner).pipeline(0).fit(own, segment_bleu(statistics[train])).predict(other)
        whole = Candidate(learner).pipeline(0)
        whole.fit(
            mean_features(own, documents[train]),
            document_scores(statistics[train], documents[train], BLEU.aggregate),
        )
        by_name["statistics"][columns] = document_scores(predicted, documents[test], BLEU.aggregate)
        by_name["means"][columns] = document_means(segment_bleu(predicted), documents[test], lengths[test])
        by_name["segments"][columns] = document_means(np.asarray(plain), documents[test], lengths[test])
        by_name["documents"][columns] = whole.predict(mean_features(other, documents[test]))
    return by_name


def mean_features(features: pd.DataFrame, documents: NDArray[np.str_]) -> pd.DataFrame:
    """(d, k) means of each feature's defined values per document.

    Documents as `document_names`.
    """
    return features.groupby(documents, sort=False).mean()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-root", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--resources", type=Path, required=True)
    parser.add_argument("--translation", type=Path, required=True)
    parser.add_argument("--learner", default="m5p")
    arguments = parser.parse_args()
    folder = arguments.data_root / "wmt12-qe"

    def lines(path: Path) -> tuple[str, ...]:
        return tuple(line.strip() for line in read_lines(path))

    source = lines(folder / "training_set" / "source.eng")
    systems = {
        "moses": lines(folder / "training_set" / "target_system.spa"),
        "second": lines(arguments.translation),
    }
    for kind in ("reference", "postedited"):
        reference = lines(folder / "training_set_annotations" / f"target_{kind}.spa")
        data = Translations(source, systems, blocks(len(source)), (reference,))
        for number, (name, statistics) in enumerate(zip(systems, data.statistics(BLEU), strict=True)):
            print(f"{name}, BLEU against {kind}: {len(document_names(data.documents))} documents")
            outcome = predictions(data, number, statistics, arguments.resources, arguments.learner)
            gold = document_scores(statistics, data.documents, BLEU.aggregate)
            report = evaluate(
                gold,
                outcome,
                SCALE,
                SignificanceSettings(samples=10_000),
                baselines=["documents"],
                metrics=["pearson", "mae"],
            )
            for way, predicted in outcome.items():
                _print(way, evaluate_documents(statistics, predicted, data.documents, BLEU.aggregate), report)


def _print(way: str, figures: DocumentReport, report: Report) -> None:
    r, accuracy, delta = figures.pearson, figures.ranking_accuracy, figures.delta_avg
    line = (
        f"  {way:10}  r {r.value:.3f} [{r.ci[0]:.3f}, {r.ci[1]:.3f}]  rAcc[2] {accuracy.value:.3f}  "
        f"DeltaAvg[2] {delta.value:+.2f} [{delta.ci[0]:+.2f}, {delta.ci[1]:+.2f}]  "
        f"MAE {report.score(way, 'mae'):.2f}"
    )
    if way != "documents":
        p = {metric: report.comparison(way, "documents", metric).p_corrected for metric in ("pearson", "mae")}
        line += f"  p {p['pearson']:.3f} (r), {p['mae']:.3f} (MAE)"
    print(line)


if __name__ == "__main__":
    main()
