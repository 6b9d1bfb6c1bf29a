"""Choice by gain in the BLEU of the whole text. The gain is what taking another system's translation would
add.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import Pipeline

from features.basics.array_types import FloatArray
from qe.display.summary import summarised
from qe.systems.documents import document_statistics
from qe.systems.mt_metrics.ngrams import Bleu
from qe_papers.choosers._pairs import standardised, standardiser
from qe_papers.selection.chooser import Chooser, Outputs

_PENALTIES = tuple(10.0 ** (k / 2) for k in range(2, 13))  # 10 .. 10^6, in units of segments


@summarised
@dataclass(frozen=True, eq=False)
class Gain(Chooser):
    """Predicts what a translation adds to the text's BLEU beyond the first system's.

    Ridge regression with an intercept on differences of features; the penalty by leave-one-out errors inside
    the training rows. A long segment weighs more, and close calls weigh little: an error there costs little.
    A document's preference is the sum over its segments.

    Source: this project, after Soricut and Narsale 2012, section 4.3.
    """

    scale: Pipeline | None = None
    machines: tuple[Any, ...] = ()

    def fit(self, outputs: Outputs) -> Self:
        scale = standardiser(outputs)
        first, *others = standardised(scale, outputs)
        parts = contributions(outputs.statistics)
        machines = tuple(
            RidgeCV(alphas=_PENALTIES).fit(other - first, part - parts[0])
            for other, part in zip(others, parts[1:], strict=True)
        )
        return replace(self, scale=scale, machines=machines)

    def preferences(self, outputs: Outputs) -> FloatArray:
        if self.scale is None:
            raise ValueError("fit first")
        first, *others = standardised(self.scale, outputs)
        gains = [m.predict(other - first) for m, other in zip(self.machines, others, strict=True)]
        return np.stack([np.zeros(len(first)), *gains])

    def document_preferences(self, outputs: Outputs, documents: Sequence[str]) -> FloatArray:
        return document_statistics(self.preferences(outputs).T, documents).T


def contributions(statistics: FloatArray) -> FloatArray:
    """(S, n) part of each segment of each system in the BLEU of a text. The parts are per segment of the
    text. BLEU is no sum over segments; near the text of the best system it is one to first order:
    statistics times the gradient of BLEU by the sums, so that choices can be made one segment at a time.
    """
    bleu, sums = Bleu(), statistics.sum(axis=1)
    total = sums[int(np.argmax(bleu.aggregate(sums)))]
    steps = np.diag(1e-4 * np.maximum(total, 1.0))
    gradient = (bleu.aggregate(total + steps) - bleu.aggregate(total - steps)) / (2 * steps.diagonal())
    return np.asarray(statistics @ gradient * statistics.shape[1])
