"""Back-translations: those that the segments have, or those of our own decoder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.phrase_decoding.decoder import decode
from features.resources.back_phrase_table import BackPhraseTable
from features.resources.language_model import LanguageModel
from features.text.tokens import Tokens

VARIANTS: Final[Sequence[Mapping[str, Any]]] = ({"engine": "decoder"},)


class WithBackTranslation(Extractor):
    """Takes the back-translations that the segments have."""

    def requires(self) -> tuple[str, ...]:
        return ("back_translation",)

    def back(self, segments: Segments) -> Tokens:
        return segments.back_translation_tokens


@dataclass(frozen=True, eq=False, kw_only=True)
class ByDecoder(WithBackTranslation):
    """Makes them by our own decoder, with the sides of the corpus exchanged."""

    back_phrase_table: BackPhraseTable
    source_lm: LanguageModel
    engine: Literal["decoder"] = "decoder"

    @property
    def features(self) -> Sequence[Feature]:
        return [
            replace(each, name=f"decoder_{each.name}", description=f"{each.description} (by our own decoder)")
            for each in super().features  # type: ignore[safe-super]  # of the family that this stands before
        ]

    def requires(self) -> tuple[str, ...]:
        return ()

    def back(self, segments: Segments) -> Tokens:
        return decode(segments.target_tokens, self.back_phrase_table, self.source_lm).tokens
