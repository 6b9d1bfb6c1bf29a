"""Human judgements and scores, and the correlations of metrics with them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.basics.catalogue import Catalogue
from qe.display.summary import Printable
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


@dataclass(frozen=True, eq=False)
class Human(Printable):
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


Level = Literal["segment", "system"]
DIGITS = 4  # of a correlation in tables
Resampled = Callable[[FloatArray, FloatArray], float]
"""Weights of segments (s,) and systems (k,) -> the correlation of a bootstrap sample."""


class Problem(ABC):
    """One correlation with one set of human judgements, for many metrics.

    cells     (n, 2) segment and system of every value of a metric; segment 0 for scores of whole systems
    groups    number of groups that the correlation averages
    williams  observations of Williams' test; None if the correlation is no single Pearson's
    """

    cells: NDArray[np.int64]
    groups: int = 1
    williams: int | None = None

    def __init__(self, human: Human) -> None:
        self.human = human
        self.each_segment = np.ones(len(human.segments))
        self.each_system = np.ones(len(human.systems))

    @abstractmethod
    def weighted(self, values: FloatArray, segments: FloatArray, systems: FloatArray) -> float:
        """The correlation of (n,) values, weighted by segments (s,) and systems (k,); NaN if undefined."""

    def resampled(self, values: FloatArray) -> Resampled:
        """`weighted` for many bootstrap samples."""
        return partial(self.weighted, values)

    def score(self, values: FloatArray) -> float:
        """The correlation of (n,) raw values; NaN if it is undefined."""
        return self.weighted(self.on_common_scale(values), self.each_segment, self.each_system)

    def on_common_scale(self, values: FloatArray) -> FloatArray:
        """Values with mean 0 and range 1 between the 10th and 90th percentile, robust to a few huge ones."""
        low, high = np.quantile(values, [0.1, 0.9])
        middle = values[(values >= low) & (values <= high)].mean()
        spread = high - low if high > low else values.std()
        return np.asarray((values - middle) / (spread if spread > 0 else 1.0))

    def exchanged(self, x: FloatArray, y: FloatArray, heads: BoolArray) -> FloatArray:
        """Differences (B,) of correlations after common-scale values change sides where `heads` (n, B)."""
        values = np.empty(heads.shape[1])
        for i, change in enumerate(np.ascontiguousarray(heads.T)):
            first, second = np.where(change, y, x), np.where(change, x, y)
            values[i] = self.weighted(first, self.each_segment, self.each_system) - self.weighted(
                second, self.each_segment, self.each_system
            )
        return values

    def between(self, x: FloatArray, y: FloatArray) -> float:
        """Pearson's correlation of two metrics' values, taken as this correlation takes them."""
        return float("nan")

    def details(self, values: FloatArray) -> dict[str, float]:
        """Further figures of a metric, such as the calibrated tie threshold."""
        return {}


class Correlation(ABC):
    """Makes the problem of one kind of correlation.

    Attributes
    ----------
    level : float
        Of single segments, or of whole systems.
    title : str
        The name that people know it by, for tables and plots.
    """

    level: ClassVar[Level]
    title: ClassVar[str]

    @abstractmethod
    def problem(self, human: Human, defined: BoolArray, whole_systems: bool = False) -> Problem:
        """The problem for metrics that have scores for the cells in `defined` (s, k).

        whole_systems  whether the metrics give one score per system instead; for the system level

        Raises InputError if such judgements do not allow this correlation.
        """


CORRELATIONS: Catalogue[Correlation] = Catalogue("qe_human.correlations", Correlation, "correlation")


def title_of(text: str) -> str:
    """Heading of a correlation with its settings.

    >>> title_of("acc_eq:group=none,calibrate=false")
    'calibrated accuracy (group=none, calibrate=false)'
    """
    name, _, options = text.partition(":")
    title = CORRELATIONS.get(name).title
    return f"{title} ({options.replace(',', ', ')})" if options else title
