"""Sides of very different length."""

from dataclasses import dataclass

from qe.scoring.rule import Rule


@dataclass(frozen=True)
class Ratio(Rule):
    """The longer side has at most `most` times the characters of the other, or hardly more (`allowance`)."""

    most: float = 2.5
    allowance: int = 20

    def reason(self, source: str, target: str) -> str:
        shorter, longer = sorted((len(source.strip()), len(target.strip())))
        if longer <= self.most * shorter or longer - shorter <= self.allowance:
            return ""
        return f"{len(target.strip())} characters for {len(source.strip())}"
