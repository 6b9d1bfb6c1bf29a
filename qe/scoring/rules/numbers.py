"""Numbers that one side lacks."""

from dataclasses import dataclass

from qe.scoring.check import Knowledge, Pair
from qe.scoring.checks.numbers import Numbers as Check
from qe.scoring.rule import Rule


@dataclass(frozen=True)
class Numbers(Rule):
    """The numbers in digits of both sides are the same, but for at most `most`; as in `qe score --flags`."""

    most: int = 0

    def reason(self, source: str, target: str) -> str:
        words = Check(Knowledge(self.languages)).words(Pair(source, target))
        return f"numbers on one side: {', '.join(words)}" if len(words) > self.most else ""
