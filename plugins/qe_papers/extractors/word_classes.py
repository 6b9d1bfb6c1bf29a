"""Words by lists, spelling and case: deictic and function words, misspellings, capitals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.columns import Column
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.resources.word_lexicon import StopWords
from features.text.annotation import Annotated
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens, ratio, segment_mean, segment_sum
from qe_papers.families import AnnotationFamily, BothSides, ColumnFamily, Measure
from qe_papers.resources.truecaser import Truecaser, begins

_WLV: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1 (the lists are this project's)"

# First and second person, demonstratives, places and times, as single tokens.
_ENGLISH: Final = """
i me my mine myself we us our ours ourselves you your yours yourself yourselves
this that these those here there hither thither now then today tonight tomorrow yesterday ago
nowadays currently presently soon lately recently
"""
_SPANISH: Final = """
yo me mí conmigo mi mis mío mía míos mías nosotros nosotras nos nuestro nuestra nuestros nuestras
tú te ti contigo tu tus tuyo tuya tuyos tuyas vos vosotros vosotras os
vuestro vuestra vuestros vuestras usted ustedes
este esta esto estos estas éste ésta éstos éstas ese esa eso esos esas ése ésa ésos ésas
aquel aquella aquello aquellos aquellas aquél aquélla aquéllos aquéllas
aquí acá ahí allí allá acullá ahora entonces hoy ayer anteayer anoche mañana actualmente recientemente
"""
WORDS: Final[Mapping[str, frozenset[str]]] = {
    "en": frozenset(_ENGLISH.split()),
    "es": frozenset(_SPANISH.split()),
}


@dataclass(frozen=True)
class Deictics(ColumnFamily):
    """Deictic words of both sides by lists: number, share, and source minus target.

    Shares are NaN for a text without tokens. Raises InputError for a language without a list.
    """

    plain: ClassVar[str] = "words such as this, here and now"

    @property
    def columns(self) -> Sequence[Column[BothSides[FloatArray]]]:
        return (
            Column("deictics_source", "source: deictic words", _WLV, "words", lambda m: m.source[0]),
            Column("deictics_target", "target: deictic words", _WLV, "words", lambda m: m.target[0]),
            Column("deictics_difference", "deictic words, source less target", _WLV, "words",
                   lambda m: m.source[0] - m.target[0]),
            Column("deictics_source_share", "source: share of deictic words", _WLV, "share",
                   lambda m: m.source[1]),
            Column("deictics_target_share", "target: share of deictic words", _WLV, "share",
                   lambda m: m.target[1]),
        )  # fmt: skip

    def prepared(self, segments: Segments) -> BothSides[FloatArray]:
        source = _counted(segments.source_tokens, segments.source_tokenizer)
        return BothSides(source, _counted(segments.target_tokens, segments.target_tokenizer))


def _counted(tokens: Tokens, tokenizer: Tokenizer) -> tuple[FloatArray, FloatArray]:
    if tokenizer.language not in WORDS:
        raise InputError(
            f"no list of deictic words for the language '{tokenizer.language}'",
            location="extractor 'deictics'",
            remedy=f"known: {', '.join(WORDS)}",
        )
    words = WORDS[tokenizer.language]
    by_type = np.array([word.lower() in words for word in tokens.types], np.float64)
    deictic = by_type[tokens.ids] if len(by_type) else np.empty(0)
    return segment_sum(deictic, tokens.offsets), segment_mean(deictic, tokens.offsets)


_LIMSI: Final = "Wisniewski et al. 2012 (LIMSI), appendix A"


@dataclass(frozen=True)
class FunctionWords(Extractor):
    """Shares of tokens that are function words, lower-cased; NaN for a text without tokens.

    The words come from a list (`resources: {read: {source_stop_words: FILE, ...}}`), or are the most frequent
    words of the corpus.
    """

    plain: ClassVar[str] = "how many small words like `of` and `the` the {text} has"

    source_stop_words: StopWords
    target_stop_words: StopWords

    @property
    def features(self) -> Sequence[Feature]:
        what = "share of tokens that are function words"
        sides = ("source", "target")
        return [Feature(f"function_words_{side}_share", f"{side}: {what}", _LIMSI, "share") for side in sides]

    def extract(self, segments: Segments) -> FloatArray:
        source = _share(segments.source_tokens, self.source_stop_words)
        return np.column_stack([source, _share(segments.target_tokens, self.target_stop_words)])


def _share(tokens: Tokens, listed: StopWords) -> FloatArray:
    lowered, words = tokens.lower(), frozenset(listed.words)
    by_type = np.fromiter((word in words for word in lowered.types), bool, len(lowered.types))
    return segment_mean(by_type[lowered.ids], lowered.offsets)


_WLV_SPELLING: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1 (there JMySpell)"


Unknown = NDArray[np.bool_]  # mask over the counted words of a text


def _unknown_share(unknown: Unknown) -> float:
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
        Measure[Unknown](
            "words", "words that the speller does not know", _WLV_SPELLING, "words", np.count_nonzero
        ),
        Measure[Unknown](
            "share",
            "share of words that the speller does not know",
            _WLV_SPELLING,
            "share",
            _unknown_share,
        ),
    )

    def read(self, annotated: Annotated) -> list[Unknown]:
        unknown = []
        for i, (low, high) in enumerate(pairwise(annotated.tokens.offsets.tolist())):
            counted = np.ones(high - low, bool)
            for first, last, _ in () if self.entities else annotated.entities[i]:
                counted[first:last] = False
            unknown.append(annotated.misspelled[low:high][counted])
        return unknown


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
