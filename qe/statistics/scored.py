"""Scored: systems on the same segments, ready for draws, exchanges and jackknives."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray
from features.basics.progress import Progress
from qe.statistics.groups import Groups
from qe.statistics.levels import Levels
from qe.statistics.randomization import Exchange
from qe.statistics.reach import Tail
from qe.statistics.result import TestResult
from qe.statistics.tukey import Contrasts, Pairs

Drawn = Mapping[tuple[str, str], FloatArray]
"""(system, metric) -> (samples,) scores of virtual test sets."""
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Draws:
    """What is exchanged, and how often.

    groups     (n,) the unit of each segment; None: segments are the units
    exchange   of systems with several runs, see `randomization_tests`
    contrasts  of several systems at once, see `tukey_hsd`
    """

    samples: int
    seed: int
    tail: Tail = "two-sided"
    groups: Groups | None = None
    exchange: Exchange = "segment"
    contrasts: Contrasts = "pairs"


class Scored(ABC):
    """Systems and the metrics that compare them.

    The engine is `qe.statistics.comparisons`.
    """

    @property
    @abstractmethod
    def systems(self) -> tuple[str, ...]:
        """Their names."""

    @property
    @abstractmethod
    def metrics(self) -> tuple[str, ...]:
        """Their names."""

    @abstractmethod
    def score(self, system: str, metric: str) -> float:
        """The score on all segments; NaN if it is undefined."""

    @abstractmethod
    def resampled(self, levels: Levels, samples: int, seed: int, progress: Progress) -> Drawn:
        """Scores of every system by every metric, all on the same virtual test sets."""

    @abstractmethod
    def left_out(self, system: str, metric: str, groups: Groups | None) -> FloatArray:
        """(u,) scores with each unit left out: each group, or each segment (or block of segments)."""

    @abstractmethod
    def exchanged(self, system: str, baseline: str, draws: Draws) -> dict[str, TestResult]:
        """Metric -> randomization test of the difference of two systems."""

    @abstractmethod
    def dealt(self, metric: str, systems: tuple[str, ...], draws: Draws) -> Pairs:
        """Tukey's or Scheffe's test of all pairs of some systems by one metric."""

    @abstractmethod
    def differ(self, system: str, baseline: str, metric: str) -> BoolArray:
        """(n,) whether two systems differ on a segment, as the metric sees it."""

    @abstractmethod
    def copies(self) -> dict[str, str]:
        """Each system -> the first one that has the same values (`copies_of`)."""

    @abstractmethod
    def part(self, rows: Rows) -> "Scored":
        """The same systems on some of the segments."""
