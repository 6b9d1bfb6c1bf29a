"""Pearson's correlation of segment scores."""

from dataclasses import dataclass
from typing import ClassVar

from features.basics.array_types import BoolArray
from qe_human.correlation import Correlation, Level
from qe_human.correlations._moments import Group, MomentProblem
from qe_human.human import Human


@dataclass(frozen=True)
class Pearson(Correlation):
    """Pearson's r of all translations, or within segments (`item`) or systems, averaged. A segment in which
    a side is constant is left out of the average.
    """

    title: ClassVar[str] = "Pearson"
    level: ClassVar[Level] = "segment"
    group: Group = "none"

    def problem(self, human: Human, defined: BoolArray, whole_systems: bool = False) -> MomentProblem:
        return MomentProblem(human, defined, self.group, ranks=False)
