"""One fold of a search: its features and labels, and candidates fitted on its training rows."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.core.tree_columns import tree_names
from qe.data.dataset import LabelScale
from qe.learning.selector import Selector
from qe.models.pipeline import Candidate, imputer, scaler
from qe.training.failures import failures_of, finite

_SELECTIONS = 16  # fitted selectors that a fold keeps
Rows = NDArray[np.int64]
Predict = Callable[[pd.DataFrame], FloatArray]  # prepared features -> predictions


@dataclass(eq=False)
class FoldData:
    """One fold: features and labels of the training rows, features of the held-out rows.

    Imputing and scaling depend on no searched parameter, so they are fitted once per fold; a selector once
    for every choice of its own parameters. The last fitted candidate is kept, for whoever asks again.
    `training_rows` are the places of its training rows among the rows that a kernel's columns stand for.
    The last `others` training rows are of other datasets, or spoilt. Columns are cut as `clip` says.
    """

    train: pd.DataFrame
    scores: FloatArray
    weights: FloatArray | None
    held_out: pd.DataFrame
    gold: FloatArray
    rows: Rows
    training_rows: Rows | None = None
    others: int = 0
    clip: float = 0.0
    _selections: dict[str, Selector] = field(default_factory=dict, repr=False)
    _last: tuple[str, Predict] | None = field(default=None, init=False, repr=False)

    @cached_property
    def imputed(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return self._transformed(partial(imputer, clip=self.clip), self.train, self.held_out)

    @cached_property
    def scaled(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return self._transformed(scaler, *self.imputed)

    def _transformed(
        self, step: Callable[[bool], Any], train: pd.DataFrame, held_out: pd.DataFrame
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        fitted = step(bool(tree_names(train))).fit(train)
        return fitted.transform(train), fitted.transform(held_out)

    def prepared(self, candidate: Candidate) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Features of the training rows and of the held-out rows as the candidate takes them."""
        if candidate.pairwise and self.training_rows is not None:
            return self.train.iloc[:, self.training_rows], self.held_out.iloc[:, self.training_rows]
        return self.scaled if candidate.scaled else self.imputed

    def _selection(self, candidate: Candidate, train: pd.DataFrame) -> Selector:
        key = repr((candidate.selector, sorted(candidate.selector_params.items())))
        if key not in self._selections:
            if len(self._selections) >= _SELECTIONS:
                self._selections.pop(next(iter(self._selections)))
            self._selections[key] = (
                candidate.selection().set_output(transform="pandas").fit(train, self.scores)
            )
        return self._selections[key]

    def fitted(self, candidate: Candidate, seed: int) -> Predict:
        """The candidate fitted on the training rows."""
        name, last = f"{name_of(candidate)} {seed}", self._last
        if last is None or last[0] != name:
            last = self._last = (name, self._fit(candidate, seed))
        return last[1]

    def _fit(self, candidate: Candidate, seed: int) -> Predict:
        train, _ = self.prepared(candidate)

        def inputs(table: pd.DataFrame) -> Any:
            return table if candidate.takes_table else table.to_numpy()

        selection = None
        if candidate.selector != "none":
            selection = self._selection(candidate, train)
            train = selection.transform(train)
        estimator = candidate.estimator(seed)
        keywords = {} if self.weights is None else {"sample_weight": self.weights}
        estimator.fit(inputs(train), self.scores, **keywords)

        def predict(table: pd.DataFrame) -> FloatArray:
            chosen = table if selection is None else selection.transform(table)
            return np.asarray(estimator.predict(inputs(chosen)), np.float64)

        return predict

    def predict(self, candidate: Candidate, scale: LabelScale, seed: int) -> FloatArray:
        """Predictions for the held-out rows by the candidate fitted on the training rows.

        They are cut to the ends of the label scale.

        Raises CandidateFailed if the numbers are too much for the learner or the selector.
        """
        _, held_out = self.prepared(candidate)
        with failures_of(candidate):
            return scale.clip(finite(self.fitted(candidate, seed)(held_out)))


def name_of(candidate: Candidate) -> str:
    """What tells one candidate from another."""
    return json.dumps(candidate.settings(), sort_keys=True)
