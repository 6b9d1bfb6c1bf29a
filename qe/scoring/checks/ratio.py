"""Sides of very different length."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from qe.scoring.check import Check, Pair


@dataclass(frozen=True, eq=False)
class Ratio(Check):
    """One side is much longer than the other.

    It has more than `most` times the characters of the other, and over `allowance` more.
    """

    flag: ClassVar[Mapping[str, Any] | None] = {"most": 2.0, "allowance": 19}
    filters = True
    cost = 1.0

    most: float = 2.5
    allowance: int = 20

    def words(self, pair: Pair) -> tuple[str, ...]:
        source, target = len(pair.source.strip()), len(pair.target.strip())
        shorter, longer = sorted((source, target))
        if longer <= self.most * shorter or longer - shorter <= self.allowance:
            return ()
        return (f"{target} characters for {source}",)
