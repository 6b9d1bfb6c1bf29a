"""Choice by ranking: a linear ranking SVM."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.display.summary import summarised
from qe_papers.choosers._pairs import pairs, standardised, standardiser
from qe_papers.selection.chooser import Chooser, Outputs


@summarised
@dataclass(frozen=True, eq=False)
class Ranking(Chooser):
    """One weight per feature; the better of two translations of a segment scores higher. SVM-rank with a
    linear kernel: a support vector machine without intercept on differences of features. Only what
    differs between the systems counts; who made a translation does not.

    Raises InputError if no segment has outputs of different BLEU.
    Source: Soricut and Narsale 2012, section 4.2; Joachims 1999.

    Attributes
    ----------
    cost : float
        Of a pair in the wrong order.
    """

    cost: float = 0.01
    seed: int = 0
    scale: Pipeline | None = None
    weights: FloatArray | None = None

    def fit(self, outputs: Outputs) -> Self:
        scale = standardiser(outputs)
        values = standardised(scale, outputs)
        differences, better = [], []
        for first, second, rows, second_is_better in pairs(outputs):
            differences.append(values[second, rows] - values[first, rows])
            better.append(second_is_better)
        rows_, signs = np.concatenate(differences), np.where(np.concatenate(better), 1.0, -1.0)
        if not len(signs):
            raise InputError("no segment has outputs of different BLEU: there is nothing to learn")
        # Each pair in both directions: the same machine, and both classes are always there.
        machine = LinearSVC(
            C=self.cost, loss="hinge", fit_intercept=False, random_state=self.seed, max_iter=20_000
        )
        machine.fit(np.concatenate([rows_, -rows_]), np.concatenate([signs, -signs]))
        return replace(self, scale=scale, weights=np.asarray(machine.coef_[0], np.float64))

    def preferences(self, outputs: Outputs) -> FloatArray:
        if self.scale is None or self.weights is None:
            raise ValueError("fit first")
        return np.asarray(standardised(self.scale, outputs) @ self.weights)
