"""Chooser: prefers one system's translation of a segment."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from features.basics.array_types import FloatArray
from features.basics.catalogue import Catalogue
from qe.models.pipeline import Candidate, imputer, scaler
from qe.systems.documents import document_means
from qe.systems.mt_metrics.ngrams import Bleu

ORDER = 4
REFERENCE_LENGTH = 1  # column in the statistics of Bleu
MATCHED = slice(2, 2 + ORDER)
TOTAL = slice(2 + ORDER, 2 + 2 * ORDER)


def without_reference(statistics: FloatArray) -> FloatArray:
    """BLEU statistics (..., 10) with NaN for reference length and matches."""
    known_features = statistics.copy()
    known_features[..., REFERENCE_LENGTH] = np.nan
    known_features[..., MATCHED] = np.nan
    return known_features


def targets(statistics: FloatArray) -> FloatArray:
    """Targets (n, 5) of the models: precisions p1 .. p4 and length ratio |r| / |c|; NaN without such n-grams.

    Unlike the brevity penalty (equation 2), ratio times length can be summed over a document.
    """
    parts = np.column_stack([statistics[:, MATCHED], statistics[:, REFERENCE_LENGTH]])
    whole = np.column_stack([statistics[:, TOTAL], statistics[:, 0]])
    labels: FloatArray = np.divide(parts, whole, out=np.full(parts.shape, np.nan), where=whole > 0)
    return labels


@dataclass(frozen=True, eq=False)
class BleuModel:
    """Predicts p1 .. p4 and the length ratio from features, with a model for each.

    learner, params   a learner of the project and its parameters; M5P as published

    Predictions have the form of `Bleu.statistics`, so that their sums over a document give its BLEU.

    Source: Soricut and Narsale 2012, section 3.1. The paper models the factor BP, without a rule for summing
    it over sentences; here the reference length is modelled (by the ratio) and summed instead.
    """

    learner: str = "m5p"
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    fitted: tuple[Pipeline, ...] = ()
    longest: float = np.inf  # maximum length ratio in training, which limits predictions
    shortest: float = 0.0

    def fit(self, features: pd.DataFrame, statistics: FloatArray) -> Self:
        """Fits the models to (n, k) features and (n, 10) statistics, ignoring undefined rows."""
        labels = targets(statistics)
        fitted = []
        for column in labels.T:
            rows = np.flatnonzero(np.isfinite(column))
            pipeline = Candidate(self.learner, self.params).pipeline(self.seed)
            fitted.append(pipeline.fit(features.iloc[rows], column[rows]))
        ratio = labels[:, ORDER]
        bounds = {"longest": float(np.nanmax(ratio)), "shortest": float(np.nanmin(ratio))}
        return type(self)(self.learner, self.params, self.seed, tuple(fitted), **bounds)

    def predict(self, features: pd.DataFrame, known_features: FloatArray) -> FloatArray:
        """Statistics (n, 10): predicted reference length and matches, the rest from `known_features`."""
        predicted = np.column_stack([pipeline.predict(features) for pipeline in self.fitted])
        statistics = known_features.copy()
        statistics[:, MATCHED] = np.clip(predicted[:, :ORDER], 0.0, 1.0) * known_features[:, TOTAL]
        ratio = np.clip(predicted[:, ORDER], self.shortest, self.longest)
        statistics[:, REFERENCE_LENGTH] = ratio * known_features[:, 0]
        return statistics


def segment_bleu(statistics: FloatArray) -> FloatArray:
    """BLEU (...) of segments, 0 to 100, from statistics (..., 10), over the orders that a segment has."""
    return Bleu().segment_scores(statistics)


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs of S systems for the same n segments.

    features    per system, an (n, k) table with the same columns
    statistics  (S, n, 10) of Bleu, or their `without_reference` if there are no references
    agreement   (S,) BLEU of each system's whole text against the other systems' outputs; empty if unknown
    """

    features: tuple[pd.DataFrame, ...]
    statistics: FloatArray
    agreement: FloatArray = field(default_factory=lambda: np.zeros(0))


class Chooser(ABC):
    """Chooses the best system's output without references, after training on outputs with references.

    Attributes
    ----------
    predicts_bleu : bool
        Whether document preferences are predicted BLEU scores.
    """

    predicts_bleu: ClassVar[bool] = False

    @abstractmethod
    def fit(self, outputs: Outputs) -> Self:
        """Returns a fitted chooser; segments with equal BLEU of all systems may be ignored."""

    @abstractmethod
    def preferences(self, outputs: Outputs) -> FloatArray:
        """Preferences (S, n); the highest is chosen."""

    def document_preferences(self, outputs: Outputs, documents: Sequence[str]) -> FloatArray:
        """Preferences (S, d) for whole documents: means over segments, weighted by length in words."""
        rows = zip(self.preferences(outputs), outputs.statistics[..., 0], strict=True)
        return np.stack([document_means(row, documents, weights) for row, weights in rows])


def pairs(outputs: Outputs) -> Iterator[tuple[int, int, NDArray[np.int64], NDArray[np.bool_]]]:
    """For each pair of systems: indices, segments with different BLEU, whether the second is better."""
    scores = segment_bleu(outputs.statistics)
    for first, second in combinations(range(len(scores)), 2):
        rows = np.flatnonzero(scores[first] != scores[second])
        yield first, second, rows, scores[second, rows] > scores[first, rows]


@dataclass(frozen=True, eq=False, kw_only=True)
class StandardisedChooser(Chooser):
    """A chooser that imputes medians and standardises features, both fitted to all systems' outputs."""

    scale: Pipeline | None = None

    def fit(self, outputs: Outputs) -> Self:
        steps = Pipeline([("impute", imputer()), ("scale", scaler())])
        scale = steps.fit(pd.concat(outputs.features, ignore_index=True))
        return replace(self, scale=scale)._learned(outputs)

    @abstractmethod
    def _learned(self, outputs: Outputs) -> Self:
        """A fitted copy; inputs are standardised already."""

    def values(self, outputs: Outputs) -> FloatArray:
        if self.scale is None:
            raise ValueError("fit first")
        return np.stack([np.asarray(self.scale.transform(table), np.float64) for table in outputs.features])


CHOOSERS: Catalogue[Chooser] = Catalogue("qe_papers.choosers", Chooser, "method")
