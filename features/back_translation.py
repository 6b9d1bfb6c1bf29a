"""How much of the source comes back when the translation is translated back."""

from dataclasses import dataclass
from typing import ClassVar

from features.comparisons.comparison import SecondTranslation
from features.core.segments import Segments
from features.text.tokens import Tokens


@dataclass(frozen=True)
class BackTranslation(SecondTranslation):
    """Compares the column `back_translation` with the source, which is the reference.

    Source: DCU-SYMC at WMT12, section 2.1; SJTU at WMT12, section 3.2. `qe data translate` makes the column.
    """

    plain: ClassVar[str] = "how well the translation leads back to the source"

    column: ClassVar[str] = "back_translation"
    compared: ClassVar[str] = "back-translation against source"

    def texts(self, segments: Segments) -> tuple[Tokens, Tokens]:
        return segments.back_translation_tokens, segments.source_tokens
