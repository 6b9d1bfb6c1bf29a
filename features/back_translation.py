"""Similarity of the source and the translation translated back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from features.comparisons.comparison import VARIANTS, ByDecoder, SecondTranslation, WithBackTranslation
from features.core.extractor import Extractor
from features.core.segments import Segments
from features.text.tokens import Tokens


@dataclass(frozen=True)
class BackTranslation(WithBackTranslation, SecondTranslation):
    """Compares the column `back_translation` with the source, which is the reference.

    engine  `decoder`: our own decoder translates back, by the corpus with its sides exchanged; columns are
            then named `decoder_...`. Without it, the column `back_translation`: `qe data translate` makes it.

    Source: DCU-SYMC at WMT12, section 2.1; SJTU at WMT12, section 3.2.
    """

    plain: ClassVar[str] = "how well the translation leads back to the source"
    variants: ClassVar[Sequence[Mapping[str, Any]]] = VARIANTS

    column: ClassVar[str] = "back_translation"
    compared: ClassVar[str] = "back-translation against source"

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> type[Extractor]:
        return _ByDecoder if "engine" in settings else cls

    def texts(self, segments: Segments) -> tuple[Tokens, Tokens]:
        return self.back(segments), segments.source_tokens


@dataclass(frozen=True)
class _ByDecoder(ByDecoder, BackTranslation):
    pass
