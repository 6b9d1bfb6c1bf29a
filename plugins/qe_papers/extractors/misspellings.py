"""Words that a speller does not know, entities left out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.core.columns import Column, block, features_of
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.text.annotation import Annotated
from qe_papers.differences import BothSides, Measure, Sides, annotations_of, columns_of, read

_WLV: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1 (there JMySpell)"


@dataclass(frozen=True)
class Misspellings(Extractor):
    """Words that the annotation's speller does not know: number and share. The speller is that of
    `annotators/es+hunspell`.

    sides     those that a speller was asked about; the paper's: target
    entities  whether words of named entities count, too; the paper's do not

    The denominator is the number of counted words; NaN if it is 0. Raises InputError where no speller was
    asked, or where there are no entity tags that mark the words to leave out.
    """

    plain: ClassVar[str] = "words that the spelling checker does not know"

    sides: Sides = "target"
    entities: bool = False

    @property
    def columns(self) -> tuple[Column[BothSides["Unknown"]], ...]:
        return tuple(columns_of("misspelled", MEASURES, self.sides))

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(self.columns)

    def requires(self) -> tuple[str, ...]:
        return annotations_of(self.sides)

    def extract(self, segments: Segments) -> FloatArray:
        return block(self.columns, read(segments, self.sides, lambda side: list(self._unknown(side))))

    def _unknown(self, annotated: Annotated) -> Iterator["Unknown"]:
        offsets = annotated.tokens.offsets.tolist()
        for i, (low, high) in enumerate(pairwise(offsets)):
            counted = np.ones(high - low, bool)
            for first, last, _ in () if self.entities else annotated.entities[i]:
                counted[first:last] = False
            yield annotated.misspelled[low:high][counted]


Unknown = NDArray[np.bool_]  # of the words of a text that count


def _share(unknown: Unknown) -> float:
    return float(unknown.mean()) if len(unknown) else np.nan


MEASURES: Final = (
    Measure[Unknown](
        "words", "words that the speller does not know", _WLV, "words", lambda u: float(u.sum())
    ),
    Measure[Unknown]("share", "share of words that the speller does not know", _WLV, "share", _share),
)
