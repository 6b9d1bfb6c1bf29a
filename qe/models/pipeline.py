"""Pipeline: imputation, scaling, selection, learner; all steps are fitted within the fold."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.learning.clipping import ClippingImputer
from qe.learning.learner import LEARNERS
from qe.learning.selector import SELECTORS, Selector
from qe.learning.tree_columns import BesideTrees


@dataclass(frozen=True)
class Candidate:
    """A learner and a selector; `clip` is the share of rows at each end that are clipped."""

    learner: str
    learner_params: Mapping[str, Any] = field(default_factory=dict)
    selector: str = "none"
    selector_params: Mapping[str, Any] = field(default_factory=dict)
    clip: float = 0.0

    def selection(self) -> Selector:
        kind = SELECTORS.get(self.selector)
        try:
            return kind(**self.selector_params)
        except TypeError as error:
            raise InputError(f"selector '{self.selector}': {error}") from None

    def estimator(self, seed: int) -> Any:
        try:
            return LEARNERS.get(self.learner)().estimator(seed=seed, **self.learner_params)
        except (TypeError, ValueError) as error:
            raise InputError(f"learner '{self.learner}': {error}") from None

    @property
    def takes_table(self) -> bool:
        return self.takes_trees or LEARNERS.get(self.learner).takes_names

    @property
    def takes_trees(self) -> bool:
        return LEARNERS.get(self.learner).takes_trees

    @cached_property
    def pairwise(self) -> bool:
        """Whether the features are a kernel matrix, K(segment, training segment), which takes no selector."""
        pairwise = bool(get_tags(self.estimator(0)).input_tags.pairwise)
        if pairwise and self.selector != "none":
            raise InputError(
                f"the columns of a kernel cannot be selected, but the selector is '{self.selector}'",
                location="selection",
                remedy="set `kind: none`",
            )
        return pairwise

    @property
    def scaled(self) -> bool:
        """Whether features are standardised: always, unless a scale-invariant learner uses all of them."""
        return self.selector != "none" or LEARNERS.get(self.learner).scale

    def pipeline(self, seed: int) -> Pipeline:
        if self.pairwise:
            return Pipeline([("learn", self.estimator(seed))])
        steps: list[tuple[str, Any]] = [("impute", imputer(self.takes_trees, self.clip))]
        if self.scaled:
            steps.append(("scale", scaler(self.takes_trees)))
        if self.selector != "none":
            steps.append(("select", self.selection().set_output(transform="pandas")))
        return Pipeline([*steps, ("learn", self.estimator(seed))])

    def settings(self) -> dict[str, Any]:
        return {
            "learner": self.learner,
            "learner_params": dict(self.learner_params),
            "selector": self.selector,
            "selector_params": dict(self.selector_params),
            **({"clip": self.clip} if self.clip else {}),
        }


def imputer(beside_trees: bool = False, clip: float = 0.0) -> Any:
    """Replaces undefined features by medians of the training rows, or by 0 if a column has no values."""
    plain = SimpleImputer(strategy="median", keep_empty_features=True)
    step = (ClippingImputer(clip) if clip else plain).set_output(transform="pandas")
    return BesideTrees(step) if beside_trees else step


def scaler(beside_trees: bool = False) -> Any:
    step = StandardScaler().set_output(transform="pandas")
    return BesideTrees(step) if beside_trees else step


def fit(
    pipeline: Pipeline, features: pd.DataFrame, scores: FloatArray, weights: FloatArray | None = None
) -> Pipeline:
    """Fits the pipeline on features (n, k), labels (n,) and weights (n,) of rows; None: no weights."""
    keywords = {} if weights is None else {"learn__sample_weight": weights}
    pipeline.fit(features, scores, **keywords)
    return pipeline
