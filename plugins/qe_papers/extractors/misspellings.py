"""Words that a spell checker does not know, without entities."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from features.text.annotation import Annotated
from qe_papers.families import AnnotationFamily, Measure

_WLV: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1 (there JMySpell)"


Unknown = NDArray[np.bool_]  # mask over the counted words of a text


def _share(unknown: Unknown) -> float:
    return float(unknown.mean()) if len(unknown) else np.nan


@dataclass(frozen=True)
class Misspellings(AnnotationFamily):
    """Words that the annotation's spell checker (`annotators/es+hunspell`) does not know: number and share.

    sides     spell-checked sides; the paper's: target
    entities  whether to count words of named entities, unlike the paper

    The denominator is the number of counted words; NaN if it is 0. Raises InputError if the text was not
    spell-checked, or has no entity tags for excluding entities.
    """

    plain: ClassVar[str] = "words that the spelling checker does not know"

    entities: bool = False

    stem = "misspelled"
    measures = (
        Measure[Unknown]("words", "words that the speller does not know", _WLV, "words", np.count_nonzero),
        Measure[Unknown]("share", "share of words that the speller does not know", _WLV, "share", _share),
    )

    def read(self, annotated: Annotated) -> list[Unknown]:
        unknown = []
        for i, (low, high) in enumerate(pairwise(annotated.tokens.offsets.tolist())):
            counted = np.ones(high - low, bool)
            for first, last, _ in () if self.entities else annotated.entities[i]:
                counted[first:last] = False
            unknown.append(annotated.misspelled[low:high][counted])
        return unknown
