"""Whether a translation reads like machine output: models of a corpus and of its translations compared."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from features.basics.array_types import FloatArray
from features.core.columns import block, features_of
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.learned.translated_lm import TranslatedLanguageModel
from features.machine_lm import COLUMNS as OF_ROWS
from features.machine_lm import Compared

COLUMNS = tuple(
    replace(
        column,
        name=column.name.replace("machine_lm", "machine_lm_translated"),
        description=column.description.replace(", both of order `order`", ""),
    )
    for column in OF_ROWS
)


@dataclass(frozen=True)
class TranslatedMachineLanguageModel(Extractor):
    """Language models of the same sentences, as our own decoder translates them and as people did.

    Where `machine_lm` learns from few training translations and compares with all of the corpus, both models
    here are of `translated_corpus`, and of the same order: no difference is one of size.

    Everything is NaN for an empty translation.
    """

    machine_text_lm: TranslatedLanguageModel
    human_text_lm: TranslatedLanguageModel

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(COLUMNS)

    def extract(self, segments: Segments) -> FloatArray:
        tokens = segments.target_tokens
        human, machine = self.human_text_lm.score(tokens), self.machine_text_lm.score(tokens)
        return block(COLUMNS, Compared(tokens, human, machine))
