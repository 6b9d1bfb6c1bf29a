"""Likelihood of the text's morphemes, and IBM Model 1 scores of both sides' morphemes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Final

from features.basics.errors import InputError
from features.core.columns import Column
from features.core.segments import Segments
from features.resources.language_model import LanguageModel, LMScores
from features.resources.lexicon import Lexicon, WordScores
from features.resources.morphemes import Morphemes
from features.text.corpus import Side
from features.text.tokens import Tokens, ratio
from qe_papers.families import SIDES, ColumnFamily, Modelled, model_columns, translated_columns

_MLM: Final = "Popovic 2012 (DFKI at WMT12), section 2.2: MLM6"
_MIBM1: Final = "Popovic 2012 (DFKI at WMT12), section 2.1, equations 2-3: MIBM1"
_OWN: Final = "this project: morphemes of Morfessor Baseline (Creutz and Lagus 2005)"


@dataclass(frozen=True)
class MorphemeFeatures(ColumnFamily):
    """Log-probability, perplexity, IBM Model 1 scores and number per word of morphemes.

    Monolingual values are NaN for an empty text, IBM Model 1 scores if either text is empty.
    """

    plain: ClassVar[str] = "whether the parts of the words translate each other"

    source_morphemes: Morphemes
    target_morphemes: Morphemes
    source_morpheme_lm: LanguageModel
    target_morpheme_lm: LanguageModel
    morpheme_lexicon_source_to_target: Lexicon
    morpheme_lexicon_target_to_source: Lexicon

    def __post_init__(self) -> None:
        super().__post_init__()
        for entry in fields(self):
            part: Morphemes | LanguageModel | Lexicon = getattr(self, entry.name)
            if not (isinstance(part, Morphemes) or "morphemes" in part.settings):
                raise InputError(
                    f"'{entry.name}' must be a part of morphemes, but is one of words",
                    location="extractor 'morphemes'",
                )

    @property
    def columns(self) -> Sequence[Column["_Batch"]]:
        lexical = translated_columns(
            "morpheme_ibm1", "morpheme", "morphemes", _MIBM1, "NaN if a side is empty",
            lambda batch, side: batch.lexical[side],
        )  # fmt: skip
        models = [column for side in SIDES for column in _of_model(side)]
        return [*models, *lexical, *map(_per_word, SIDES)]

    def prepared(self, segments: Segments) -> "_Batch":
        words = {"source": segments.source_tokens, "target": segments.target_tokens}
        source = self.source_morphemes.units(words["source"])
        target = self.target_morphemes.units(words["target"])
        models = {
            "source": self.source_morpheme_lm.score(source), "target": self.target_morpheme_lm.score(target),
        }  # fmt: skip
        lexical = {
            "source": self.morpheme_lexicon_target_to_source.score(target, source),
            "target": self.morpheme_lexicon_source_to_target.score(source, target),
        }
        return _Batch(words, {"source": source, "target": target}, models, lexical)


@dataclass(frozen=True, eq=False)
class _Batch:
    words: Mapping[str, Tokens]
    morphemes: Mapping[str, Tokens]
    models: Mapping[str, LMScores]
    lexical: Mapping[str, WordScores]


def _of_model(side: Side) -> Iterator[Column[_Batch]]:
    yield from model_columns(
        "morpheme", _MLM, f"morpheme_lm_{side}", f"{side}, 6-gram model of morphemes",
        lambda batch: Modelled(batch.morphemes[side], batch.models[side]),
    )  # fmt: skip


def _per_word(side: Side) -> Column[_Batch]:
    what = f"{side} morphemes / tokens; NaN for an empty text"
    return Column(
        f"morphemes_{side}_per_word", what, _OWN, "ratio",
        lambda batch: ratio(batch.morphemes[side].lengths, batch.words[side].lengths),
    )  # fmt: skip
