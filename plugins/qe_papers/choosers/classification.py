"""Choice by classification: which of two systems is better."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from features.basics.array_types import FloatArray
from qe.display.summary import summarised
from qe_papers.choosers._pairs import pairs, standardised, standardiser
from qe_papers.selection.chooser import Chooser, Outputs


@summarised
@dataclass(frozen=True, eq=False)
class Classification(Chooser):
    """Probability that the second of two systems is better, from feature differences. There is one model for
    every two systems. Logistic regression with an intercept: unlike a ranking, it knows which system is
    the better one in general. A system's preference is its mean probability against the others.

    Source: Soricut and Narsale 2012, section 4.3 (which names no classifier).

    Attributes
    ----------
    cost : float
        Inverse strength of the ridge penalty.
    """

    cost: float = 0.01
    scale: Pipeline | None = None
    machines: tuple[tuple[int, int, Any], ...] = ()

    def fit(self, outputs: Outputs) -> Self:
        scale = standardiser(outputs)
        values = standardised(scale, outputs)
        machines = []
        for first, second, rows, better in pairs(outputs):
            machine = self._machine(values[second, rows] - values[first, rows], better)
            machines.append((first, second, machine))
        return replace(self, scale=scale, machines=tuple(machines))

    def _machine(self, differences: FloatArray, better: Any) -> Any:
        if better.all() or not better.any():  # one class: always that one (a draw where nothing differs)
            prior = float(better.mean()) if len(better) else 0.5
            return _Constant(prior)
        return LogisticRegression(C=self.cost, max_iter=1000).fit(differences, better)

    def preferences(self, outputs: Outputs) -> FloatArray:
        if self.scale is None:
            raise ValueError("fit first")
        values = standardised(self.scale, outputs)
        votes = np.zeros(values.shape[:2])
        for first, second, machine in self.machines:
            second_wins = machine.predict_proba(values[second] - values[first])[:, 1]
            votes[first] += 1.0 - second_wins
            votes[second] += second_wins
        return votes / max(1, len(values) - 1)


@dataclass(frozen=True)
class _Constant:
    probability: float

    def predict_proba(self, differences: FloatArray) -> FloatArray:
        return np.tile([1.0 - self.probability, self.probability], (len(differences), 1))
