"""METEOR and NIST of the back-translation, with the source as its reference."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.comparisons.comparison import VARIANTS, ByDecoder, WithBackTranslation
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.edits.meteor import FUNCTION_WORDS, Words, meteor
from features.edits.ngram_matches import (
    ORDER,
    matched_ngrams,
    ngram_counts,
    nist,
    remaining_lengths,
    segment_counts,
)
from features.edits.ter import common_ids
from features.resources.ngrams import NgramCounts
from features.text.stems import english, senses_of, stemmed
from features.text.tokens import Tokens

_METEOR: Final = (
    "SJTU at WMT12, section 3.2 (inverted automatic scores); Denkowski and Lavie 2011 (Meteor 1.3), section 2"
)
_NIST: Final = (
    "Doddington 2002, equations 2 and 3 (there of translations; as an inverted score: this project)"
)
_BITS: Final = "NIST of the back-translation: mean information of its 1-5-grams that the source has, times a"


@dataclass(frozen=True)
class InvertedScores(WithBackTranslation):
    """METEOR and NIST of the lower-cased back-translation; `back_translation` has BLEU and TER.

    METEOR matches equal words and equal stems (Snowball's, or the first five letters in languages without a
    stemmer), with the English parameters of version 1.3; function words are those above 1 in 1,000 tokens of
    the corpus. NIST weights an n-gram by its information in the source side of the corpus.

    synonyms  METEOR also matches WordNet synonyms (Debian's `wordnet-base`); English sources only
    engine    `decoder`: our own decoder translates back, as in `back_translation`

    NaN if the source or the back-translation is empty. Raises InputError for `synonyms` without WordNet,
    or in another language.
    """

    plain: ClassVar[str] = "how well the translation leads back to the source"
    variants: ClassVar[Sequence[Mapping[str, Any]]] = VARIANTS

    source_ngrams5: NgramCounts
    synonyms: bool = False

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> type[Extractor]:
        return _ByDecoder if "engine" in settings else cls

    @property
    def features(self) -> Sequence[Feature]:
        stages = "exact, stem and synonym" if self.synonyms else "exact and stem"
        name = "inverted_meteor_synonyms" if self.synonyms else "inverted_meteor"
        return [
            Feature(name, f"METEOR of the back-translation, {stages}", _METEOR, "share"),
            Feature("inverted_nist", f"{_BITS} brevity penalty", _NIST, "bits"),
        ]

    def content_fingerprint(self) -> str:
        return english().fingerprint if self.synonyms else ""

    def extract(self, segments: Segments) -> FloatArray:
        back, source = self.back(segments).lower(), segments.source_tokens.lower()
        values = np.full((len(segments), 2), np.nan)
        filled = np.flatnonzero((back.lengths > 0) & (source.lengths > 0))
        language = segments.source_tokenizer.language
        sides = list(self._words(back, language)), list(self._words(source, language))
        values[filled, 0] = [meteor(sides[0][i], sides[1][i]) for i in filled]
        values[filled, 1] = self._nist(back, source)[filled]
        return values

    def _words(self, tokens: Tokens, language: str) -> Iterator[Words]:
        counts, _ = self.source_ngrams5.counts(tokens, 1)
        functional = counts > FUNCTION_WORDS * self.source_ngrams5.total(1)
        stems = stemmed(tokens, language)
        senses = senses_of(tokens.types, language) if self.synonyms else None
        for i in range(len(tokens)):
            here = slice(tokens.offsets[i], tokens.offsets[i + 1])
            own = senses and [senses[k] for k in tokens.ids[here].tolist()]
            yield Words(tokens.words(i), stems.words(i), functional[here].tolist(), own)

    def _nist(self, back: Tokens, source: Tokens) -> FloatArray:
        ids = common_ids(back, source)
        matched = matched_ngrams((ids[0], back.offsets), [(ids[1], source.offsets)], ORDER)
        before = np.full(len(back.ids), self.source_ngrams5.total(1))
        information = np.zeros((ORDER, len(back.ids)))
        for n, (found, _) in enumerate(self.source_ngrams5.counts_by_order(back, ORDER)):
            starts = remaining_lengths(back) > n
            counts = np.zeros(len(back.ids), np.int64)
            counts[starts] = found
            information[n, starts] = np.log2((before[starts] + 1) / (counts[starts] + 1))
            before = counts
        bits, orders = segment_counts(matched * information, back.offsets), ngram_counts(back.lengths, ORDER)
        return nist(bits, orders, back.lengths.astype(np.float64), source.lengths.astype(np.float64))


@dataclass(frozen=True)
class _ByDecoder(ByDecoder, InvertedScores):
    pass
