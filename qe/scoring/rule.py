"""Rule: refuses pairs of texts. Think twice before adding here."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from features.basics.catalogue import Catalogue


@dataclass(frozen=True)
class Rule(ABC):
    """One reason to leave a pair out; its fields are its settings, its file's name the rule's name.

    languages  of source and target
    """

    languages: tuple[str, str]

    @property
    def lacks(self) -> str:
        """What the rule lacks for these languages, or an empty string."""
        return ""

    @abstractmethod
    def reason(self, source: str, target: str) -> str:
        """Why the pair is left out, or an empty string."""


RULES = Catalogue[Rule]("qe.scoring.rules", Rule, "rule")
