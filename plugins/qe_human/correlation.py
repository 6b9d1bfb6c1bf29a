"""Correlation: how well the scores of a metric agree with people."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray
from features.basics.catalogue import Catalogue
from qe_human.human import Human

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
