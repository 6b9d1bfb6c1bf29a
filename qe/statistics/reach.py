"""Reach: the smallest p-value that few units allow, and the units a smaller one needs."""

from dataclasses import dataclass
from itertools import count
from math import comb, factorial
from typing import Literal

from qe.display.numbers import general

Tail = Literal["two-sided", "greater", "less"]
_MOST = 10**300  # arrangements that are still told apart


@dataclass(frozen=True)
class Reach:
    """What exchanges of `units` units can show: every unit changes sides or stays.

    units   units in which the two sides differ, of which an exchange can tell the outcome
    unit    what they are: segment, document, system, run, ...
    tail    two-sided: an arrangement and its mirror image are equally extreme
    ways    equally likely arrangements of one unit
    saying  how a sentence about the units begins
    """

    units: int
    unit: str = "segment"
    tail: Tail = "two-sided"
    ways: int = 2
    saying: str = "the two differ in"

    def arrangements(self, units: int) -> int:
        """How many arrangements of so many units there are."""
        return _power(self.ways, units)

    @property
    def mirrored(self) -> bool:
        """Whether the mirror image of every arrangement is an arrangement, too."""
        return True

    def smallest_of(self, units: int) -> float:
        """The smallest p-value of so many units."""
        sides = 2 if self.tail == "two-sided" and self.mirrored else 1
        return min(1.0, sides / min(self.arrangements(units), _MOST))

    @property
    def smallest(self) -> float:
        """The smallest p-value that these units allow.

        >>> Reach(5).smallest, Reach(5, tail="greater").smallest
        (0.0625, 0.03125)
        """
        return self.smallest_of(self.units)

    def needed(self, bound: float) -> int:
        """The fewest units that allow a p-value up to the bound.

        >>> Reach(3).needed(0.05), Reach(3).needed(0.05 / 36), Runs(3, "run").needed(0.05)
        (6, 11, 4)
        """
        return next(units for units in count(1) if self.smallest_of(units) <= bound)

    def lack(self, level: float, comparisons: int = 1) -> str:
        """Why no p-value can reach the level among so many comparisons; empty if one can.

        comparisons  by how much a correction multiplies the smallest p-value of a family
        """
        bound = level / comparisons
        if self.smallest <= bound:
            return ""
        among = f" among {comparisons} comparisons" if comparisons > 1 else ""
        return (
            f"{self.saying} {self.named(self.units)}: no p-value below {general(self.smallest, 2)} is"
            f" possible, and {general(bound, 2)} is needed{among};"
            f" that takes {self.named(self.needed(bound))}"
        )

    def named(self, units: int) -> str:
        """So many units in words."""
        return f"{units} {self.unit}" + ("" if units == 1 else "s")


@dataclass(frozen=True)
class Runs(Reach):
    """Reach of dealing all optimizer runs of both sides anew.

    One side has `units` runs, the other `other`.
    """

    other: int = 0

    @property
    def mirrored(self) -> bool:
        return self.other in (0, self.units)

    def arrangements(self, units: int) -> int:
        other = self.other if units == self.units and not self.mirrored else units
        return comb(units + other, units)

    def named(self, units: int) -> str:
        return f"{super().named(units)} of each system"


@dataclass(frozen=True)
class Deals(Reach):
    """The outputs of every unit are dealt to all systems; renaming the systems changes nothing."""

    systems: int = 2

    def arrangements(self, units: int) -> int:
        return _power(factorial(self.systems), max(units - 1, 0))


def _power(base: int, exponent: int) -> int:
    return int(base ** min(exponent, 1000))
