"""Choice by LambdaMART: boosted trees that rank the outputs of a segment."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from lightgbm import LGBMRanker
from scipy.stats import rankdata

from features.basics.array_types import FloatArray
from qe.learning.boosting import REPRODUCIBLE
from qe_papers.selection.bleu_model import segment_bleu
from qe_papers.selection.chooser import Chooser, Outputs


@dataclass(frozen=True, eq=False)
class Lambdamart(Chooser):
    """LambdaMART: a segment is a query, its outputs are documents ranked by BLEU. The grade of an output is
    the rank of its BLEU; ties have the same grade.

    Source: Burges 2010; in place of the paper's linear ranking SVM (section 4.2).
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
