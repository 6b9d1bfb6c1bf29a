"""Pearson's correlation of segment scores."""

from dataclasses import dataclass
from typing import ClassVar

from features.core.array_types import BoolArray
from qe.correlations._base import Correlation, Level
from qe.correlations._human import Human
from qe.correlations._moments import Group, MomentProblem


@dataclass(frozen=True)
class Pearson(Correlation):
    """Pearson's r of all translations, or within segments (`item`) or systems, averaged.

    A segment in which a side is constant is left out of the average.
    """

    level: ClassVar[Level] = "segment"
    group: Group = "none"

    def problem(self, human: Human, known: BoolArray, whole_systems: bool = False) -> MomentProblem:
        return MomentProblem(human, known, self.group, ranks=False)
