"""How usual the sequence of the text's morphemes is, and how well those of both sides fit each other."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.core.tokens import FloatArray, Tokens, ratio, segment_sum
from features.resources.language_model import LMScores
from features.resources.lexicon import WordScores
from features.resources.morpheme_lexicon import MorphemeLexicon
from features.resources.morpheme_lm import MorphemeLanguageModel
from features.resources.morphemes import Morphemes

SIDES: Final = ("source", "target")
_MLM: Final = "Popovic 2012 (DFKI at WMT12), section 2.2: MLM6"
_MIBM1: Final = "Popovic 2012 (DFKI at WMT12), section 2.1, equations 2-3: MIBM1"
_OWN: Final = "this project: morphemes of Morfessor Baseline (Creutz and Lagus 2005)"


@dataclass(frozen=True)
class MorphemeFeatures(Extractor):
    """Log-probability and perplexity of the morphemes, IBM Model 1 between them, morphemes per word.

    Of one side: NaN for an empty text; IBM Model 1: NaN where either is empty.
    """

    source_morphemes: Morphemes
    target_morphemes: Morphemes
    source_morpheme_lm: MorphemeLanguageModel
    target_morpheme_lm: MorphemeLanguageModel
    morpheme_lexicon_source_to_target: MorphemeLexicon
    morpheme_lexicon_target_to_source: MorphemeLexicon

    @property
    def features(self) -> Sequence[Feature]:
        return [Feature(name, d.description, d.origin, d.unit) for name, d in DEFINITIONS.items()]

    def extract(self, segments: Segments) -> FloatArray:
        words = {"source": segments.source_tokens, "target": segments.target_tokens}
        source, target = (
            self.source_morphemes.units(words["source"]),
            self.target_morphemes.units(words["target"]),
        )
        batch = _Batch(
            words,
            {"source": source, "target": target},
            {
                "source": self.source_morpheme_lm.score(source),
                "target": self.target_morpheme_lm.score(target),
            },
            {
                "source": self.morpheme_lexicon_target_to_source.score(target, source),
                "target": self.morpheme_lexicon_source_to_target.score(source, target),
            },
        )
        return np.column_stack([definition.function(batch) for definition in DEFINITIONS.values()])


@dataclass(frozen=True, eq=False)
class _Batch:
    """By side: the words and morphemes of a batch, and what model and lexicon say of the morphemes."""

    words: Mapping[str, Tokens]
    morphemes: Mapping[str, Tokens]
    models: Mapping[str, LMScores]
    lexical: Mapping[str, WordScores]


@dataclass(frozen=True)
class Definition:
    """What a column says, where it is from, and how it is computed."""

    description: str
    origin: str
    unit: str
    function: Callable[[_Batch], FloatArray]


def _log10(batch: _Batch, side: str) -> FloatArray:
    scores = batch.models[side]
    return np.where(batch.morphemes[side].lengths > 0, segment_sum(scores.log10, scores.offsets), np.nan)


def _per_morpheme(batch: _Batch, side: str) -> FloatArray:
    return ratio(_log10(batch, side), batch.morphemes[side].lengths)


def _perplexity(batch: _Batch, side: str) -> FloatArray:
    return np.asarray(10 ** -ratio(_log10(batch, side), batch.morphemes[side].lengths + 1), np.float64)


def _ibm1(batch: _Batch, side: str) -> FloatArray:
    defined = (batch.morphemes["source"].lengths > 0) & (batch.morphemes["target"].lengths > 0)
    return np.where(defined, batch.lexical[side].log10(), np.nan)


def _ibm1_per_morpheme(batch: _Batch, side: str) -> FloatArray:
    return ratio(_ibm1(batch, side), batch.morphemes[side].lengths)


def _per_word(batch: _Batch, side: str) -> FloatArray:
    return ratio(batch.morphemes[side].lengths, batch.words[side].lengths)


def _of_models() -> Iterator[tuple[str, Definition]]:
    statistics = (
        ("log10", "log10 probability, end included", "log10", _log10),
        (
            "per_morpheme",
            "log10 probability, end included, per morpheme",
            "log10 per morpheme",
            _per_morpheme,
        ),
        ("perplexity", "perplexity, end included", "choices", _perplexity),
    )
    for side in SIDES:
        for statistic, description, unit, function in statistics:
            what = f"{side}, 6-gram model of morphemes: {description}; NaN for an empty text"
            yield (
                f"morpheme_lm_{side}_{statistic}",
                Definition(what, _MLM, unit, partial(function, side=side)),
            )


def _of_lexicons() -> Iterator[tuple[str, Definition]]:
    for side, other in (SIDES, SIDES[::-1]):
        what = f"log10 p({side} morphemes | {other} morphemes), IBM Model 1"
        short = "NaN where a side is empty"
        yield (
            f"morpheme_ibm1_{side}_log10",
            Definition(f"{what}; {short}", _MIBM1, "log10", partial(_ibm1, side=side)),
        )
        yield (
            f"morpheme_ibm1_{side}_per_morpheme",
            Definition(
                f"{what}, divided by the number of {side} morphemes; {short}",
                _MIBM1,
                "log10 per morpheme",
                partial(_ibm1_per_morpheme, side=side),
            ),
        )


def _of_counts() -> Iterator[tuple[str, Definition]]:
    for side in SIDES:
        yield (
            f"morphemes_{side}_per_word",
            Definition(
                f"{side} morphemes / tokens; NaN for an empty text",
                _OWN,
                "ratio",
                partial(_per_word, side=side),
            ),
        )


DEFINITIONS: Final[Mapping[str, Definition]] = dict([*_of_models(), *_of_lexicons(), *_of_counts()])
