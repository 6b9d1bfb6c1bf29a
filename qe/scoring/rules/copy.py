"""Texts that stand on both sides."""

from dataclasses import dataclass

from rapidfuzz.fuzz import ratio

from qe.scoring.rule import Rule


@dataclass(frozen=True)
class Copy(Rule):
    """Sides that are alike to less than `alike` percent (edit distance of characters, case aside).

    A text without letters may be its own translation.
    """

    alike: float = 90.0

    def reason(self, source: str, target: str) -> str:
        if not any(map(str.isalpha, source)):
            return ""
        percent = ratio(source.lower(), target.lower())
        return f"the sides are {percent:.0f} % alike" if percent >= self.alike else ""
