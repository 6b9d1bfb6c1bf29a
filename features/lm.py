"""Probabilities of both texts by n-gram language models."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.columns import Column, ColumnExtractor, ColumnGroups
from features.core.segments import Segments
from features.resources.language_model import LanguageModel, LMScores
from features.text.tokens import Tokens, ratio, segment_mean, segment_min, segment_sum

ORDER = 5

_LIMSI = "LIMSI at WMT12, appendix A"
_SDLLW = "SDL Language Weaver at WMT12, LF2-LF3"
_WLV = "WLV-SHEF at WMT12, table 4 (there of source 3-grams)"
_PRHLT = "PRHLT-UPV at WMT12, section 2.2"
_DCU = "DCU-SYMC at WMT12, section 2.1 (after Duchateau et al. 2002)"
_LORIA = "LORIA at WMT12, section 4"
_UU = "Uppsala at WMT12, section 2.1"
_SLOR = "Lau et al. 2020, table 2 (SLOR, after Pauls and Klein 2012; there with a separate unigram model)"
_OWN = "this project: spread of the LM score over the words"
_BACKWARD = "this project: the forward measure, read from the end"


@dataclass(frozen=True)
class _Scored:
    scores: LMScores
    unigrams: LMScores
    tokens: Tokens

    @property
    def text(self) -> FloatArray:
        return np.where(self.tokens.lengths > 0, segment_sum(self.scores.log10, self.scores.offsets), np.nan)

    def mean(self, values: FloatArray) -> FloatArray:
        return segment_mean(values, self.tokens.offsets)

    @property
    def variance(self) -> FloatArray:
        log10 = self.scores.token_log10
        deviation = log10 - self.mean(log10)[self.tokens.text_index]
        return self.mean(deviation**2)


@dataclass(frozen=True)
class _Statistic(Column[_Scored]):
    lower: str = _PRHLT
    backward: str = _BACKWARD


LOG10 = _Statistic("log10", "log10 probability, end of sentence included", _LIMSI, "log10",
    lambda s: s.text, backward=f"{_DCU}, there of orders 2 and 3")  # fmt: skip
PER_TOKEN = _Statistic("per_token",
    "log10 probability, end of sentence included, divided by the number of tokens", _LIMSI,
    "log10 per token", lambda s: ratio(s.text, s.tokens.lengths),
    lower=f"{_PRHLT} (there of models of n-best lists)")  # fmt: skip
PERPLEXITY = _Statistic("perplexity",
    "perplexity, end of sentence included; unknown words count with their share of <unk>", _SDLLW,
    "choices", lambda s: 10 ** -ratio(s.text, s.tokens.lengths + 1))  # fmt: skip
PERPLEXITY_WITHOUT_END = _Statistic("perplexity_without_end", "perplexity of the tokens alone", _WLV,
    "choices", lambda s: 10 ** -s.mean(s.scores.token_log10))  # fmt: skip
WHOLE = (
    LOG10,
    PER_TOKEN,
    PERPLEXITY,
    PERPLEXITY_WITHOUT_END,
    _Statistic("mean_probability", "mean probability of the tokens", _LORIA, "probability",
        lambda s: s.mean(10**s.scores.token_log10), backward=_LORIA),
    _Statistic("lowest", "log10 probability of the least likely token", _OWN, "log10",
        lambda s: segment_min(s.scores.token_log10, s.tokens.offsets), backward=_OWN),
    _Statistic("variance", "variance of the tokens' log10 probability", _OWN, "log10 squared",
        lambda s: s.variance, backward=_OWN),
    _Statistic("above_unigrams",
        "log10 probability per token above that of the model's unigrams, end of sentence included", _SLOR,
        "log10 per token",
        lambda s: ratio(s.text - segment_sum(s.unigrams.log10, s.unigrams.offsets), s.tokens.lengths),
        backward=_SLOR),
)  # fmt: skip
PROBABILITIES = (
    _Statistic("probability", "probability, end of sentence included; 0 below the smallest double", _UU,
        "probability", lambda s: 10**s.text),
    _Statistic("probability_per_token",
        "probability, end of sentence included, divided by the number of tokens; 0 below the smallest double",
        _UU, "probability per token", lambda s: ratio(10**s.text, s.tokens.lengths)),
)  # fmt: skip

GRID = (LOG10, PER_TOKEN, PERPLEXITY, PERPLEXITY_WITHOUT_END)

_Lower = tuple[tuple[int, tuple[_Statistic, ...]], ...]

_FORWARD: _Lower = tuple((order, (LOG10, PERPLEXITY, PERPLEXITY_WITHOUT_END)) for order in range(1, ORDER))
_EVERY: _Lower = tuple((order, GRID) for order in range(1, ORDER))


@dataclass(frozen=True)
class _Model:
    part: str
    side: str
    direction: str
    papers: _Lower

    def columns(self, orders: str, probabilities: bool) -> list[Column[list[_Scored]]]:
        forward = probabilities and self.direction == "forward"
        whole = (*WHOLE, *PROBABILITIES) if forward else WHOLE
        lower = _EVERY if orders == "all" else self.papers
        cut = [self._column(s, order, f"_{order}") for order, statistics in lower for s in statistics]
        return [*(self._column(s, ORDER) for s in whole), *cut]

    def _column(self, statistic: _Statistic, order: int, suffix: str = "") -> Column[list[_Scored]]:
        stem = f"lm_{self.side}" + ("_backward" if self.direction == "backward" else "")
        column = statistic.under(stem, f"{self.side}, {order}-gram, {self.direction}")
        forward = statistic.origin if order == ORDER else statistic.lower
        return replace(
            column.with_preparation(lambda orders: orders[order - 1]),
            name=f"{column.name}{suffix}",
            origin=statistic.backward if self.direction == "backward" else forward,
        )


MODELS = (
    _Model("source_lm5", "source", "forward", _FORWARD),
    _Model("target_lm", "target", "forward", _FORWARD),
    _Model("source_lm_backward", "source", "backward", ((2, (LOG10,)), (3, (LOG10,)))),
    _Model("target_lm_backward", "target", "backward", ((2, (LOG10,)), (3, (LOG10,)))),
)


@dataclass(frozen=True)
class LanguageModelScores(ColumnExtractor):
    """Log-probabilities and perplexities of orders 1-5, forward and backward, on both sides.

    orders  of orders 1-4, `papers`: what systems of WMT12 use, which is log10 probability and perplexity with
            and without the end of the sentence of the forward models, log10 probability of orders 2 and 3 of
            the backward ones. `all`: these and the log10 probability per token, for every model and order.
    probabilities  of the forward models, whether there are probabilities that are no logarithms, of the whole
            text and by its tokens, as UU has them. They order segments as the logarithms do; long texts have
            0, where the probability is less than a number can hold.

    Orders below 5 are the 5-gram models cut to that order, not models built at that order: their n-grams
    count by how many words they follow (Kneser-Ney), not by how often they occur, so they find text like the
    corpus less likely. What a backward model has for the end of a sentence is its beginning. Everything is
    NaN for an empty text. Raises InputError for an unknown setting, and where a model's order is below 5.
    """

    plain: ClassVar[str] = "how usual the wording of the {text} is"

    source_lm5: LanguageModel
    target_lm: LanguageModel
    source_lm_backward: LanguageModel
    target_lm_backward: LanguageModel
    orders: Literal["papers", "all"] = "papers"
    probabilities: bool = False

    def column_groups(self) -> ColumnGroups:
        return [
            (model.columns(self.orders, self.probabilities), partial(self._scored, model)) for model in MODELS
        ]

    def _scored(self, model: _Model, segments: Segments) -> list[_Scored]:
        tokens = segments.source_tokens if model.side == "source" else segments.target_tokens
        part, orders = model.part, getattr(self, model.part).score_orders(tokens)
        if len(orders) < ORDER:
            raise InputError(
                f"{part} must score orders 1 to {ORDER}, but it gives {len(orders)}",
                remedy=f"build it with --set {part}.order={ORDER} (in an experiment, `resources: {{settings: "
                f"{{{part}: {{order: {ORDER}}}}}}}`); KenLM models give one order, ARPA files all",
            )
        return [_Scored(scores, orders[0], tokens) for scores in orders]
