"""Texts that are empty or very long."""

from dataclasses import dataclass

from qe.scoring.check import Check, Pair


@dataclass(frozen=True, eq=False)
class Length(Check):
    """A side has fewer than `fewest` words or more than `most`, split at whitespace."""

    filters = True
    cost = 2.0

    fewest: int = 1
    most: int = 200

    def words(self, pair: Pair) -> tuple[str, ...]:
        for side, text in (("source", pair.source), ("target", pair.target)):
            count = len(text.split())
            if not self.fewest <= count <= self.most:
                return (f"{count} words in the {side}",)
        return ()
