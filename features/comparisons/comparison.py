"""Compares a text with a second one that should say the same, such as a back-translation."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, rows_of
from features.comparisons.phrase_decoder import decode
from features.core.columns import Column, block, features_of, without_empty
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.edits.ngram_matches import matched_ngrams, ngram_counts, segment_counts
from features.edits.ter import common_ids, ter
from features.resources.language_model import LanguageModel
from features.resources.phrase_table import BackPhraseTable
from features.text.tokens import Tokens, ratio

WORD_ORDER = 4  # of BLEU (Papineni et al. 2002)
CHARACTER_ORDER = 6  # of chrF (Popovic 2015)
BETA = 2.0

_SDLLW = "SDL Language Weaver at WMT12, LF10"
_DCU = "DCU-SYMC at WMT12, section 2.1"
_SORICUT = "Soricut and Narsale 2012, section 3.2 (pseudo-reference-based features: there together, as BLEU)"
_POPOVIC = "Popovic 2015 (chrF), section 2; beta 2: Popovic 2016"
_OWN = "this project: what one text has and the second lacks"
_PENALISED = "Soricut and Narsale 2012, section 3.2, equation 3; Papineni et al. 2002"
_EDITS = f"{_DCU} (there of back-translations)"
# Who describes a measure of back-translations, where it is not who describes it of pseudo-references.
_OF_BACK_TRANSLATIONS = {
    _SDLLW: f"{_DCU}; SJTU at WMT12, section 3.2",
    _EDITS: _DCU,
    _SORICUT: f"{_DCU} (there together, as BLEU)",
    _PENALISED: f"{_DCU}; SJTU at WMT12, section 3.2; Papineni et al. 2002",
}


@dataclass(frozen=True, eq=False)
class TextComparison:
    """Two columns of lower-cased tokens: `text` is examined, `other_tokens` plays the reference."""

    text: Tokens
    other_tokens: Tokens

    @cached_property
    def ids(self) -> list[NDArray[np.int32]]:
        return common_ids(self.text, self.other_tokens)

    @cached_property
    def matched(self) -> FloatArray:
        """N-grams (n, 4) of the text that the other has, each as often as the other has it."""
        return _matches(
            (self.ids[0], self.text.offsets), (self.ids[1], self.other_tokens.offsets), WORD_ORDER
        )

    @cached_property
    def precision(self) -> FloatArray:
        return ratio(self.matched, ngram_counts(self.text.lengths, WORD_ORDER))

    @cached_property
    def recall(self) -> FloatArray:
        return ratio(self.matched, ngram_counts(self.other_tokens.lengths, WORD_ORDER))

    @cached_property
    def lines(self) -> list[list[str]]:
        return [
            [" ".join(side.words(i)) for i in range(len(side))] for side in (self.text, self.other_tokens)
        ]

    @property
    def bleu(self) -> FloatArray:
        return smoothed_precision(self.matched, ngram_counts(self.text.lengths, WORD_ORDER))

    @property
    def brevity_penalty(self) -> FloatArray:
        """min(1, exp(1 - tokens of the other / tokens of the text)) (n,); NaN if the text is empty."""
        return np.exp(np.minimum(0.0, 1 - ratio(self.other_tokens.lengths, self.text.lengths)))

    @property
    def chrf(self) -> FloatArray:
        """F-score (n,) over the character n-gram orders that both sides have; 0 without matches."""
        sides = [_characters(side) for side in (self.text, self.other_tokens)]
        matched = _matches(sides[0], sides[1], CHARACTER_ORDER)
        left_text, right = (ngram_counts(np.diff(offsets), CHARACTER_ORDER) for _, offsets in sides)
        both = (left_text > 0) & (right > 0)
        orders = both.sum(axis=1)
        precision = ratio(np.where(both, ratio(matched, left_text), 0).sum(axis=1), orders)
        recall = ratio(np.where(both, ratio(matched, right), 0).sum(axis=1), orders)
        score = ratio((1 + BETA**2) * precision * recall, BETA**2 * precision + recall)
        return np.where(precision + recall > 0, score, 0.0)

    @cached_property
    def word_edits(self) -> FloatArray:
        sides = (self.text, self.other_tokens)
        left_text, right = (
            [line.tolist() for line in np.split(ids, side.offsets[1:-1])] if len(side) else []
            for ids, side in zip(self.ids, sides, strict=True)
        )
        return _edits(left_text, right)

    @cached_property
    def character_edits(self) -> FloatArray:
        return _edits(*self.lines)

    @property
    def character_distance(self) -> FloatArray:
        lengths = [np.array([len(line) for line in side], np.int64) for side in self.lines]
        return ratio(self.character_edits, np.maximum(*lengths))


def smoothed_precision(matched: FloatArray, total: NDArray[np.int64]) -> FloatArray:
    """Geometric mean (n,) of n-gram precisions, from counts (n, orders); NaN for an empty text.

    One is added to both counts of orders above 1 (Lin and Och 2004, "ORANGE"). Orders that the text is too
    short for do not count; 0 if no word matches.

    >>> smoothed_precision(np.array([[3.0, 1.0]]), np.array([[4, 3]])).round(4)
    array([0.6124])
    """
    added = (np.arange(matched.shape[1]) > 0).astype(np.float64)
    values = np.where(total > 0, ratio(matched + added, total + added), 1.0)
    with np.errstate(divide="ignore"):
        logs = np.log(values).sum(axis=1)
    orders = (total > 0).sum(axis=1)
    mean: FloatArray = np.exp(np.where(orders > 0, logs, np.nan) / np.maximum(orders, 1))
    return mean


def _matches(
    left_text: tuple[NDArray[np.int32], NDArray[np.int64]],
    right: tuple[NDArray[np.int32], NDArray[np.int64]],
    order: int,
) -> FloatArray:
    return segment_counts(matched_ngrams(left_text, [right], order), left_text[1])


def _characters(tokens: Tokens) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    points = np.frombuffer("".join(tokens.types).encode("utf-32-le", "surrogatepass"), np.int32)
    starts = np.cumsum([0, *map(len, tokens.types)], dtype=np.int64)
    ends, index = rows_of(starts, tokens.ids)
    return points[index], ends[tokens.offsets]


def _edits(
    left_text: Sequence[Sequence[int]] | Sequence[str], right: Sequence[Sequence[int]] | Sequence[str]
) -> FloatArray:
    from rapidfuzz.distance import Levenshtein

    return np.array([Levenshtein.distance(a, b) for a, b in zip(left_text, right, strict=True)], np.float64)


COLUMNS: tuple[Column[TextComparison], ...] = (
    Column("bleu",
        "geometric mean of the 1-4-gram precisions, smoothed by one from bigrams on, no brevity penalty",
        _SDLLW, "share", lambda c: c.bleu),
    Column("chrf", "F-score (beta 2) of character 1-6-grams, without blanks", _POPOVIC, "share",
        lambda c: c.chrf),
    Column("ter", "translation edit rate: word edits and block shifts per word of the second text", _EDITS,
        "edits per word", lambda c: ter(c.text, c.other_tokens).rates),
    Column("word_edits", "Levenshtein distance of words", _EDITS, "edits", lambda c: c.word_edits),
    Column("word_distance", "the same divided by the words of the longer text", _EDITS, "share",
        lambda c: ratio(c.word_edits, np.maximum(c.text.lengths, c.other_tokens.lengths))),
    Column("character_edits", "Levenshtein distance of characters", _EDITS, "edits",
        lambda c: c.character_edits),
    Column("character_distance", "the same divided by the characters of the longer text", _EDITS, "share",
        lambda c: c.character_distance),
    *(
        Column(f"precision_{n}",
            f"share of the text's {n}-grams that the second text has; NaN without {n}-grams", _SORICUT,
            "share", partial(lambda n, c: c.precision[:, n - 1], n))
        for n in range(1, WORD_ORDER + 1)
    ),
    *(
        Column(f"recall_{n}",
            f"share of the second text's {n}-grams that the text has; NaN without {n}-grams", _OWN, "share",
            partial(lambda n, c: c.recall[:, n - 1], n))
        for n in range(1, WORD_ORDER + 1)
    ),
    Column("words_only_in_text", "words that the second text lacks", _OWN, "tokens",
        lambda c: c.text.lengths - c.matched[:, 0]),
    Column("words_only_in_other", "words of the second text that the text lacks", _OWN, "tokens",
        lambda c: c.other_tokens.lengths - c.matched[:, 0]),
    Column("length_ratio", "tokens, text by second text", _OWN, "ratio",
        lambda c: ratio(c.text.lengths, c.other_tokens.lengths)),
)  # fmt: skip


# BLEU as WMT12's papers have it; `bleu` lacks the penalty, and models learned from it.
PENALISED: Final = Column[TextComparison]("bleu_penalised",
    "BLEU of the text: the geometric mean of the 1-4-gram precisions, smoothed by one from bigrams on, times "
    "the brevity penalty", _PENALISED, "share", lambda c: c.bleu * c.brevity_penalty)  # fmt: skip

# Hjerson prints this rate (Popovic 2011).
RATE: Final = Column[TextComparison]("word_error_rate",
    "Levenshtein distance of words per word of the second text", _EDITS, "edits per word",
    lambda c: ratio(c.word_edits, c.other_tokens.lengths))  # fmt: skip


@dataclass(frozen=True)
class SecondTranslation(Extractor):
    """Compares one side with the column named like the extractor, lower-cased; NaN if a text is empty."""

    column: ClassVar[str]
    compared: ClassVar[str]  # what is compared with what, for the descriptions

    brevity_penalty: bool = False
    word_error_rate: bool = False

    @property
    def columns(self) -> list[Column[TextComparison]]:
        chosen = [*COLUMNS, *[PENALISED] * self.brevity_penalty, *[RATE] * self.word_error_rate]
        columns = [column.under(self.column, self.compared) for column in chosen]
        if self.column != "back_translation":
            return columns
        return [replace(c, origin=_OF_BACK_TRANSLATIONS.get(c.origin, c.origin)) for c in columns]

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(self.columns)

    def requires(self) -> tuple[str, ...]:
        return (self.column,)

    @abstractmethod
    def texts(self, segments: Segments) -> tuple[Tokens, Tokens]:
        """The text examined and the second one."""

    def extract(self, segments: Segments) -> FloatArray:
        text, other_tokens = self.texts(segments)
        compared = TextComparison(text.lower(), other_tokens.lower())
        return without_empty(block(self.columns, compared), text, other_tokens)


VARIANTS: Final[Sequence[Mapping[str, Any]]] = ({"engine": "decoder"},)


class WithBackTranslation(Extractor):
    """Takes the back-translations that the segments have."""

    def requires(self) -> tuple[str, ...]:
        return ("back_translation",)

    def back(self, segments: Segments) -> Tokens:
        return segments.back_translation_tokens


@dataclass(frozen=True, eq=False, kw_only=True)
class ByDecoder(WithBackTranslation):
    """Makes them by our own decoder, with the sides of the corpus exchanged."""

    back_phrase_table: BackPhraseTable
    source_lm: LanguageModel
    engine: Literal["decoder"] = "decoder"

    @property
    def features(self) -> Sequence[Feature]:
        return [
            replace(each, name=f"decoder_{each.name}", description=f"{each.description} (by our own decoder)")
            for each in super().features  # type: ignore[safe-super]  # of the family that this stands before
        ]

    def requires(self) -> tuple[str, ...]:
        return ()

    def back(self, segments: Segments) -> Tokens:
        return decode(segments.target_tokens, self.back_phrase_table, self.source_lm).tokens
