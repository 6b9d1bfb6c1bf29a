"""Folds and the objective of a search: a candidate fitted and measured on every fold."""

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import optuna
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.threads import cores
from features.core.tree_columns import tree_names
from qe.data.dataset import LabelScale
from qe.learning.selector import NothingSelected, Selector
from qe.models.pipeline import Candidate, imputer, scaler
from qe.statistics.metric import METRICS
from qe.training.plan import Space
from qe.training.study import FAILURE, FOLDS_BEFORE_PRUNING

_MAX_REASON = 300  # characters
_MAX_SELECTIONS = 16  # fitted selectors that a fold keeps
Predict = Callable[[pd.DataFrame], FloatArray]  # prepared features -> predictions


class CandidateFailed(InputError):
    """A learner or selector cannot be computed with these parameters on these rows."""


@dataclass(eq=False)
class FoldData:
    """One fold: features and labels of its training rows (added ones last) and of its held-out rows."""

    train: pd.DataFrame
    scores: FloatArray
    weights: FloatArray | None
    test: pd.DataFrame
    gold: FloatArray
    rows: NDArray[np.int64]
    training_rows: NDArray[np.int64] | None = None
    n_added: int = 0
    clip: float = 0.0
    _selections: dict[str, Selector] = field(default_factory=dict, init=False, repr=False)
    _last: tuple[str, Predict] | None = field(default=None, init=False, repr=False)

    @cached_property
    def imputed(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        fitted = imputer(bool(tree_names(self.train)), clip=self.clip).fit(self.train)
        return fitted.transform(self.train), fitted.transform(self.test)

    @cached_property
    def scaled(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        train, test = self.imputed
        fitted = scaler(bool(tree_names(train))).fit(train)
        return fitted.transform(train), fitted.transform(test)

    def prepared(self, candidate: Candidate) -> tuple[pd.DataFrame, pd.DataFrame]:
        if candidate.pairwise and self.training_rows is not None:
            return self.train.iloc[:, self.training_rows], self.test.iloc[:, self.training_rows]
        return self.scaled if candidate.scaled else self.imputed

    def fitted(self, candidate: Candidate, seed: int) -> Predict:
        """Predictions of a candidate fitted on the training rows; the last one is kept."""
        name = f"{_name(candidate)} {seed}"
        if self._last is not None and self._last[0] == name:
            return self._last[1]
        train, _ = self.prepared(candidate)
        selection = None
        if candidate.selector != "none":
            key = repr((candidate.selector, sorted(candidate.selector_params.items())))
            if key not in self._selections:
                if len(self._selections) >= _MAX_SELECTIONS:
                    self._selections.pop(next(iter(self._selections)))
                selector = candidate.selection().set_output(transform="pandas")
                self._selections[key] = selector.fit(train, self.scores)
            selection = self._selections[key]

        def inputs(table: pd.DataFrame) -> Any:
            selected = table if selection is None else selection.transform(table)
            return selected if candidate.takes_table else selected.to_numpy()

        estimator = candidate.estimator(seed)
        keywords = {} if self.weights is None else {"sample_weight": self.weights}
        estimator.fit(inputs(train), self.scores, **keywords)

        def predict(table: pd.DataFrame) -> FloatArray:
            return np.asarray(estimator.predict(inputs(table)), np.float64)

        self._last = (name, predict)
        return predict

    def predict(self, candidate: Candidate, scale: LabelScale, seed: int) -> FloatArray:
        """(m,) predictions of the held-out rows, in the limits of a model's. Raises CandidateFailed."""
        _, test = self.prepared(candidate)
        try:
            predicted = self.fitted(candidate, seed)(test)
            if wrong := int(np.count_nonzero(~np.isfinite(predicted))):
                raise FloatingPointError(f"{wrong} of {len(predicted)} predictions are not finite")
        except InputError:
            raise
        except Exception as error:
            # A learner fails on numbers, such as by overflow; any other error is a mistake in its code.
            numerical = isinstance(error, (ArithmeticError, ValueError, np.linalg.LinAlgError))
            if not (numerical or type(error).__module__.partition(".")[0] == "lightgbm"):
                raise
            text = " ".join(f"{type(error).__name__}: {error}".split())
            reason = text if len(text) <= _MAX_REASON else f"{text[:_MAX_REASON]}..."
            parameters = ", ".join(f"{name}={value!r}" for name, value in candidate.learner_params.items())
            selector = "" if candidate.selector == "none" else f" after {candidate.selector}"
            raise CandidateFailed(
                reason,
                location=f"{candidate.learner}({parameters}){selector}",
                remedy="narrow its search space, or set other parameters",
            ) from error
        return np.clip(predicted, *scale.limits(self.scores))


OnFold = Callable[[FoldData, FloatArray], None]  # called with a fold and its predictions, in order


def _name(candidate: Candidate) -> str:
    return json.dumps(candidate.settings(), sort_keys=True)


@dataclass
class _Best:
    loss: float = float("inf")
    name: str = ""
    predictions: list[FloatArray] = field(default_factory=list)


@dataclass(frozen=True)
class Objective:
    """Cross-validated metrics of a candidate: the mean of each named metric over folds.

    Folds whose labels leave a metric undefined, such as AUC of one class, are left out of its mean.
    """

    folds: Sequence[FoldData]
    space: Space
    metrics: tuple[str, ...]
    scale: LabelScale
    seed: int
    threads: int = 0
    _best: _Best = field(default_factory=_Best, init=False, repr=False)

    def __call__(self, trial: optuna.Trial) -> tuple[float, ...]:
        """The metrics of the candidate that a trial draws. Raises TrialPruned or CandidateFailed."""
        started = time.perf_counter()
        candidate = self.space.draw(trial)
        trial.set_user_attr("candidate", candidate.settings())
        try:
            predictions = self.predictions(candidate, self._pruning(trial))
            values = np.array([self._scores(*pair) for pair in zip(self.folds, predictions, strict=True)])
            trial.set_user_attr("fold_values", {m: values[:, i].tolist() for i, m in enumerate(self.metrics)})
            trial.set_user_attr("seconds", round(time.perf_counter() - started, 4))
            defined = ~np.isnan([self._scores(fold, fold.gold) for fold in self.folds])
            mean = np.mean(values, axis=0, where=defined | ~defined.any(axis=0))  # -> (metrics,)
            # Optuna would close a trial without values as one that a kill cut off.
            if undefined := [m for m, x in zip(self.metrics, mean, strict=True) if not np.isfinite(x)]:
                raise CandidateFailed(f"{undefined[0]} is undefined for its predictions")
        except NothingSelected as error:
            raise optuna.TrialPruned(str(error)) from None
        except CandidateFailed as error:
            trial.set_user_attr(FAILURE, error.problem)
            raise
        best, loss = self._best, self.sign * float(mean[0])
        if loss < best.loss:
            best.loss, best.name, best.predictions = loss, _name(candidate), predictions
        return tuple(float(value) for value in mean)

    def _scores(self, fold: FoldData, predicted: FloatArray) -> list[float]:
        sign = self.scale.sign
        return [METRICS.get(name)().score(sign * fold.gold, sign * predicted) for name in self.metrics]

    def _pruning(self, trial: optuna.Trial) -> OnFold | None:
        # The pruner sees the mean over the folds so far, in their order, as soon as it is known.
        values: list[float] = []
        if isinstance(trial.study.pruner, optuna.pruners.NopPruner):
            return None

        def report(fold: FoldData, predicted: FloatArray) -> None:
            if np.isnan(self._scores(fold, fold.gold)[0]):
                return
            values.append(self._scores(fold, predicted)[0])
            trial.report(float(np.mean(values)), len(values))
            if len(values) < len(self.folds) and trial.should_prune():
                trial.set_user_attr(FOLDS_BEFORE_PRUNING, len(values))
                raise optuna.TrialPruned(f"pruned after {len(values)} of {len(self.folds)} folds")

        return report

    def predictions(self, candidate: Candidate, on_fold: OnFold | None = None) -> list[FloatArray]:
        """Predictions of the held-out rows of every fold; those of this process's best trial are kept."""
        if _name(candidate) == self._best.name:
            for pair in zip(self.folds, self._best.predictions, strict=True):
                if on_fold is not None:
                    on_fold(*pair)
            return self._best.predictions
        workers = self.threads or min(len(self.folds), cores())
        step = len(self.folds) if on_fold is None else workers  # no fold is begun after a pruned step
        predictions = list[FloatArray]()
        with ThreadPoolExecutor(workers) as pool:
            for i in range(0, len(self.folds), step):
                folds = self.folds[i : i + step]
                predictions += pool.map(lambda fold: fold.predict(candidate, self.scale, self.seed), folds)
                for pair in zip(folds, predictions[i:], strict=True):
                    if on_fold is not None:
                        on_fold(*pair)
        return predictions

    @property
    def directions(self) -> list[Literal["minimize", "maximize"]]:
        return ["maximize" if METRICS.get(m).higher_is_better else "minimize" for m in self.metrics]

    @property
    def sign(self) -> float:
        return -1.0 if self.directions[0] == "maximize" else 1.0
