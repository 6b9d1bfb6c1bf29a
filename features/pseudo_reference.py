"""How near the translation is to that of another system: its pseudo-reference."""

from features._second_translation import SecondTranslation
from features.core.segments import Segments
from features.core.tokens import Tokens


class PseudoReference(SecondTranslation):
    """The target against the column `pseudo_reference`, another engine's translation of the source.

    Where two different systems agree, both are probably right (Albrecht and Hwa 2008; Soricut and Narsale
    2012). `qe data translate` makes the column.
    """

    column = "pseudo_reference"
    compared = "target against pseudo-reference"

    def texts(self, segments: Segments) -> tuple[Tokens, Tokens]:
        return segments.target_tokens, segments.pseudo_reference_tokens
