"""Backoff steps of language models on both texts."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.core.columns import Column, ColumnExtractor, ColumnGroups
from features.core.extractor import Extractor
from features.core.segments import Segments
from features.resources.language_model import LanguageModel, NumberLanguageModel
from features.text.tokens import Tokens, segment_mean

MAX_ORDER = 4  # UEdin: the longest n-gram looked for
LEVELS = range(6)  # matched n-grams of the 5-gram models

_UEDIN = "UEdin at WMT12, section 3.3"
_LORIA = "LORIA at WMT12, section 4"
_OWN = "LORIA at WMT12, section 4, as a distribution"


@dataclass(frozen=True)
class _Words:
    tokens: Tokens
    probability: FloatArray
    matched: NDArray[np.int64]
    steps: NDArray[np.int64]
    score: FloatArray

    def mean(self, values: NDArray[np.generic]) -> FloatArray:
        return segment_mean(values, self.tokens.offsets)


def neighbour_product(values: FloatArray, tokens: Tokens, width_before: int, width_after: int) -> FloatArray:
    """(n_tokens,) product of each value with the values of its neighbours in the text."""
    place = np.arange(len(values)) - tokens.offsets[:-1][tokens.text_index]
    after = tokens.lengths[tokens.text_index] - 1 - place
    product = np.ones(len(values))
    for shift in range(-width_before, width_after + 1):
        there = (place >= -shift) & (after >= shift)
        product[there] *= values[np.nonzero(there)[0] + shift]
    return product


def _averaged(words: _Words, attribute: str, width_before: int, width_after: int) -> FloatArray:
    return words.mean(neighbour_product(getattr(words, attribute), words.tokens, width_before, width_after))


WINDOWS = (("left", 2, 0), ("centred", 1, 1), ("right", 0, 2))
WORD_SCORES = (("score", "backoff score", "share"), ("probability", "probability", "probability"))

COLUMNS: tuple[Column[_Words], ...] = (
    Column("mean_matched",
        f"mean order of the longest n-gram (at most {MAX_ORDER}) ending in each token; sentence start padded",
        _UEDIN, "tokens", lambda words: words.mean(np.minimum(words.matched, MAX_ORDER))),
    Column("mean_steps", "mean number of backoff steps", _LORIA, "steps",
        lambda words: words.mean(words.steps)),
    Column("mean_score", "mean backoff score: matched order as a share of the order possible there", _LORIA,
        "share", lambda words: words.mean(words.score)),
    *(
        Column(f"matched_{order}",
            f"share of tokens whose longest n-gram has order {order}; sentence start padded"
            + (" (unknown words)" if order == 0 else ""), _OWN, "share",
            partial(lambda order, words: words.mean(words.matched == order), order))
        for order in LEVELS
    ),
    *(
        Column(f"{attribute}_{window}",
            f"mean over tokens of the {text} times that of {width_before} tokens before and "
            f"{width_after} after", _LORIA, unit,
            partial(_averaged, attribute=attribute, width_before=width_before, width_after=width_after))
        for attribute, text, unit in WORD_SCORES
        for window, width_before, width_after in WINDOWS
    ),
)  # fmt: skip

MODELS = (
    ("source_lm5", "source", "forward"),
    ("target_lm", "target", "forward"),
    ("source_lm_backward", "source", "backward"),
    ("target_lm_backward", "target", "backward"),
)


@dataclass(frozen=True)
class Backoff(ColumnExtractor):
    """Matched n-grams, backoff steps and neighbour-averaged scores of 5-gram models.

    Both directions, both sides.

    numbers  whether numbers are one word, as UEdin has it (section 4.1), in models of their own of order 4:
             then there is the mean length of the longest n-gram of each side, nothing else

    Everything is NaN for an empty text.
    """

    plain: ClassVar[str] = "how usual the wording of the {text} is"

    source_lm5: LanguageModel
    target_lm: LanguageModel
    source_lm_backward: LanguageModel
    target_lm_backward: LanguageModel
    numbers: bool = False

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> type[Extractor]:
        return _OfNumbers if settings.get("numbers") is True else cls

    def column_groups(self) -> ColumnGroups:
        groups = []
        for part, side, direction in MODELS:
            stem = f"backoff_{side}" + ("_backward" if direction == "backward" else "")
            columns = [column.under(stem, f"{side}, {direction}") for column in COLUMNS]
            groups.append((columns, partial(_words, getattr(self, part), side)))
        return groups


def _words(model: LanguageModel, side: str, segments: Segments) -> _Words:
    tokens = segments.source_tokens if side == "source" else segments.target_tokens
    scores = model.score(tokens)
    matched, steps = scores.token_matched.astype(np.int64), scores.token_backoff.astype(np.int64)
    padded = np.where(steps == 0, model.order, matched)
    return _Words(tokens, 10**scores.token_log10, padded, steps, matched / np.maximum(matched + steps, 1))


@dataclass(frozen=True)
class _OfNumbers(ColumnExtractor):
    source_number_lm: NumberLanguageModel
    target_number_lm: NumberLanguageModel
    numbers: bool = True

    def column_groups(self) -> ColumnGroups:
        models = (("source", self.source_number_lm), ("target", self.target_number_lm))
        return [
            ([COLUMNS[0].under(f"backoff_{side}_number", f"{side}, numbers as one word")],
             partial(_words, model, side))
            for side, model in models
        ]  # fmt: skip
