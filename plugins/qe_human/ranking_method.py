"""Ranking method: pairwise judgements -> an order of systems."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.basics.array_types import FloatArray, IntArray
from features.basics.catalogue import Catalogue
from qe.display.summary import Printable


@dataclass(frozen=True, eq=False)
class Ranking(Printable):
    """One order of k systems.

    Attributes
    ----------
    order : array of int
        (k,) indices of the systems, best first.
    scores : array of float or None
        (k,) score of each system by its index, NaN if undefined; None for a method without scores.
    unique : bool
        Whether no other order is as good: no two scores are equal, no other order costs as little.
    cost : float or None
        What the order costs, for a method that minimises a cost.
    """

    order: IntArray
    scores: FloatArray | None
    unique: bool
    cost: float | None = None


class RankingMethod(ABC):
    """Ranks k systems from counts of pairwise judgements.

    wins[..., a, b]  how often a was judged better than b; the diagonal is 0
    ties[..., a, b]  how often a and b were judged equal; symmetric, the diagonal is 0

    Leading axes hold independent tables, such as bootstrap samples.
    """

    counts_reference: ClassVar[bool] = False  # whether the human reference is an opponent, and is listed
    resampled: ClassVar[bool] = True  # whether it ranks bootstrap samples quickly, however many systems

    @abstractmethod
    def ranking(self, wins: FloatArray, ties: FloatArray) -> Ranking:
        """The ranking by one (k, k) table."""

    @abstractmethod
    def ranks(self, wins: FloatArray, ties: FloatArray) -> IntArray:
        """(..., k) rank of each system, 1 for the best; equal scores share the better rank."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ScoreMethod(RankingMethod):
    """Gives every system a score, and sorts by it."""

    unit: ClassVar[str]  # what a score is, for tables and axes
    higher_is_better: ClassVar[bool] = True
    rounding: ClassVar[float] = 1e-12  # scores closer than this share of the largest one are equal

    @abstractmethod
    def scores(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        """(..., k) score of each system; NaN if the judgements say nothing about it."""

    def ranking(self, wins: FloatArray, ties: FloatArray) -> Ranking:
        scores = self.scores(wins, ties)
        quality = scores if self.higher_is_better else -scores
        order = np.argsort(-quality, kind="stable")  # NaN comes last
        falls = -np.diff(quality[order])
        rounding = self.rounding * np.nanmax(np.abs(scores), initial=0.0)
        return Ranking(order, scores, bool((falls > rounding).all() and not np.isnan(scores).any()))

    def ranks(self, wins: FloatArray, ties: FloatArray) -> IntArray:
        scores = self.scores(wins, ties)
        quality = np.where(np.isnan(scores), -np.inf, scores if self.higher_is_better else -scores)
        rounding = self.rounding * np.abs(np.nan_to_num(scores)).max(axis=-1, initial=0.0)[..., None, None]
        better = quality[..., None, :] > quality[..., :, None] + rounding
        return np.asarray(1 + better.sum(axis=-1))


class PreferenceMethod(RankingMethod):
    """Finds the order that goes against the least total weight of preferences; it has no scores."""

    resampled: ClassVar[bool] = False

    @abstractmethod
    def preferences(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        """Cost (..., k, k) of ranking b above a; at most one of (a, b) and (b, a) is positive."""

    def ranking(self, wins: FloatArray, ties: FloatArray) -> Ranking:
        from qe_human.feedback_arcs import cost_of, least_cost_order

        preferences = self.preferences(wins, ties)
        order, unique = least_cost_order(preferences)
        return Ranking(order, None, unique, cost_of(order, preferences))

    def ranks(self, wins: FloatArray, ties: FloatArray) -> IntArray:
        from qe_human.feedback_arcs import least_cost_ranks

        return least_cost_ranks(self.preferences(wins, ties))


RANKINGS: Catalogue[RankingMethod] = Catalogue("qe_human.rankings", RankingMethod, "ranking method")
