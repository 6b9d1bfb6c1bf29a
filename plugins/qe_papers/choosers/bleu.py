"""Choosers that predict BLEU, or rank outputs by it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from lightgbm import LGBMRanker
from scipy.stats import rankdata

from features.basics.array_types import FloatArray
from qe.display.summary import Printable
from qe.learning.boosting import REPRODUCIBLE
from qe.systems.documents import document_scores
from qe.systems.mt_metrics.ngrams import Bleu
from qe_papers.selection.chooser import CHOOSERS, BleuModel, Chooser, Outputs, segment_bleu, without_reference


@CHOOSERS.register("lambdamart")
@dataclass(frozen=True, eq=False)
class Lambdamart(Chooser):
    """LambdaMART: a segment is a query, its outputs are documents ranked by BLEU.

    An output's grade is the rank of its BLEU; ties have the same grade.

    Source: Burges 2010; replaces the paper's linear ranking SVM (section 4.2).
    """

    n_estimators: int = 100
    num_leaves: int = 7
    learning_rate: float = 0.05
    min_child_samples: int = 20
    colsample_bytree: float = 0.5
    seed: int = 0
    machine: Any = None

    def fit(self, outputs: Outputs) -> Self:
        systems = len(outputs.features)
        scores = segment_bleu(outputs.statistics)
        grades = rankdata(scores, method="dense", axis=0).astype(np.int64) - 1
        machine = LGBMRanker(
            **REPRODUCIBLE,
            n_estimators=self.n_estimators, num_leaves=self.num_leaves, learning_rate=self.learning_rate,
            min_child_samples=self.min_child_samples, colsample_bytree=self.colsample_bytree,
            random_state=self.seed,
        )  # fmt: skip
        machine.fit(_by_segment(outputs), grades.T.ravel(), group=np.full(scores.shape[1], systems))
        return replace(self, machine=machine)

    def preferences(self, outputs: Outputs) -> FloatArray:
        if self.machine is None:
            raise ValueError("fit first")
        scores = np.asarray(self.machine.predict(_by_segment(outputs)), np.float64)
        return np.ascontiguousarray(scores.reshape(-1, len(outputs.features)).T)


def _by_segment(outputs: Outputs) -> FloatArray:
    stacked = np.stack([table.to_numpy(np.float64) for table in outputs.features], axis=1)
    return stacked.reshape(-1, stacked.shape[-1])


@CHOOSERS.register("regression")
@dataclass(frozen=True, eq=False)
class Regression(Chooser, Printable):
    """One BleuModel per system.

    A document gets the system with the highest BLEU of summed predicted statistics.

    Source: Soricut and Narsale 2012, section 4.1.
    """

    predicts_bleu: ClassVar[bool] = True
    learner: str = "m5p"
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    models: tuple[BleuModel, ...] = ()

    def fit(self, outputs: Outputs) -> Self:
        unfitted = BleuModel(self.learner, self.params, self.seed)
        data = zip(outputs.features, outputs.statistics, strict=True)
        return replace(self, models=tuple(unfitted.fit(table, rows) for table, rows in data))

    def predicted(self, outputs: Outputs) -> FloatArray:
        """Predicted statistics (S, n, 10); the references' statistics in `outputs` are not used."""
        known = without_reference(outputs.statistics)
        data = zip(self.models, outputs.features, known, strict=True)
        return np.stack([model.predict(table, rows) for model, table, rows in data])

    def preferences(self, outputs: Outputs) -> FloatArray:
        return segment_bleu(self.predicted(outputs))

    def document_preferences(self, outputs: Outputs, documents: Sequence[str]) -> FloatArray:
        predicted = self.predicted(outputs)
        return np.stack([document_scores(rows, documents, Bleu().aggregate) for rows in predicted])
