"""Choice by regression: the highest predicted BLEU."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from features.basics.array_types import FloatArray
from qe.display.summary import summarised
from qe.systems.documents import document_scores
from qe.systems.mt_metrics.ngrams import Bleu
from qe_papers.selection.bleu_model import BleuModel, segment_bleu, without_reference
from qe_papers.selection.chooser import Chooser, Outputs


@summarised
@dataclass(frozen=True, eq=False)
class Regression(Chooser):
    """One BleuModel per system. For documents, it takes the highest BLEU of the summed predicted statistics.

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
        """(S, n, 10) predicted statistics; what references say of `outputs` is not looked at."""
        known = without_reference(outputs.statistics)
        data = zip(self.models, outputs.features, known, strict=True)
        return np.stack([model.predict(table, rows) for model, table, rows in data])

    def preferences(self, outputs: Outputs) -> FloatArray:
        return segment_bleu(self.predicted(outputs))

    def document_preferences(self, outputs: Outputs, documents: Sequence[str]) -> FloatArray:
        predicted = self.predicted(outputs)
        return np.stack([document_scores(rows, documents, Bleu().aggregate) for rows in predicted])
