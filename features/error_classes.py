"""Class error rates of the translation against a pseudo-reference."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.edits.class_errors import SUMS, class_errors, rate_sums, reordering_alone
from features.text.stems import base_form_tokens, has_base_forms

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
