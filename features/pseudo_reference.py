"""Similarity of the translation and another system's (pseudo-reference)."""

from dataclasses import dataclass
from typing import ClassVar

from features.comparisons.comparison import SecondTranslation
from features.core.segments import Segments
from features.text.tokens import Tokens


@dataclass(frozen=True)
class PseudoReference(SecondTranslation):
    """Compares the target with the column `pseudo_reference`.

    It is another engine's translation of the source. Where two different systems agree, both are probably
    right (Albrecht and Hwa 2008; Soricut and Narsale 2012). `qe data translate` makes the column.
    """

    plain: ClassVar[str] = "how far it is from another translation"

    column: ClassVar[str] = "pseudo_reference"
    compared: ClassVar[str] = "target against pseudo-reference"

    def texts(self, segments: Segments) -> tuple[Tokens, Tokens]:
        return segments.target_tokens, segments.pseudo_reference_tokens
