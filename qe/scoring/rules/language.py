"""Sides in another language."""

from dataclasses import dataclass

from simplemma import in_target_language
from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

from qe.scoring.rule import Rule


@dataclass(frozen=True)
class Language(Rule):
    """At least this share of a side's words is in the dictionary of its language, and no larger one in the
    other side's (`share`, `margin`); a side of fewer than `fewest` words is not judged.

    Dictionaries: simplemma.
    """

    share: float = 0.4
    margin: float = 0.1
    fewest: int = 4

    @property
    def lacks(self) -> str:
        missing = [code for code in self.languages if code not in SUPPORTED_LANGUAGES]
        return f"no dictionary of {' and '.join(missing)}" if missing else ""

    def reason(self, source: str, target: str) -> str:
        sides = (("source", source, *self.languages), ("target", target, *self.languages[::-1]))
        for side, text, own, other in sides:
            if len(text.split()) < self.fewest or not any(map(str.isalpha, text)):
                continue
            known = in_target_language(text, lang=own)
            if known < self.share:
                return f"the {side} is not in '{own}' ({known:.0%} of its words are known)"
            if own != other and in_target_language(text, lang=other) > known + self.margin:
                return f"the {side} is in '{other}'"
        return ""
