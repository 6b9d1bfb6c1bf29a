"""Which phrases of source and target the phrase table knows, and which of them translate each other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from features.basics.array_types import FloatArray
from features.comparisons.phrase_matches import LONGEST, Matches, matching_block, matching_share
from features.core.columns import Column, features_of
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.resources.phrase_table import PhraseTable
from features.text.tokens import ratio, segment_mean, segment_sum

_MEHDAD = "Mehdad et al. 2012 (adequacy, WMT12), section 3: phrase table matching"
_DCU = "DCU-SYMC at WMT12, section 2.1"
_OWN = "this project: cover of the segment by matching phrase pairs"
_KNOWN = "this project: n-grams that the phrase table knows"


@dataclass(frozen=True, eq=False)
class PhraseTableFeatures(Extractor):
    """Shares of known and of matching n-grams, and segmentations into as few phrases as possible.

    An n-gram is known where it is a phrase of its side of the table, and matches where one of its
    translations in the table occurs in the other side's text. Here it is tokens; of the other levels of
    Mehdad et al. are `lemma_phrases`, `stem_phrases`, `name_phrases` and `entity_phrases`. Everything is NaN
    if the source or the target has no tokens; shares of n-grams even if the text is shorter than n.
    """

    phrase_table: PhraseTable

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(COLUMNS)

    def extract(self, segments: Segments) -> FloatArray:
        matches = Matches(self.phrase_table, segments.source_tokens, segments.target_tokens)
        return matching_block(COLUMNS, matches)


def _known_share(given: Matches, side: str, n: int) -> FloatArray:
    own = given.sides[side]
    return own.share(own.known, n)


def _matching_of_known(given: Matches, side: str) -> FloatArray:
    own = given.sides[side]
    matching = segment_sum(own.matching.sum(axis=1), own.tokens.offsets)
    return ratio(matching, segment_sum(own.known.sum(axis=1), own.tokens.offsets))


def _phrase_length(given: Matches, side: str) -> FloatArray:
    own = given.sides[side]
    return ratio(own.tokens.lengths, own.known_phrases)


def _longest_match(given: Matches, side: str) -> FloatArray:
    """Mean over the tokens of the longest matching phrase that starts there."""
    own = given.sides[side]
    longest = (own.matching * np.arange(1, LONGEST + 1)).max(axis=1)
    return segment_mean(longest, own.tokens.offsets)


def _column(
    name: str, description: str, origin: str, unit: str, function: Callable[[Matches], FloatArray]
) -> Column[Matches]:
    return Column(f"phrases_{name}", description, origin, unit, function)


def _columns_of_side(side: str) -> list[Column[Matches]]:
    other = "target" if side == "source" else "source"
    return [
        *(
            _column(
                f"{side}_matching_{n}",
                f"share of {side} {n}-grams with a translation in the {other}; NaN without {n}-grams",
                _MEHDAD, "share", partial(matching_share, side=side, n=n),
            )
            for n in range(1, LONGEST + 1)
        ),
        *(
            _column(
                f"{side}_known_{n}",
                f"share of {side} {n}-grams that the phrase table knows; NaN without {n}-grams",
                _KNOWN, "share", partial(_known_share, side=side, n=n),
            )
            for n in range(1, LONGEST + 1)
        ),
        _column(
            f"{side}_matching_of_known",
            f"matching / known {side} n-grams of all lengths; NaN if none is known", _OWN, "share",
            partial(_matching_of_known, side=side),
        ),
        _column(
            f"{side}_count", f"fewest known phrases that make up the {side}; an unknown word is one", _DCU,
            "phrases", lambda g: g.sides[side].known_phrases,
        ),
        _column(
            f"{side}_length", f"{side} tokens / fewest known phrases", _DCU, "tokens",
            partial(_phrase_length, side=side),
        ),
        _column(
            f"{side}_cover_count", f"fewest matching phrases that cover the {side} as far as possible, words "
            "outside included", _OWN, "phrases", lambda g: g.sides[side].cover[0],
        ),
        _column(
            f"{side}_uncovered", f"share of {side} tokens in no matching phrase of that cover", _OWN, "share",
            lambda g: ratio(g.sides[side].cover[1], g.sides[side].tokens.lengths),
        ),
        _column(
            f"{side}_cover_log", f"log p({other} phrase | {side} phrase) of that cover / {side} tokens", _OWN,
            "natural logarithm per token",
            lambda g: ratio(g.sides[side].cover[2], g.sides[side].tokens.lengths),
        ),
        _column(
            f"{side}_longest_match", f"mean length of the longest matching phrase from each {side} token",
            _OWN, "tokens", partial(_longest_match, side=side),
        ),
    ]  # fmt: skip


COLUMNS = (
    *_columns_of_side("source"),
    *_columns_of_side("target"),
    _column(
        "length_ratio",
        "mean source phrase length / mean target phrase length",
        _DCU,
        "ratio",
        lambda g: ratio(_phrase_length(g, "source"), _phrase_length(g, "target")),
    ),
)
