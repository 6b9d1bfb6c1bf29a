"""Words by lists, spelling and case: deictic and function words, misspellings, capitals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.resources.word_lexicon import StopWords
from features.text.annotation import Annotated
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens, ratio, segment_mean, segment_sum
from qe_papers.families import SIDES, AnnotationFamily, number_and_share
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
class Deictics(Extractor):
    """Deictic words of both sides by lists: number, share, and source minus target.

    Shares are NaN for a text without tokens. Raises InputError for a language without a list.
    """

    plain: ClassVar[str] = "words such as this, here and now"

    @property
    def features(self) -> Sequence[Feature]:
        return [
            *(Feature(f"deictics_{side}", f"{side}: deictic words", _WLV, "words") for side in SIDES),
            Feature("deictics_difference", "deictic words, source less target", _WLV, "words"),
            *(Feature(f"deictics_{s}_share", f"{s}: share of deictic words", _WLV, "share") for s in SIDES),
        ]

    def extract(self, segments: Segments) -> FloatArray:
        (source, share), (target, other_share) = (
            _counted(segments.source_tokens, segments.source_tokenizer),
            _counted(segments.target_tokens, segments.target_tokenizer),
        )
        return np.column_stack([source, target, source - target, share, other_share])


def _counted(tokens: Tokens, tokenizer: Tokenizer) -> tuple[FloatArray, FloatArray]:
    if tokenizer.language not in WORDS:
        raise InputError(
            f"no list of deictic words for the language '{tokenizer.language}'",
            location="extractor 'deictics'",
            remedy=f"known: {', '.join(WORDS)}",
        )
    words = WORDS[tokenizer.language]
    deictic = np.array([word.lower() in words for word in tokens.types], bool)[tokens.ids]
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
        return [Feature(f"function_words_{side}_share", f"{side}: {what}", _LIMSI, "share") for side in SIDES]

    def extract(self, segments: Segments) -> FloatArray:
        source = _share(segments.source_tokens, self.source_stop_words)
        return np.column_stack([source, _share(segments.target_tokens, self.target_stop_words)])


def _share(tokens: Tokens, listed: StopWords) -> FloatArray:
    lowered, words = tokens.lower(), frozenset(listed.words)
    by_type = np.fromiter((word in words for word in lowered.types), bool, len(lowered.types))
    return segment_mean(by_type[lowered.ids], lowered.offsets)


_WLV_SPELLING: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1 (there JMySpell)"


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
    measures = tuple(
        replace(measure, name=name)
        for name, measure in zip(
            ("words", "share"),
            number_and_share("", "words that the speller does not know", _WLV_SPELLING, list[bool]),
            strict=True,
        )
    )

    def read(self, annotated: Annotated) -> list[list[bool]]:
        unknown = []
        for i, (low, high) in enumerate(pairwise(annotated.tokens.offsets.tolist())):
            counted = np.ones(high - low, bool)
            for first, last, _ in () if self.entities else annotated.entities[i]:
                counted[first:last] = False
            unknown.append(annotated.misspelled[low:high][counted].tolist())
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
        features = list[Feature]()
        for side in SIDES:
            unusual, stem = f"{side} tokens of unusual case", f"casing_{side}"
            share, names = f"share of {unusual}; NaN for an empty text", f"{side} words usually capitalised"
            features.append(Feature(f"{stem}_unusual", unusual, _NOTES, "tokens"))
            features.append(Feature(f"{stem}_unusual_share", share, _NOTES, "share"))
            features.append(Feature(f"{stem}_names", names, _UEDIN, "tokens"))
        difference = "usually capitalised words, target minus source"
        return [*features, Feature("casing_names_difference", difference, _UEDIN, "tokens")]

    def extract(self, segments: Segments) -> FloatArray:
        source = _columns(self.source_truecaser, segments.source_tokens)
        target = _columns(self.target_truecaser, segments.target_tokens)
        return np.hstack([source, target, target[:, 2:] - source[:, 2:]])


def _columns(truecaser: Truecaser, tokens: Tokens) -> FloatArray:
    usual = truecaser.usual(tokens.types)
    pairs = zip(tokens.types, usual, strict=True)
    differs = np.array([form is not None and form != word for word, form in pairs], bool)
    named = np.array([form is not None and form != form.lower() for form in usual], bool)
    unusual = segment_sum(differs[tokens.ids] & ~begins(tokens), tokens.offsets)
    names = segment_sum(named[tokens.ids], tokens.offsets)
    return np.column_stack([unusual, ratio(unusual, tokens.lengths), names])
