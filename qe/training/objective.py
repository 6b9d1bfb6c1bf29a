"""The objective of a search: cross-validated metrics of a candidate."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import optuna

from features.basics.array_types import FloatArray
from features.basics.threads import cores
from qe.data.dataset import LabelScale
from qe.learning.selector import NothingSelected
from qe.models.pipeline import Candidate
from qe.statistics.metric import METRICS
from qe.training.failures import CandidateFailed
from qe.training.fold_data import FoldData, name_of
from qe.training.space import Space

FAILURE = "failure"  # attribute of a trial: why its candidate failed
_PREDICTIONS = 16  # trials whose predictions an objective keeps


@dataclass(frozen=True)
class Objective:
    """Cross-validated metrics of a candidate: the mean over folds of each named metric."""

    folds: Sequence[FoldData]
    space: Space
    metrics: tuple[str, ...]
    scale: LabelScale
    seed: int
    threads: int = 0
    _kept: dict[str, "_Kept"] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, trial: optuna.Trial) -> tuple[float, ...]:
        """The metrics of what a trial draws.

        Raises TrialPruned where nothing is left to learn from, CandidateFailed where the numbers fail.
        """
        started = time.perf_counter()
        candidate = self.space.draw(trial)
        trial.set_user_attr("candidate", candidate.settings())
        try:
            predictions = self.predictions(candidate)
        except NothingSelected as error:
            raise optuna.TrialPruned(str(error)) from None
        except CandidateFailed as error:
            trial.set_user_attr(FAILURE, error.reason)
            raise
        values = np.array([self._values(f, p) for f, p in zip(self.folds, predictions, strict=True)])
        trial.set_user_attr("fold_values", {m: values[:, i].tolist() for i, m in enumerate(self.metrics)})
        trial.set_user_attr("seconds", round(time.perf_counter() - started, 4))
        mean = values.mean(axis=0)  # of (folds, metrics)
        self._keep(candidate, predictions, float(mean[0]))
        return tuple(float(value) for value in mean)

    def predictions(self, candidate: Candidate) -> list[FloatArray]:
        """Predictions for the held-out rows of every fold; folds run side by side.

        Those of the best trials of this process are still there. Raises CandidateFailed as a fold does.
        """
        kept = self._kept.get(name_of(candidate))
        if kept is not None:
            return kept.predictions
        workers = self.threads or min(len(self.folds), cores())
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(lambda fold: fold.predict(candidate, self.scale, self.seed), self.folds))

    def _keep(self, candidate: Candidate, predictions: list[FloatArray], value: float) -> None:
        self._kept[name_of(candidate)] = _Kept(predictions, value)
        if len(self._kept) > _PREDICTIONS:
            self._kept.pop(max(self._kept, key=lambda name: self.sign * self._kept[name].value))

    def _values(self, fold: FoldData, predicted: FloatArray) -> list[float]:
        sign = self.scale.sign
        return [METRICS.get(m)().score(sign * fold.gold, sign * predicted) for m in self.metrics]

    @property
    def directions(self) -> list[Literal["minimize", "maximize"]]:
        return ["maximize" if METRICS.get(m).higher_is_better else "minimize" for m in self.metrics]

    @property
    def sign(self) -> float:
        """What the first metric is multiplied with, so that less is better."""
        return -1.0 if self.directions[0] == "maximize" else 1.0


@dataclass(frozen=True, eq=False)
class _Kept:
    predictions: list[FloatArray]
    value: float
