"""Agreement of capitalisation with the corpus."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.text.tokens import Tokens, ratio, segment_sum
from qe_papers.resources.truecaser import Truecaser, begins

_NOTES = "this project: MT output that lost capitals at the starts of sentences"
_UEDIN = "University of Edinburgh at WMT12, section 3.2 (there by a named entity recogniser)"


@dataclass(frozen=True)
class Casing(Extractor):
    """Words whose case differs from the usual spelling, and usually capitalised words.

    Words that the corpus lacks are ignored, and so is the case of words that may begin a sentence or title.
    """

    plain: ClassVar[str] = "how words begin with capitals"

    source_truecaser: Truecaser
    target_truecaser: Truecaser

    @property
    def features(self) -> Sequence[Feature]:
        features = []
        for side in ("source", "target"):
            unusual = f"{side} tokens of unusual case"
            share = f"share of {unusual}; NaN for an empty text"
            names = f"{side} words usually capitalised"
            features += [
                Feature(f"casing_{side}_unusual", unusual, _NOTES, "tokens"),
                Feature(f"casing_{side}_unusual_share", share, _NOTES, "share"),
                Feature(f"casing_{side}_names", names, _UEDIN, "tokens"),
            ]
        difference = "usually capitalised words, target minus source"
        return [*features, Feature("casing_names_difference", difference, _UEDIN, "tokens")]

    def extract(self, segments: Segments) -> FloatArray:
        source = _columns(self.source_truecaser, segments.source_tokens)
        target = _columns(self.target_truecaser, segments.target_tokens)
        return np.hstack([source, target, target[:, 2:] - source[:, 2:]])


def _columns(truecaser: Truecaser, tokens: Tokens) -> FloatArray:
    usual = truecaser.usual(tokens.types)
    pairs = list(zip(tokens.types, usual, strict=True))
    differs: NDArray[np.bool_] = np.array([form is not None and form != word for word, form in pairs], bool)
    named: NDArray[np.bool_] = np.array([form is not None and form != form.lower() for form in usual], bool)
    wrong = differs[tokens.ids] & ~begins(tokens) if len(differs) else np.zeros(0, bool)
    names = named[tokens.ids] if len(named) else np.zeros(0, bool)
    unusual = segment_sum(wrong, tokens.offsets)
    return np.column_stack([unusual, ratio(unusual, tokens.lengths), segment_sum(names, tokens.offsets)])
