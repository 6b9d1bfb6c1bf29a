"""Texts that are empty or very long."""

from dataclasses import dataclass

from qe.scoring.rule import Rule


@dataclass(frozen=True)
class Length(Rule):
    """Each side has from `fewest` to `most` words, as blanks part them."""

    fewest: int = 1
    most: int = 200

    def reason(self, source: str, target: str) -> str:
        for side, text in (("source", source), ("target", target)):
            words = len(text.split())
            if not self.fewest <= words <= self.most:
                return f"{words} words in the {side}"
        return ""
