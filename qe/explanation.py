"""Explanation: which features moved a segment's score most, and by how much, in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.core.errors import InputError
from qe.model import Model, split_steps

FloatArray = NDArray[np.float64]
Method = Literal["linear", "trees", "sampling"]
_FILES = ("explanation_background.npy", "explanation_typical.npy")
_BACKGROUND = 64  # training rows kept
_EVALUATIONS = 1200  # predictions per explained segment, about, where sampling is needed


@dataclass(frozen=True, eq=False)
class Background:
    """What a segment is compared with.

    rows     (b, k) features of training rows, drawn at random
    typical  (k,) medians of all training rows; NaN for a feature undefined throughout
    """

    rows: FloatArray
    typical: FloatArray

    @classmethod
    def make(cls, features: FloatArray, seed: int = 0) -> Self:
        """From (n, k) features of the training rows."""
        generator = np.random.default_rng(seed)
        chosen = np.sort(generator.permutation(len(features))[:_BACKGROUND])
        typical = np.full(features.shape[1], np.nan)
        known = ~np.isnan(features).all(axis=0)
        typical[known] = np.nanmedian(features[:, known], axis=0)
        return cls(features[chosen], typical)

    def save(self, folder: Path) -> None:
        """Writes two .npy files into an existing folder."""
        for name, values in zip(_FILES, (self.rows, self.typical), strict=True):
            np.save(folder / name, values, allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What `save` wrote. Raises InputError for a model that was trained without it."""
        try:
            return cls(*(np.load(folder / name, allow_pickle=False) for name in _FILES))
        except FileNotFoundError:
            raise InputError(
                "the model cannot explain its scores: it holds no training rows to compare with",
                where=folder,
                remedy="train it again",
            ) from None


@dataclass(frozen=True, eq=False)
class Contributions:
    """Scores taken apart: score (before it is moved into the label's range) = base + sum of the row.

    values  (n, k) what each feature adds
    base    the mean score of the background (of the training data, for trees)
    method  linear and trees: exact; sampling: Shapley values estimated from random orders, their sum exact
    """

    values: FloatArray
    base: float
    method: Method


@dataclass(frozen=True, eq=False)
class Explainer:
    """Takes a model's scores apart by Shapley values.

    linear    coefficient times distance from the background's mean
    trees     LightGBM's own pred_contrib (Lundberg et al. 2020, TreeSHAP)
    sampling  features take the segment's values one after the other, in `orders` random orders and their
              reverses, starting from a background row each (Strumbelj and Kononenko 2014; antithetic
              orders: Mitchell et al. 2022); the same draws for every segment, so that a segment's
              explanation depends on nothing else

    Whether a model is linear or a sum of trees is found by trying: only what adds up counts as exact.
    """

    model: Model
    background: Background
    orders: int | None = None
    seed: int = 0

    @cached_property
    def _parts(self) -> tuple[Any, Any]:
        """(imputing and scaling, the rest): the former treats every column by itself."""
        return split_steps(self.model.pipeline)

    @cached_property
    def _prepared(self) -> FloatArray:
        return self._prepare(pd.DataFrame(self.background.rows, columns=self.model.feature_set.names))

    def _prepare(self, features: pd.DataFrame) -> FloatArray:
        for step in self._parts[0]:
            features = step.transform(features)
        return np.ascontiguousarray(features.to_numpy(np.float64))

    def _predict(self, prepared: FloatArray) -> FloatArray:
        table = pd.DataFrame(prepared, columns=self.model.feature_set.names)
        return np.asarray(self._parts[1].predict(table), np.float64)

    @cached_property
    def _chosen(self) -> NDArray[np.int64]:
        """The columns that reach the learner; empty where a step makes new ones."""
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

    def contributions(self, features: pd.DataFrame) -> Contributions:
        """What each of k features adds to the scores of n segments."""
        prepared = self._prepare(features)
        slopes = self._slopes
        if slopes is not None:
            mean = self._prepared.mean(axis=0)
            return Contributions(
                (prepared - mean) * slopes, float(self._predict(self._prepared).mean()), "linear"
            )
        if self._trees is not None:
            return self._by_trees(prepared)
        return self._by_sampling(prepared)

    @cached_property
    def _slopes(self) -> FloatArray | None:
        """(k,) the coefficients, where the model is linear in the prepared features."""
        learner = self._parts[1].steps[-1][1]
        coefficients = np.ravel(getattr(learner, "coef_", np.empty(0)))
        if not len(self._chosen) or len(coefficients) != len(self._chosen):
            return None
        slopes = np.zeros(len(self.model.feature_set.names))
        slopes[self._chosen] = coefficients
        # Beyond the background, too: two rows on either side of it.
        probe = np.vstack([self._prepared, 3 * self._prepared[:1], -2 * self._prepared[-1:]])
        rest = self._predict(probe) - probe @ slopes
        return slopes if np.ptp(rest) <= 1e-8 * max(1.0, float(np.abs(rest).max())) else None

    @cached_property
    def _trees(self) -> Any:
        """The LightGBM booster, where its trees alone make the score."""
        booster = getattr(self._parts[1].steps[-1][1], "booster_", None)
        if booster is None or not len(self._chosen):
            return None
        inputs = self._prepared[:, self._chosen]
        try:
            parts = booster.predict(inputs, pred_contrib=True)
        except Exception as error:  # LightGBM's own type; importing it only to name it costs start-up time
            if type(error).__name__ != "LightGBMError":
                raise
            return None
        return booster if np.allclose(parts.sum(axis=1), self._predict(self._prepared), atol=1e-8) else None

    def _by_trees(self, prepared: FloatArray) -> Contributions:
        parts = self._trees.predict(prepared[:, self._chosen], pred_contrib=True)
        values = np.zeros_like(prepared)
        values[:, self._chosen] = parts[:, :-1]
        return Contributions(values, float(parts[0, -1]), "trees")

    @cached_property
    def _walks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(w, k) orders of the features, each followed by its reverse, and the background row of each."""
        k = self._prepared.shape[1]
        pairs = self.orders or max(2, _EVALUATIONS // (2 * (k + 1)))
        generator = np.random.default_rng(self.seed)
        orders = [order for _ in range(pairs) for order in _both_ways(generator.permutation(k))]
        starts = np.repeat(np.resize(generator.permutation(len(self._prepared)), pairs), 2)
        return np.array(orders), starts

    def _by_sampling(self, prepared: FloatArray) -> Contributions:
        orders, starts = self._walks
        values = np.array([self._sampled(row, orders, starts) for row in prepared])
        base = float(self._predict(self._prepared)[starts].mean())
        return Contributions(values.reshape(prepared.shape), base, "sampling")

    def _sampled(self, row: FloatArray, orders: NDArray[np.int64], starts: NDArray[np.int64]) -> FloatArray:
        """(k,) contributions of one row; the matrix predicted has the same shape for every row."""
        walks, k = orders.shape
        position = np.argsort(orders, axis=1)  # when each feature is switched
        switched = position[:, None, :] < np.arange(k + 1)[None, :, None]
        points = np.where(switched, row, self._prepared[starts][:, None, :])
        scores = self._predict(points.reshape(-1, k)).reshape(walks, k + 1)
        steps = np.diff(scores, axis=1)
        return np.asarray(np.take_along_axis(steps, position, axis=1).mean(axis=0))

    def because(self, features: pd.DataFrame, top: int) -> list[str]:
        """For each segment the `top` features that moved its score most, in words, the largest first."""
        values = self.contributions(features).values
        raw = features.to_numpy(np.float64)
        described = [feature.description for feature in self.model.feature_set.features]
        largest = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :top]
        return [
            "; ".join(
                _words(described[j], raw[i, j], self.background.typical[j], values[i, j])
                for j in row
                if f"{abs(values[i, j]):.2f}" != "0.00"
            )
            or "nothing in particular"
            for i, row in enumerate(largest)
        ]


def _both_ways(order: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
    return order, order[::-1]


def _words(description: str, value: float, typical: float, moved: float) -> str:
    """One feature in words.

    >>> _words("tokens in the source", 41.0, 22.0, -0.314)
    'tokens in the source 41 (typically 22): -0.31'
    """
    seen = "undefined" if np.isnan(value) else f"{value:.4g}"
    usual = "undefined" if np.isnan(typical) else f"{typical:.4g}"
    return f"{description} {seen} (typically {usual}): {moved:+.2f}"
