"""Texts that stand on both sides."""

from dataclasses import dataclass

from rapidfuzz.fuzz import ratio

from qe.display.numbers import percent
from qe.scoring.check import Check, Pair


@dataclass(frozen=True, eq=False)
class Copy(Check):
    """The sides are at least `alike` percent alike (edit distance of characters, case aside).

    A text without letters may be its own translation.
    """

    filters = True
    cost = 3.0

    alike: float = 90.0

    def words(self, pair: Pair) -> tuple[str, ...]:
        if not any(map(str.isalpha, pair.source)):
            return ()
        alike = ratio(pair.source.lower(), pair.target.lower())
        return (f"the sides are {percent(alike / 100, 0)} alike",) if alike >= self.alike else ()
