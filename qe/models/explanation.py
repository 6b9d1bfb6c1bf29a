"""Explanations: the features that changed a segment's score most, in words."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.core.extractor import VALUE
from features.core.tree_columns import numbers, tree_names
from features.storage.damage import Damaged, damage_reported, typed
from qe.display.numbers import general, in_words, signed
from qe.display.summary import Printable
from qe.models.artifact import REMEDY, Artifact
from qe.models.attribution import Attribution, Sampling, attribution
from qe.models.model import Model, split_steps

_BACKGROUND = 64  # number of training rows


@dataclass(frozen=True, eq=False)
class Background(Artifact):
    """Reference values for explanations: (b, k) random training rows, and (k,) medians of all of them."""

    file: ClassVar[str] = "explanation"
    noun: ClassVar[str] = "the background of explanations"
    absent: ClassVar[str] = "the model cannot explain its scores: it holds no training rows to compare with"

    rows: FloatArray
    typical: FloatArray

    @classmethod
    def make(cls, features: FloatArray, seed: int = 0) -> Self:
        generator = np.random.default_rng(seed)
        chosen = np.sort(generator.permutation(len(features))[:_BACKGROUND])
        typical = np.full(features.shape[1], np.nan)
        known = ~np.isnan(features).all(axis=0)
        typical[known] = np.nanmedian(features[:, known], axis=0)
        return cls(features[chosen], typical)

    def check_arrays(self) -> None:
        typed("typical", self.typical, np.float64, None)
        typed("rows", self.rows, np.float64, None, len(self.typical))
        if not len(self.rows):
            raise Damaged("there are no rows")


@dataclass(frozen=True, eq=False)
class Contributions:
    """Decomposed scores: score = base + sum of the row, before the score is clipped to the label's range.

    values  (n, k) contribution of each feature and of each column of trees
    base    mean score of the background (of the training data, for trees)
    method  linear, trees, kernel, trees of parses: exact; sampling: estimated Shapley values with an exact
            sum; `+` joins the methods of combined learners or kernels
    """

    values: FloatArray
    base: float
    method: str


@dataclass(frozen=True, eq=False)
class Explainer(Printable):
    """Explains a model's scores by Shapley values (see `qe.models.attribution`).

    Values are exact for linear models, LightGBM, RBF kernels and linear combinations of them, and sampled in
    `orders` random orders for other learners. Other segments do not affect a segment's explanation.
    """

    model: Model
    background: Background
    orders: int | None = None
    seed: int = 0

    @classmethod
    def load(cls, model: Model, folder: Path) -> Self:
        explainer = cls(model, Background.load(folder))
        with damage_reported(Background.noun, folder / f"{Background.file}.json", REMEDY):
            typed("rows", explainer.background.rows, np.float64, None, len(model.feature_set.names))
            explainer._attribution.base  # noqa: B018  (what every explanation starts from, computed once)
        return explainer

    @cached_property
    def _parts(self) -> tuple[Any, Any]:
        return split_steps(self.model.pipeline)

    def _prepare(self, features: pd.DataFrame) -> FloatArray:
        for step in self._parts[0]:
            features = step.transform(features)
        return np.ascontiguousarray(numbers(features))

    def _predict(self, prepared: FloatArray) -> FloatArray:
        table = pd.DataFrame(prepared, columns=self.model.feature_set.names)
        rest = self._parts[1]
        if self.model.feature_set.trees:
            return np.asarray(rest.steps[-1][1].predict_features(table), np.float64)
        return np.asarray(rest.predict(table), np.float64)

    def _predict_chosen(self, inputs: FloatArray) -> FloatArray:
        prepared = np.zeros((len(inputs), len(self.model.feature_set.names)))
        prepared[:, self._selected] = inputs
        return self._predict(prepared)

    @cached_property
    def _selected(self) -> NDArray[np.int64]:
        inner = self._parts[1].steps[:-1]
        chosen = np.arange(len(self.model.feature_set.names))
        for _, step in inner:
            if (
                not hasattr(step, "get_support")
                or step.transform.__qualname__.split(".")[0] != "SelectorMixin"
            ):
                return np.empty(0, np.int64)
            chosen = chosen[step.get_support()]
        return chosen

    @cached_property
    def _attribution(self) -> Attribution:
        table = pd.DataFrame(self.background.rows, columns=self.model.feature_set.names)
        prepared = self._prepare(table)
        if not len(self._selected):
            return Sampling(self._predict, prepared, self.orders, self.seed)
        learner = self._parts[1].steps[-1][1]
        inputs = np.ascontiguousarray(prepared[:, self._selected])
        return attribution(learner, self._predict_chosen, inputs, self.orders, self.seed)

    def contributions(self, features: pd.DataFrame) -> Contributions:
        """Contributions of the features, then of the columns of trees, to n scores."""
        if not self.model.feature_set.trees:
            return self._of_features(features)
        effects = self._parts[1].steps[-1][1].tree_effects(features)
        trees = np.column_stack([effects[name] for name in tree_names(features)])
        if not self.model.feature_set.names:
            base = float(self._predict(np.empty((1, 0)))[0])
            return Contributions(trees, base, "trees of parses")
        of_features = self._of_features(features)
        return Contributions(
            np.hstack([of_features.values, trees]), of_features.base, f"{of_features.method}+trees of parses"
        )

    def _of_features(self, features: pd.DataFrame) -> Contributions:
        prepared = self._prepare(features)
        attribution = self._attribution
        if not len(self._selected):
            return Contributions(attribution.values(prepared), attribution.base, attribution.method)
        values = np.zeros_like(prepared)
        values[:, self._selected] = attribution.values(np.ascontiguousarray(prepared[:, self._selected]))
        return Contributions(values, attribution.base, attribution.method)

    def because(self, features: pd.DataFrame, top: int) -> list[str]:
        """The `top` causes that changed each segment's score most, largest first, in words for translators.

        Features with the same phrase (`FeatureSet.plain`) form one cause with summed contributions.
        """
        phrases = self.model.feature_set.plain()
        causes = list(dict.fromkeys(phrases))
        place = [causes.index(phrase) for phrase in phrases]
        moved = np.zeros((len(features), len(causes)))
        np.add.at(moved.T, place, self.contributions(features).values.T)
        raw = numbers(features)

        def words(i: int, cause: int) -> str:
            phrase, j = causes[cause], place.index(cause)  # the first feature of a cause supplies its value
            if VALUE in phrase:
                seen, usual = (in_words(general(x)) for x in (raw[i, j], self.background.typical[j]))
                phrase = f"{phrase.replace(VALUE, seen)} (usually {usual})"
            return f"{phrase}: {signed(moved[i, cause], 2)}"

        largest = np.argsort(-np.abs(moved), axis=1, kind="stable")[:, :top]
        return [
            "; ".join(words(i, j) for j in row if signed(moved[i, j], 2) != "0.00") or "nothing in particular"
            for i, row in enumerate(largest)
        ]
