"""Human judgements of several systems: scores, preferences, or scores of whole systems."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray, IntArray
from qe.display.summary import summarised
from qe_human.ranking_method import ScoreMethod


@dataclass(frozen=True, eq=False)
class Preferences:
    """m pairwise judgements: which of two systems translates a segment better.

    segment, first, second  (m,) places in the lists of segments and systems
    outcome                 (m,) 1 if the first was judged better, -1 if the second was, 0 for a tie
    method                  makes scores of systems from their counts
    """

    segment: IntArray
    first: IntArray
    second: IntArray
    outcome: NDArray[np.int8]
    method: ScoreMethod

    def system_scores(self, weights: FloatArray, systems: int) -> FloatArray:
        """(k,) scores of the systems; each judgement counts with the weight of its segment."""
        better = np.where(self.outcome < 0, self.second, self.first)
        worse = np.where(self.outcome < 0, self.first, self.second)
        tied = self.outcome == 0
        flat = better * systems + worse + tied * systems**2
        sums = np.bincount(flat, weights[self.segment], 2 * systems**2).reshape(2, systems, systems)
        scores = self.method.scores(sums[0], sums[1] + sums[1].T)
        return scores if self.method.higher_is_better else -scores

    def net_wins(self, segments: int, pairs: list[tuple[int, int]]) -> FloatArray:
        """(s, p) wins minus losses of each pair's first system on each segment."""
        column = {pair: i for i, pair in enumerate(pairs)}
        table = np.zeros((segments, len(pairs)))
        for segment, a, b, outcome in zip(self.segment, self.first, self.second, self.outcome, strict=True):
            place = column.get((min(a, b), max(a, b)))
            if place is not None:
                table[segment, place] += outcome if a < b else -outcome
        return table


@summarised
@dataclass(frozen=True, eq=False)
class Human:
    """Human judgements of s segments translated by k systems. At least one of the three kinds is given.

    Parameters
    ----------
    systems : tuple of str
        K names.
    segments : tuple of str
        S names.
    scores : array of float or None, default=None
        (s, k) higher is better, NaN if nobody judged.
    preferences : Preferences or None, default=None
        Pairwise judgements.
    system_scores : array of float or None, default=None
        (k,) scores of whole systems, higher is better; where they are not given, they are made from the
        scores (means) or the preferences.
    """

    systems: tuple[str, ...]
    segments: tuple[str, ...]
    scores: FloatArray | None = None
    preferences: Preferences | None = None
    system_scores: FloatArray | None = None

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.systems)), 2))

    def judged(self) -> BoolArray:
        shape = len(self.segments), len(self.systems)
        if self.scores is None and self.preferences is None:
            return np.ones(shape, np.bool_)
        judged = np.zeros(shape, np.bool_)
        if self.scores is not None:
            judged |= ~np.isnan(self.scores)
        if self.preferences is not None:
            for side in (self.preferences.first, self.preferences.second):
                judged[self.preferences.segment, side] = True
        return judged

    def select(self, defined: BoolArray) -> "Human":
        """The judgements of translations in an (s, k) mask; a preference needs both of its sides."""
        scores, given = self.scores, self.preferences
        if scores is not None:
            scores = np.where(defined, scores, np.nan)
        if given is not None:
            both = defined[given.segment, given.first] & defined[given.segment, given.second]
            given = replace(
                given, segment=given.segment[both],
                first=given.first[both], second=given.second[both],
                outcome=given.outcome[both],
            )  # fmt: skip
        return replace(self, scores=scores, preferences=given)

    def of_systems(self, weights: FloatArray | None = None) -> FloatArray:
        """Scores (k,) of the systems, judgements weighted by segments (s,); NaN without judgements."""
        if self.system_scores is not None:
            return self.system_scores
        weights = np.ones(len(self.segments)) if weights is None else weights
        if self.scores is not None:
            return column_means(self.scores, weights)
        if self.preferences is None:
            raise ValueError("no judgements at all")
        return self.preferences.system_scores(weights, len(self.systems))


def column_means(values: FloatArray, weights: FloatArray) -> FloatArray:
    """(k,) means of the columns of (s, k), rows weighted; NaN entries are left out."""
    defined = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((weights @ np.where(defined, values, 0.0)) / (weights @ defined))
