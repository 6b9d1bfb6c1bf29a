"""Spearman's correlation of segment scores."""

from dataclasses import dataclass
from typing import ClassVar

from features.basics.array_types import BoolArray
from qe_human.correlation import Correlation, Level
from qe_human.correlations._moments import Group, MomentProblem
from qe_human.human import Human


@dataclass(frozen=True)
class Spearman(Correlation):
    """Spearman's rho of all translations, or within segments (`item`) or systems, averaged. Exchanges and
    bootstrap samples keep the ranks of the whole data.
    """

    title: ClassVar[str] = "Spearman"
    level: ClassVar[Level] = "segment"
    group: Group = "none"

    def problem(self, human: Human, defined: BoolArray, whole_systems: bool = False) -> MomentProblem:
        return MomentProblem(human, defined, self.group, ranks=True)
