"""The 17 baseline features of the WMT 2012 quality estimation task."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.core.columns import Column, ColumnExtractor, ColumnGroups
from features.core.segments import Segments
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.ngrams import QUEST_MINIMUM, NgramCounts
from features.text.tokens import Tokens, ratio, segment_mean, segment_sum

ORIGIN: Final = "Callison-Burch et al. 2012 (Findings of WMT12), section 6.3; QuEst feature {}"
MARKS: Final = ".,;:!?¿¡،؛؟"


@dataclass(frozen=True, eq=False)
class Baseline17(ColumnExtractor):
    """The official baseline features, computed from raw text and own resources.

    compat  `none`: as the features are described. `quest`: as the original program counts, where that
            differs:
            1036 looks words up in natural case, so that words with a capital count 0;
            1046-1057 take n-grams seen once or twice for unseen, and are 0 (not NaN) if there is none;
            1058 is the share of distinct words (as written), and seen means at least three times;
            1074 and 1075 ignore full stops and question marks, and count for every other mark the pieces
            that it cuts the text into.
            For values comparable with the official ones tokenize with `moses-2012`.

    Words are looked up lower-cased, unless said otherwise. Quartiles part the n-gram types that the corpus
    has three times or more (QuEst's rule, which the description leaves open); they are NaN if there is none.
    A text without tokens has NaN in everything that is divided by its length. Raises InputError for an
    unknown `compat`.
    """

    plain: ClassVar[str] = "how frequent the words of the source are"

    source_lm: LanguageModel
    target_lm: LanguageModel
    source_ngrams: NgramCounts
    lexicon_source_to_target: Lexicon
    compat: Literal["none", "quest"] = "none"

    def column_groups(self) -> ColumnGroups:
        return [(COLUMNS, self._batch)]

    def _batch(self, segments: Segments) -> "_Batch":
        return _Batch(self, segments.source_tokens, segments.target_tokens, self.compat == "quest")


@dataclass(frozen=True, eq=False)
class _Batch:
    resources: Baseline17
    source: Tokens
    target: Tokens
    quest: bool

    @cached_property
    def word_counts(self) -> NDArray[np.int64]:
        return self.resources.source_ngrams.counts(self.source, 1)[0]

    @property
    def min_count(self) -> int:
        return QUEST_MINIMUM if self.quest else 1

    def translations(self, threshold: float) -> NDArray[np.int64]:
        lexicon = self.resources.lexicon_source_to_target
        return lexicon.translations_above(threshold)[self.source.lower().ids_in(lexicon.source)]


def _token_length(batch: _Batch) -> FloatArray:
    lengths = np.fromiter(map(len, batch.source.types), np.int64, len(batch.source.types))
    return segment_mean(lengths[batch.source.ids], batch.source.offsets)


def _occurrences(batch: _Batch) -> FloatArray:
    words = batch.target.lower()
    return ratio(words.lengths, segment_sum(first_in_text(words), words.offsets))


def _translations_by_rarity(batch: _Batch) -> FloatArray:
    counts = batch.word_counts
    weighted = batch.translations(0.01) / np.maximum(counts, 1)
    known = counts > 0
    if batch.quest:
        types = batch.source.types
        lower = np.fromiter((t == t.lower() for t in types), bool, len(types))
        known = known & lower[batch.source.ids]
    return segment_mean(np.where(known, weighted, 0.0), batch.source.offsets)


def _quartile_share(order: int, quartile: Literal[1, 4], batch: _Batch) -> FloatArray:
    ngrams = batch.resources.source_ngrams
    counts, offsets = ngrams.counts(batch.source, order)
    if ngrams.types(order).max(initial=0) < QUEST_MINIMUM:
        return np.full(len(offsets) - 1, np.nan)
    low, _, high = ngrams.quartile_cutoffs(order)
    inside = counts > high if quartile == 4 else (counts >= batch.min_count) & (counts <= low)
    share = segment_mean(inside, offsets)
    return np.nan_to_num(share) if batch.quest else share


def _seen_share(batch: _Batch) -> FloatArray:
    min_count = batch.word_counts >= batch.min_count
    if not batch.quest:
        return segment_mean(min_count, batch.source.offsets)
    first = first_in_text(batch.source)
    return ratio(
        segment_sum(min_count & first, batch.source.offsets), segment_sum(first, batch.source.offsets)
    )


def _marks(tokens: Tokens, quest: bool) -> FloatArray:
    if quest:
        texts = (" ".join(tokens.words(i)) for i in range(len(tokens)))
        return np.fromiter(map(quest_punctuation, texts), np.float64, len(tokens))
    is_mark = np.fromiter((not t.strip(MARKS) for t in tokens.types), bool, len(tokens.types))
    return segment_sum(is_mark[tokens.ids], tokens.offsets)


def quest_punctuation(text: str) -> int:
    """Punctuation marks as QuEst counts them: for each kind, Java's `text.split(mark).length`.

    That is one more than the marks, fewer if the text ends with them; `.` and `?` are taken for regular
    expressions and count 0.

    >>> quest_punctuation("a , b , c ."), quest_punctuation("a , b ,"), quest_punctuation("¿ a ?")
    (3, 2, 2)
    """
    pieces = 0
    for mark in MARKS:
        if mark not in ".?" and mark in text:
            pieces += len(text.rstrip(mark).split(mark)) if text.strip(mark) else 0
    return pieces


def first_in_text(tokens: Tokens) -> NDArray[np.bool_]:
    """Whether a token (n_tokens,) is the first of its type in its text.

    >>> first_in_text(Tokens.from_lists([["a", "b", "a"], ["a"]])).tolist()
    [True, True, False, True]
    """
    keys = tokens.text_index * len(tokens.types) + tokens.ids
    first = np.zeros(len(keys), bool)
    first[np.unique(keys, return_index=True)[1]] = True
    return first


def _column(
    name: str, description: str, unit: str, compute: Callable[[_Batch], FloatArray], plain: str = ""
) -> Column[_Batch]:
    return Column(name, description, ORIGIN.format(name[:4]), unit, compute, plain=plain)


def _share(number: int, order: int, quartile: Literal[1, 4]) -> Column[_Batch]:
    noun = {1: "unigrams", 2: "bigrams", 3: "trigrams"}[order]
    kind = "the lowest frequency quartile (but seen)" if quartile == 1 else "the highest frequency quartile"
    return _column(f"{number}_{noun}_quartile{quartile}",
        f"share of source {noun} in {kind} of the corpus; NaN without {noun}", "ratio",
        partial(_quartile_share, order, quartile))  # fmt: skip


COLUMNS: Final = (
    _column("1001_source_tokens", "tokens in the source", "tokens",
        lambda batch: batch.source.lengths.astype(np.float64), "words in the source {}"),
    _column("1002_target_tokens", "tokens in the target", "tokens",
        lambda batch: batch.target.lengths.astype(np.float64), "words in the translation {}"),
    _column("1006_source_token_length", "mean length of source tokens", "characters", _token_length,
        "letters in a word of the source {}"),
    _column("1009_source_lm", "log-probability of the source, end included", "log10",
        lambda batch: batch.resources.source_lm.log10_probability(batch.source, with_end=True),
        "how usual the wording of the source is"),
    _column("1012_target_lm", "log-probability of the target, end included", "log10",
        lambda batch: batch.resources.target_lm.log10_probability(batch.target, with_end=True),
        "how usual the wording of the translation is"),
    _column("1015_target_occurrences", "target tokens by distinct target words", "ratio", _occurrences,
        "times that the translation has each of its words {}"),
    _column("1022_translations",
        "mean number of translations per source token with IBM 1 probability above 0.2", "words",
        lambda batch: segment_mean(batch.translations(0.2), batch.source.offsets),
        "translations that a word of the source has {}"),
    _column("1036_translations_by_rarity",
        "the same above 0.01, each token divided by its occurrences in the corpus (0 if it has none)",
        "words per occurrence", _translations_by_rarity),
    _share(1046, 1, 1),
    _share(1049, 1, 4),
    _share(1050, 2, 1),
    _share(1053, 2, 4),
    _share(1054, 3, 1),
    _share(1057, 3, 4),
    _column("1058_seen_unigrams", "share of source tokens that the corpus has", "ratio", _seen_share),
    _column("1074_source_punctuation", "punctuation marks in the source", "tokens",
        lambda batch: _marks(batch.source, batch.quest), "punctuation marks in the source {}"),
    _column("1075_target_punctuation", "punctuation marks in the target", "tokens",
        lambda batch: _marks(batch.target, batch.quest), "punctuation marks in the translation {}"),
)  # fmt: skip
