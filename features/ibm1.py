"""IBM Model 1: scores both ways, word confidences, translations per word, entropy."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.core.columns import Column, ColumnExtractor, ColumnGroups, without_empty
from features.core.segments import Segments
from features.decoder_output.statistics import ascending, quantile
from features.resources.lexicon import FLOOR, Lexicon, WordScores
from features.resources.ngrams import NgramCounts
from features.text.tokens import Tokens, ratio, segment_max, segment_mean, segment_min, segment_sum

THRESHOLDS = (0.01, 0.05, 0.1, 0.2, 0.5)
_DFKI = "DFKI (Popovic) at WMT12, section 2.1, equations 2-3"
_LIMSI = "LIMSI at WMT12, appendix A"
_LORIA = "LORIA at WMT12, section 4"
_PRHLT = "PRHLT-UPV at WMT12, sections 2.2-2.3 (word confidence of Ueffing et al. 2003)"
_UU = "Uppsala at WMT12, section 2.1"
_QUEST = "QuEst features 1016-1045; baseline 1022 and 1036"
_OWN = "this project: spread of the IBM Model 1 word confidences"
_OF_ONE_SIDE = {_UU: "source", _QUEST: "source", _LORIA: "target", _PRHLT: "target"}  # in the papers


@dataclass(frozen=True, eq=False)
class IBM1Features(ColumnExtractor):
    """IBM Model 1 scores and lexicon statistics, for both directions and sides.

    Everything is NaN if the source or the target has no tokens. Word confidence is the largest translation
    probability that a word has from any word of the other side, or NULL.
    """

    plain: ClassVar[str] = "whether the words translate each other"

    lexicon_source_to_target: Lexicon
    lexicon_target_to_source: Lexicon
    source_ngrams: NgramCounts
    target_ngrams: NgramCounts

    def column_groups(self) -> ColumnGroups:
        return [(columns, partial(self._side, side=side)) for side, columns in COLUMNS.items()]

    def _side(self, segments: Segments, side: str) -> "_Side":
        source, target = segments.source_tokens, segments.target_tokens
        forward, backward = self.lexicon_source_to_target, self.lexicon_target_to_source
        if side == "source":
            return _Side(source, target, backward, forward, self.source_ngrams)
        return _Side(target, source, forward, backward, self.target_ngrams)

    def extract(self, segments: Segments) -> FloatArray:
        return without_empty(super().extract(segments), segments.source_tokens, segments.target_tokens)


@dataclass(frozen=True, eq=False)
class _Side:
    """Words, those of the other side, the lexicons that generate the words and translate them, counts."""

    words: Tokens
    condition: Tokens
    generating: Lexicon
    translating: Lexicon
    ngrams: NgramCounts

    @cached_property
    def scores(self) -> WordScores:
        return self.generating.score(self.condition, self.words)

    @cached_property
    def log10(self) -> FloatArray:
        return self.scores.log10()

    @cached_property
    def ordered(self) -> FloatArray:
        return ascending(self.scores.maximum, self.words.offsets)

    @cached_property
    def frequency(self) -> NDArray[np.int64]:
        return self.ngrams.counts(self.words, 1)[0]

    @cached_property
    def entropy(self) -> tuple[FloatArray, FloatArray]:
        values = self.translating.entropies[self.words.lower().ids_in(self.translating.source)]
        known = ~np.isnan(values)
        return (
            segment_sum(np.where(known, values, 0.0), self.words.offsets),
            segment_sum(known, self.words.offsets),
        )

    def mean(self, values: NDArray[np.generic]) -> FloatArray:
        return segment_mean(values, self.words.offsets)

    def translations(self, threshold: float, table: str = "translating") -> NDArray[np.int64]:
        lowered = self.words.lower()
        if table == "translating":
            lexicon = self.translating
            return lexicon.translations_above(threshold)[lowered.ids_in(lexicon.source)]
        lexicon = self.generating
        return lexicon.translations_above(threshold, side="target")[lowered.ids_in(lexicon.target)]


def _share_in_quartile(batch: _Side, quartile: int) -> FloatArray:
    cuts = batch.generating.quartiles
    if not cuts:
        return np.full(len(batch.words), np.nan)
    within = np.searchsorted(cuts, batch.scores.maximum, side="left") == quartile - 1
    return batch.mean(within)


def _columns(side: str, condition: str) -> Iterator[Column[_Side]]:
    yield Column("log10", f"log10 p({side} | {condition})", _DFKI, "log10", lambda g: g.log10)
    yield Column(f"log10_per_{side}_token", f"log10 p({side} | {condition}) / {side} tokens", _LIMSI,
        "log10 per token", lambda g: ratio(g.log10, g.words.lengths))  # fmt: skip
    yield Column(f"log10_per_{condition}_token", f"log10 p({side} | {condition}) / {condition} tokens",
        _LIMSI, "log10 per token", lambda g: ratio(g.log10, g.condition.lengths))  # fmt: skip
    yield Column("mean_probability", "mean over the words of 1 / (l + 1) sum_i t(word | word_i)", _LORIA,
        "probability", lambda g: g.mean(g.scores.probability))  # fmt: skip
    yield Column("confidence", "mean word confidence", _PRHLT, "probability",
        lambda g: g.mean(g.scores.maximum))  # fmt: skip
    yield Column("confidence_lowest", "log10 of the lowest word confidence", _OWN, "log10",
        lambda g: segment_min(np.log10(g.scores.maximum), g.words.offsets))  # fmt: skip
    yield Column("confidence_highest", "highest word confidence", _OWN, "probability",
        lambda g: segment_max(g.scores.maximum, g.words.offsets))  # fmt: skip
    for name, q in (("quartile1", 0.25), ("median", 0.5), ("quartile3", 0.75)):
        yield Column(f"confidence_{name}", f"{name} of the word confidences", _OWN, "probability",
            partial(lambda q, g: quantile(g.ordered, g.words.offsets, q), q))  # fmt: skip
    for quartile in (1, 2, 3, 4):
        yield Column(f"confidence_share_{quartile}",
            f"share of words whose confidence is in quartile {quartile} of the corpus's; NaN if the "
            "lexicon was read from a file", _PRHLT, "share",
            partial(_share_in_quartile, quartile=quartile))  # fmt: skip
    yield Column("unexplained", "share of words that no word of the other side translates to", _OWN, "share",
        lambda g: g.mean(g.scores.maximum <= FLOOR))  # fmt: skip
    for threshold in THRESHOLDS:
        yield from _translation_columns(condition, threshold)
    yield Column("entropy_sum",
        "sum of the translation entropies of the known words; NaN without known words", _UU, "bits",
        lambda g: np.where(g.entropy[1] > 0, g.entropy[0], np.nan))  # fmt: skip
    yield Column("entropy", "mean translation entropy of the known words; NaN without known words", _UU,
        "bits per word", lambda g: ratio(*g.entropy))  # fmt: skip


def _translation_columns(condition: str, threshold: float) -> Iterator[Column[_Side]]:
    what = f"{condition} words with t({condition} word | word) > {threshold}"
    stem, unit = f"translations_{threshold}", "words"
    yield Column(stem, f"mean number of {what}", _QUEST, unit, lambda g: g.mean(g.translations(threshold)))
    yield Column(f"{stem}_by_frequency",
        f"mean number of {what}, weighted by corpus frequency; NaN if no word is in the corpus", _UU, unit,
        lambda g: ratio(segment_sum(g.translations(threshold) * g.frequency, g.words.offsets),
                        segment_sum(g.frequency, g.words.offsets)))  # fmt: skip
    yield Column(f"{stem}_by_rarity", f"mean of the number of {what}, divided by corpus frequency", _QUEST,
        "words per occurrence",
        lambda g: g.mean(g.translations(threshold) / np.maximum(g.frequency, 1)))  # fmt: skip
    yield Column(f"generators_{threshold}",
        f"mean number of {condition} words with t(word | {condition} word) > {threshold}", _QUEST, unit,
        lambda g: g.mean(g.translations(threshold, "generating")))  # fmt: skip


def _credit(origin: str, side: str) -> str:
    described = _OF_ONE_SIDE.get(origin, side)
    return origin if described == side else f"{origin}, there of the {described}"


COLUMNS = {
    side: tuple(
        replace(column.under(f"ibm1_{side}", side), origin=_credit(column.origin, side))
        for column in _columns(side, condition)
    )
    for side, condition in (("source", "target"), ("target", "source"))
}
