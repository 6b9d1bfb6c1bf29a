"""Comparison with a second translation: of the source by another system, of the translation back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from features.comparisons.comparison import VARIANTS, ByDecoder, SecondTranslation, WithBackTranslation
from features.core.extractor import Extractor, Feature
from features.core.feature_set import EXTRACTORS
from features.core.segments import Segments
from features.edits.class_errors import SUMS, class_errors, rate_sums, reordering_alone
from features.text.stems import base_form_tokens, has_base_forms
from features.text.tokens import Tokens


@EXTRACTORS.register("pseudo_reference")
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


@EXTRACTORS.register("back_translation")
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


_RATES = (
    ("infer", "words with the right base form but a wrong full form", "target"),
    ("rer", "words in a wrong position", "target"),
    ("miser", "words that the target lacks", "pseudo-reference"),
    ("exter", "words that the target has too many", "target"),
    ("lexer", "words with a wrong lexical choice", "target"),
)
_SUM_TEXTS = (
    "sum of the five word rates",
    "sum of the five block rates",
    "mean of the word and block sums",
    "sum of all ten rates weighted for translation into English",
    "sum of all ten rates weighted for translation from English",
)
_ORIGIN = "Popovic 2012, Class error rates for evaluation of machine translation output,"


@EXTRACTORS.register("error_classes")
@dataclass(frozen=True)
class ErrorClasses(Extractor):
    """Class error rates, on words and on blocks, against a second translation.

    Text is compared lower-cased; base forms come from simplemma for the target language. A rate is NaN where
    the side it is divided by is empty, a sum where one of its rates is; in a language without base forms,
    all but those of words in a wrong position are.
    """

    plain: ClassVar[str] = "how far it is from another translation"

    @property
    def features(self) -> Sequence[Feature]:
        words = [
            Feature(f"class_errors_{name}", f"{text}, per {side} word", f"{_ORIGIN} 2.1", "share")
            for name, text, side in _RATES
        ]
        blocks = [
            Feature(f"class_errors_b{name}", f"groups of {text}, per {side} word", f"{_ORIGIN} 2.1", "share")
            for name, text, side in _RATES
        ]
        sums = [
            Feature(f"class_errors_{name}", text, f"{_ORIGIN} 2.2", "share")
            for name, text in zip(SUMS, _SUM_TEXTS, strict=True)
        ]
        return [*words, *blocks, *sums]

    def requires(self) -> tuple[str, ...]:
        return ("pseudo_reference",)

    def extract(self, segments: Segments) -> FloatArray:
        language = segments.target_tokenizer.language
        sides = segments.target_tokens.lower(), segments.pseudo_reference_tokens.lower()
        bases = [base_form_tokens(side, language) if has_base_forms(language) else side for side in sides]
        rates = class_errors(sides[0], bases[0], sides[1], bases[1]).rates()
        rates = rates if has_base_forms(language) else reordering_alone(rates)
        return np.hstack([rates, rate_sums(rates)])
