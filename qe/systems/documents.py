"""Documents: scores from segments, and how well documents are ranked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.data.score_files import ScoreFile
from qe.display.summary import Record
from qe.statistics.draws import Groups, group_index, group_sums
from qe.statistics.intervals import percentile_interval
from qe.statistics.metrics.ranking import Pearson, Spearman
from qe.statistics.resampling import bootstrap_rescored
from qe.statistics.result import Aggregate

Rows = NDArray[np.int64]


def blocks(segments: int, size: int = 10) -> tuple[str, ...]:
    """Document ids of `size` consecutive segments each (10: Soricut and Narsale 2012, section 3.4).

    >>> blocks(5, 2)
    ('1', '1', '2', '2', '3')
    """
    if size < 1:
        raise InputError(f"a document has at least one segment, but got {size}")
    return tuple(str(i // size + 1) for i in range(segments))


def document_names(documents: Groups) -> list[str]:
    return list(dict.fromkeys(map(str, documents)))


def document_statistics(statistics: FloatArray, documents: Groups) -> FloatArray:
    """(n, k) statistics of segments -> (d, k) sums by document."""
    sums: FloatArray = group_sums(statistics[None], documents)[0]
    return sums


def document_scores(statistics: FloatArray, documents: Groups, aggregate: Aggregate) -> FloatArray:
    scores: FloatArray = aggregate(document_statistics(statistics, documents))
    return scores


def document_means(scores: FloatArray, documents: Groups, weights: FloatArray | None = None) -> FloatArray:
    """(d,) means of segment scores, weighted by (n,) `weights` such as lengths; NaN if these sum to 0."""
    weights = np.ones(len(scores)) if weights is None else weights
    sums = document_statistics(np.stack([scores * weights, weights], axis=1), documents)
    means: FloatArray = np.divide(
        sums[:, 0], sums[:, 1], out=np.full(len(sums), np.nan), where=sums[:, 1] > 0
    )
    return means


def quantile_numbers(values: FloatArray, quantiles: int) -> Rows:
    """(n,) quantile of every element, 0 for the highest values; ties go by position, the first one higher.

    All quantiles hold n // quantiles elements, the last one the rest too (the paper's footnote 3).

    >>> quantile_numbers(np.array([5.0, 1, 9, 7, 3]), 2).tolist()
    [1, 1, 0, 0, 1]
    """
    order = np.argsort(-values, kind="stable")
    numbers = np.empty(len(values), np.int64)
    numbers[order] = np.minimum(np.arange(len(values)) // (len(values) // quantiles), quantiles - 1)
    return numbers


def ranking_accuracy(gold: FloatArray, predicted: FloatArray, quantiles: int = 2) -> float:
    """rAcc[n]: the share of elements that a ranking puts into their true quantile, 0 .. 1.

    rAcc[n] = (1 / N) sum over quantiles of TP_i; 1 / n by chance where quantiles are equal. NaN for fewer
    elements than quantiles; InputError for fewer than 2 quantiles. Source: Soricut and Narsale 2012, 3.3.

    >>> ranking_accuracy(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4]))
    0.5
    """
    if quantiles < 2:
        raise InputError(f"a ranking is cut into at least 2 quantiles, but got {quantiles}")
    if len(gold) < quantiles:
        return float("nan")
    true = quantile_numbers(gold, quantiles)
    return float((true == quantile_numbers(predicted, quantiles)).mean())


def delta_avg_of_sets(
    statistics: FloatArray, predicted: FloatArray, aggregate: Aggregate, quantiles: int = 2
) -> float:
    """DeltaAvg[n] of (d,) predictions; the value of a set is the metric of its summed (d, k) statistics.

    For n = 2: the BLEU of the better half less the BLEU of all. NaN for fewer elements than quantiles.
    Source: Soricut and Narsale 2012, equation 4.
    """
    if quantiles < 2:
        raise InputError(f"a ranking is cut into at least 2 quantiles, but got {quantiles}")
    if len(statistics) < quantiles:
        return float("nan")
    numbers = quantile_numbers(predicted, quantiles)
    heads = [statistics[numbers <= k].sum(axis=0) for k in range(quantiles - 1)]
    return float(aggregate(np.stack(heads)).mean() - aggregate(statistics.sum(axis=0)))


@dataclass(frozen=True)
class Figure:
    """A value with its 95 % bootstrap interval over documents."""

    value: float
    ci: tuple[float, float]


@dataclass(frozen=True)
class DocumentReport(Record):
    """How well document scores were predicted."""

    documents: int
    pearson: Figure
    spearman: Figure
    ranking_accuracy: Figure
    delta_avg: Figure


def evaluate_documents(
    statistics: FloatArray,
    predicted: FloatArray,
    documents: Sequence[str],
    aggregate: Aggregate,
    *,
    samples: int = 1000,
    seed: int = 0,
) -> DocumentReport:
    """Evaluate predicted document scores (d,) against the true metric of the documents."""
    count = group_index(documents, len(statistics))[1]
    if len(predicted) != count:
        raise InputError(f"{count} documents, but {len(predicted)} predicted scores")
    sums = document_statistics(statistics, documents)
    gold = aggregate(sums)
    measures: dict[str, Callable[[Rows], float]] = {
        "pearson": lambda rows: Pearson().score(gold[rows], predicted[rows]),
        "spearman": lambda rows: Spearman().score(gold[rows], predicted[rows]),
        "ranking_accuracy": lambda rows: ranking_accuracy(gold[rows], predicted[rows]),
        "delta_avg": lambda rows: delta_avg_of_sets(sums[rows], predicted[rows], aggregate),
    }
    every, figures = np.arange(count), {}
    for name, measure in measures.items():

        def rescore(counts: NDArray[np.int32], measure: Callable[[Rows], float] = measure) -> FloatArray:
            return np.array([measure(np.repeat(every, drawn)) for drawn in counts])

        drawn = bootstrap_rescored(rescore, count, samples=samples, seed=seed)
        figures[name] = Figure(measure(every), percentile_interval(drawn))
    return DocumentReport(count, **figures)


def by_document(
    gold: ScoreFile, files: Mapping[str, ScoreFile], documents: Sequence[str], location: Path
) -> tuple[ScoreFile, dict[str, ScoreFile]]:
    """Labels and predictions (n,) of segments -> those of documents (d,), in order of first appearance.

    Labels may be of documents already, such as BLEU of each. Classes become the share of the better one.
    """
    names = document_names(documents)
    if len(names) < 2:
        raise InputError(f"names {len(names)} document, but at least 2 are evaluated", location=location)
    whole = len(gold.scores) == len(names)
    return (
        gold if whole else _means(gold, documents, location),
        {name: _means(file, documents, location) for name, file in files.items()},
    )


def _means(file: ScoreFile, documents: Sequence[str], location: Path) -> ScoreFile:
    if file.ranks_only:
        raise InputError("holds ranks only, and ranks have no mean in a document", location=file.path)
    if len(file.scores) != len(documents):
        raise InputError(
            f"names the documents of {len(documents)} segments, but {file.path} has {len(file.scores)}",
            location=location,
            remedy="give one line for each segment, in the same order",
        )
    means = document_means(file.scores, documents)
    return replace(file, scores=means, submitted=None, ids=None, classes=None)
