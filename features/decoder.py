"""Confidence of a neural system in its output: token log-probabilities, model score."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Final, Literal

import numpy as np
import regex
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError
from features.basics.numerals import real
from features.core.columns import Column, ColumnExtractor, ColumnGroups
from features.core.segments import Segments
from features.decoder_output.statistics import (
    ascending,
    deviation,
    longest_run,
    lowest_mean,
    quantile,
    trend,
    worst_window,
)
from features.decoder_output.tokens import UNKNOWN, DecoderTokens, Marker
from features.text.tokens import Tokens, ratio, segment_max, segment_mean, segment_min, segment_sum

FOMICHEVA: Final = "Fomicheva et al. 2020, Unsupervised Quality Estimation for Neural MT, section 4.1"
FOMICHEVA_WORDS: Final = f"{FOMICHEVA}, of words"
OWN: Final = "this project: feasibility study on MLQE-PE"

THRESHOLDS: Final = (0.5, 0.25, 0.1, 0.05, 0.01)
LEVELS: Final = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
SIZES: Final = (3, 5, 10)
ROUNDING: Final = 1e-3  # by which a log-probability may exceed the highest one, as files round both
NEAR: Final = 0.5  # share of the highest probability from which on a subword is one of the best of its step
BOOSTED: Final = "after Dinh and Niehues 2025, Are Generative Models Underconfident?, with two probabilities"

_WORD: Final = regex.compile(r"[\p{L}\p{M}]")
_NUMBER: Final = regex.compile(r"\p{N}")
_PUNCTUATION: Final = regex.compile(r"[\p{P}\p{S}]+")


@dataclass(frozen=True, eq=False)
class _Values:
    values: FloatArray
    offsets: NDArray[np.int64]

    @cached_property
    def rising(self) -> FloatArray:
        return ascending(self.values, self.offsets)


@dataclass(frozen=True, eq=False)
class _Batch:
    segments: Segments
    decoder: DecoderTokens

    @cached_property
    def by_subword(self) -> "_Values":
        return _Values(self.decoder.log_probability, self.decoder.subwords.offsets)

    @cached_property
    def by_word(self) -> "_Values":
        return _Values(self.decoder.word_log_probability, self.words.offsets)

    @property
    def offsets(self) -> NDArray[np.int64]:
        return self.by_subword.offsets

    @property
    def values(self) -> FloatArray:
        return self.by_subword.values

    @property
    def words(self) -> Tokens:
        return self.decoder.words

    @cached_property
    def pieces(self) -> FloatArray:
        return np.diff(self.decoder.word_offsets).astype(np.float64)

    @cached_property
    def characters(self) -> FloatArray:
        by_type = np.array([len(t) for t in self.words.types], np.float64)
        return segment_sum(by_type[self.words.ids], self.words.offsets)

    @cached_property
    def total(self) -> FloatArray:
        return segment_sum(self.values, self.offsets) + self.decoder.end

    def location(self, pattern: "regex.Pattern[str]", *, full_match: bool = False) -> BoolArray:
        match = pattern.fullmatch if full_match else pattern.search
        return np.array([match(t) is not None for t in self.words.types], bool)[self.words.ids]

    def mean_where(self, flags: BoolArray) -> FloatArray:
        offsets = self.words.offsets
        return ratio(
            segment_sum(np.where(flags, self.by_word.values, 0.0), offsets), segment_sum(flags, offsets)
        )

    def edge(self, index: int) -> FloatArray:
        full = self.decoder.subwords.lengths > 0
        result = np.full(len(full), np.nan)
        result[full] = self.values[(self.offsets[:-1] if index == 0 else self.offsets[1:] - 1)[full]]
        return result

    def halves(self) -> FloatArray:
        lengths = np.diff(self.offsets)
        place = np.arange(len(self.values)) - np.repeat(self.offsets[:-1], lengths)
        second = place >= np.repeat(lengths // 2, lengths)
        late = ratio(segment_sum(np.where(second, self.values, 0), self.offsets), lengths - lengths // 2)
        early = ratio(segment_sum(np.where(second, 0, self.values), self.offsets), lengths // 2)
        return late - early

    @property
    def unknown(self) -> FloatArray:
        subwords = self.decoder.subwords
        flags = np.array([t == UNKNOWN for t in subwords.types], bool)
        return segment_sum(flags[subwords.ids], self.offsets)

    def model_score(self) -> FloatArray:
        values = np.full(len(self.segments), np.nan)
        for i, text in enumerate(self.segments.model_score or ()):
            if not text.strip():
                continue
            try:
                values[i] = real(text)
            except ValueError:
                values[i] = np.inf
            if not np.isfinite(values[i]):
                raise InputError(
                    f"model_score must be a finite number, but got '{text}'",
                    location=f"segment '{self.segments.id[i]}'",
                )
        return values

    @cached_property
    def entropy(self) -> _Values:
        tokens = DecoderTokens.from_segments(self.segments, self.decoder.marker, "token_entropies")
        return _Values(tokens.log_probability, self.offsets)

    @cached_property
    def highest(self) -> _Values:
        column = "token_highest_log_probabilities"
        tokens = DecoderTokens.from_segments(self.segments, self.decoder.marker, column)
        return _Values(tokens.log_probability, self.offsets)

    @cached_property
    def gap(self) -> FloatArray:
        """Log-probability of each subword less the highest one of its step; 0: the system's first choice."""
        gap = self.values - self.highest.values
        if (wrong := np.flatnonzero(gap > ROUNDING)).size:
            segment = int(np.searchsorted(self.offsets, wrong[0], side="right")) - 1
            raise InputError(
                "a log-probability is higher than the highest one of its step",
                location=f"segment '{self.segments.id[segment]}'",
            )
        return np.minimum(gap, 0.0)


View = Callable[[_Batch], _Values]


def _column(
    name: str, description: str, unit: str, compute: Callable[[_Batch], FloatArray], origin: str = OWN
) -> Column[_Batch]:
    return Column(f"decoder_{name}", description, origin, unit, compute)


SEGMENT_COLUMNS: Final = (
    _column("log_probability", "sum over subwords and the end of the sentence", "nats", lambda b: b.total),
    _column("mean", "mean over subwords and the end of the sentence (TP)", "nats per token",
        lambda b: ratio(b.total, np.diff(b.offsets) + 1), FOMICHEVA),
    _column("sd", "standard deviation over subwords (Sent-Std without the end)", "nats",
        lambda b: deviation(b.values, b.offsets), FOMICHEVA),
    _column("probability_mean", "mean probability of subwords", "probability",
        lambda b: segment_mean(np.exp(b.values), b.offsets)),
    _column("probability_sd", "standard deviation of the probability of subwords", "probability",
        lambda b: deviation(np.exp(b.values), b.offsets)),
    _column("end", "log-probability of the end of the sentence", "nats", lambda b: b.decoder.end),
    _column("first", "log-probability of the first subword", "nats", lambda b: b.edge(0)),
    _column("last", "log-probability of the last subword", "nats", lambda b: b.edge(-1)),
    _column("per_character", "sum by characters of the words", "nats per character",
        lambda b: ratio(b.total, b.characters)),
    _column("per_source_token", "sum by tokens of the source", "nats per token",
        lambda b: ratio(b.total, b.segments.source_tokens.lengths)),
    _column("trend", "slope of the log-probabilities from first to last", "nats",
        lambda b: trend(b.values, b.offsets)),
    _column("halves", "mean of the second half minus that of the first; undefined under 2 subwords", "nats",
        lambda b: b.halves()),
    _column("model_score", "score that the system gave; undefined where the data has none",
        "as the system gives it", lambda b: b.model_score()),
)  # fmt: skip


def _spread(view: View, noun: str, prefix: str) -> Iterator[Column[_Batch]]:
    fewer = "of all if there are fewer"
    yield _column(f"{prefix}minimum", f"lowest of the {noun}", "nats",
        lambda b: segment_min(view(b).values, view(b).offsets))  # fmt: skip
    yield _column(f"{prefix}longest_run", f"most {noun} in a row with a probability below .5", noun,
        lambda b: longest_run(view(b).values < np.log(0.5), view(b).offsets))  # fmt: skip
    for k in SIZES:
        yield _column(f"{prefix}lowest_{k}", f"mean of the {k} lowest {noun}, {fewer}", "nats",
            partial(lambda k, b: lowest_mean(view(b).rising, view(b).offsets, k), k))  # fmt: skip
        yield _column(f"{prefix}window_{k}", f"lowest mean of {k} {noun} in a row, {fewer}", "nats",
            partial(lambda k, b: worst_window(view(b).values, view(b).offsets, k), k))  # fmt: skip
    for q in LEVELS:
        yield _column(f"{prefix}percentile_{100 * q:.0f}", f"{100 * q:.0f}th percentile of {noun}", "nats",
            partial(lambda q, b: quantile(view(b).rising, view(b).offsets, q), q))  # fmt: skip
    for p in THRESHOLDS:
        name, condition = f"{prefix}below_{100 * p:.0f}", f"with a probability below {p}"
        yield _column(name, f"share of {noun} {condition}", "share",
            partial(lambda p, b: segment_mean(view(b).values < np.log(p), view(b).offsets), p))  # fmt: skip
        yield _column(f"count_{name}", f"{noun} {condition}", noun,
            partial(lambda p, b: segment_sum(view(b).values < np.log(p), view(b).offsets), p))  # fmt: skip


WORD_COLUMNS: Final = (
    _column("word_mean", "mean over words", "nats per word",
        lambda b: segment_mean(b.by_word.values, b.words.offsets), FOMICHEVA_WORDS),
    _column("word_sd", "standard deviation over words", "nats",
        lambda b: deviation(b.by_word.values, b.words.offsets), FOMICHEVA_WORDS),
    *_spread(lambda b: b.by_word, "words", "word_"),
    _column("letters", "mean over words with letters; undefined without one", "nats per word",
        lambda b: b.mean_where(b.location(_WORD))),
    _column("numbers", "mean over words with digits; undefined without one", "nats per word",
        lambda b: b.mean_where(b.location(_NUMBER))),
    _column("punctuation", "mean over punctuation and symbols; undefined without", "nats per word",
        lambda b: b.mean_where(b.location(_PUNCTUATION, full_match=True))),
    _column("split_words", "mean over words of several subwords; undefined without one", "nats per word",
        lambda b: b.mean_where(b.pieces > 1)),
    _column("whole_words", "mean over words of one subword; undefined without one", "nats per word",
        lambda b: b.mean_where(b.pieces == 1)),
    _column("subwords", "subwords of the translation", "subwords",
        lambda b: b.decoder.subwords.lengths.astype(np.float64)),
    _column("subwords_per_word", "subwords per word", "ratio",
        lambda b: segment_mean(b.pieces, b.words.offsets)),
    _column("split_share", "share of words of several subwords", "share",
        lambda b: segment_mean(b.pieces > 1, b.words.offsets)),
    _column("most_pieces", "most subwords of a word", "subwords",
        lambda b: segment_max(b.pieces, b.words.offsets)),
    _column("characters_per_subword", "characters per subword", "characters",
        lambda b: ratio(b.characters, np.diff(b.offsets))),
    _column("unknown", f"subwords that are {UNKNOWN}", "subwords", lambda b: b.unknown),
)  # fmt: skip


# Further columns, by the values of all subwords at each step that the data gives.
STEP_COLUMNS: Final = {
    "entropy": (
        _column("entropy_mean", "mean entropy of the steps", "nats",
            lambda b: segment_mean(b.entropy.values, b.offsets), FOMICHEVA),
        _column("entropy_sd", "standard deviation of the entropy of the steps", "nats",
            lambda b: deviation(b.entropy.values, b.offsets)),
        _column("entropy_maximum", "highest entropy of a step", "nats",
            lambda b: segment_max(b.entropy.values, b.offsets)),
    ),
    "highest": (
        _column("highest_mean", "mean of the highest log-probability of each step", "nats",
            lambda b: segment_mean(b.highest.values, b.offsets)),
        _column("gap_mean", "mean log-probability of subwords less the highest one of their step", "nats",
            lambda b: segment_mean(b.gap, b.offsets)),
        _column("gap_minimum", "lowest log-probability of a subword less the highest one of its step", "nats",
            lambda b: segment_min(b.gap, b.offsets)),
        _column("first_choices", "share of subwords with the highest probability of their step", "share",
            lambda b: segment_mean(b.gap > -ROUNDING, b.offsets)),
        _column("boosted_mean", f"mean over subwords; for those of at least {NEAR} of the highest, by that",
            "nats",
            lambda b: segment_mean(np.where(b.gap >= np.log(NEAR), b.highest.values, b.values), b.offsets),
            BOOSTED),
    ),
}  # fmt: skip
_STEP_TEXTS: Final = {"entropy": "token_entropies", "highest": "token_highest_log_probabilities"}

COLUMNS: Final = (*SEGMENT_COLUMNS, *_spread(lambda b: b.by_subword, "subwords", ""), *WORD_COLUMNS)


@dataclass(frozen=True)
class Decoder(ColumnExtractor):
    """Token log-probabilities of a neural system: `COLUMNS`, in nats; higher is surer.

    marker  how subwords join: `bpe` (`@@` at the end of what goes on) or `sentencepiece` (`▁` at the
            beginning of a word; texts without spaces are one word)
    steps   what the data has of all subwords at each step, with columns of their own: `entropy` (column
            `token_entropies`), `highest` (`token_highest_log_probabilities`)

    Everything but counts is NaN if the decoder said nothing; statistics of subwords and words are NaN for an
    empty translation. Raises InputError if a line has not one number more than subwords, or numbers are not
    finite.
    """

    plain: ClassVar[str] = "how sure the MT system was of its words"

    marker: Marker = "bpe"
    steps: Sequence[Literal["entropy", "highest"]] = ()

    def column_groups(self) -> ColumnGroups:
        of_steps = (column for step in dict.fromkeys(self.steps) for column in STEP_COLUMNS[step])
        return [((*COLUMNS, *of_steps), self._batch)]

    def requires(self) -> tuple[str, ...]:
        given = (_STEP_TEXTS[step] for step in dict.fromkeys(self.steps))
        return ("subwords", "token_log_probabilities", *given)

    def optional_columns(self) -> tuple[str, ...]:
        return ("model_score",)

    def _batch(self, segments: Segments) -> _Batch:
        return _Batch(segments, DecoderTokens.from_segments(segments, self.marker))
