"""How likely the language models find a segment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from features.core.errors import InputError
from features.core.extractor import Extractor, Feature, FloatArray
from features.core.segments import Segments
from features.core.tokens import Tokens, ratio, segment_mean, segment_min, segment_sum
from features.resources.language_model import LanguageModel, LMScores

ORDER = 5

_LIMSI = "LIMSI at WMT12, appendix A"
_SDLLW = "SDL Language Weaver at WMT12, LF2-LF3"
_WLV = "WLV-SHEF at WMT12, table 4"
_PRHLT = "PRHLT-UPV at WMT12, section 2.2"
_DCU = "DCU-SYMC at WMT12, section 2.1 (after Duchateau et al. 2002)"
_LORIA = "LORIA at WMT12, section 4"
_SLOR = "Pauls and Klein 2012 (SLOR)"
_OWN = "this project: spread of the LM score over the words"


@dataclass(frozen=True)
class _Scored:
    """What one model, cut to one order, says of a batch; and what it says cut to order 1."""

    scores: LMScores
    unigrams: LMScores
    tokens: Tokens

    @property
    def text(self) -> FloatArray:
        """(n,) log10 probability with `</s>`; NaN for an empty text."""
        return np.where(self.tokens.lengths > 0, segment_sum(self.scores.log10, self.scores.offsets), np.nan)

    def per_token(self, log10: FloatArray) -> FloatArray:
        return ratio(log10, self.tokens.lengths)

    def mean(self, values: FloatArray) -> FloatArray:
        return segment_mean(values, self.tokens.offsets)

    @property
    def variance(self) -> FloatArray:
        log10 = self.scores.token_log10
        deviation = log10 - self.mean(log10)[self.tokens.text_index]
        return self.mean(deviation**2)


@dataclass(frozen=True)
class _Statistic:
    """A column of a model, and how it is computed."""

    name: str
    description: str
    origin: str
    unit: str
    of: Callable[[_Scored], FloatArray]


LOG10 = _Statistic("log10", "log10 probability, end of sentence included", _LIMSI, "log10", lambda s: s.text)
PER_TOKEN = _Statistic(
    "per_token",
    "log10 probability, end of sentence included, divided by the number of tokens",
    _LIMSI,
    "log10 per token",
    lambda s: s.per_token(s.text),
)
PERPLEXITY = _Statistic(
    "perplexity",
    "perplexity, end of sentence included; unknown words count with their share of <unk>",
    _SDLLW,
    "choices",
    lambda s: 10 ** -ratio(s.text, s.tokens.lengths + 1),
)
PERPLEXITY_WITHOUT_END = _Statistic(
    "perplexity_without_end",
    "perplexity of the tokens alone",
    _WLV,
    "choices",
    lambda s: 10 ** -s.mean(s.scores.token_log10),
)
MEAN_PROBABILITY = _Statistic(
    "mean_probability",
    "mean probability of the tokens",
    _LORIA,
    "probability",
    lambda s: s.mean(10**s.scores.token_log10),
)
LOWEST = _Statistic(
    "lowest",
    "log10 probability of the least likely token",
    _OWN,
    "log10",
    lambda s: segment_min(s.scores.token_log10, s.tokens.offsets),
)
VARIANCE = _Statistic(
    "variance", "variance of the tokens' log10 probability", _OWN, "log10 squared", lambda s: s.variance
)
ABOVE_UNIGRAMS = _Statistic(
    "above_unigrams",
    "log10 probability per token above that of the model's unigrams, end of sentence included",
    _SLOR,
    "log10 per token",
    lambda s: s.per_token(
        s.text - segment_sum(s.unigrams.log10, s.unigrams.offsets),
    ),
)

WHOLE = (
    LOG10,
    PER_TOKEN,
    PERPLEXITY,
    PERPLEXITY_WITHOUT_END,
    MEAN_PROBABILITY,
    LOWEST,
    VARIANCE,
    ABOVE_UNIGRAMS,
)


@dataclass(frozen=True)
class _Model:
    """A model: the field that holds it, the side it reads, and the statistics of its lower orders."""

    part: str
    side: str
    direction: str
    lower: tuple[tuple[int, tuple[_Statistic, ...]], ...]
    lower_origin: str

    def columns(self) -> list[tuple[str, int, _Statistic, str]]:
        """(name, order, statistic, origin) of every column."""
        stem = f"lm_{self.side}" + ("_backward" if self.direction == "backward" else "")
        whole = [(f"{stem}_{s.name}", ORDER, s, s.origin) for s in WHOLE]
        cut = [
            (f"{stem}_{s.name}_{order}", order, s, self.lower_origin)
            for order, statistics in self.lower
            for s in statistics
        ]
        return [*whole, *cut]


_FORWARD = tuple((order, (LOG10, PERPLEXITY, PERPLEXITY_WITHOUT_END)) for order in (1, 2, 3, 4))
_BACKWARD = tuple((order, (LOG10,)) for order in (2, 3))

MODELS = (
    _Model("source_lm5", "source", "forward", _FORWARD, _PRHLT),
    _Model("target_lm", "target", "forward", _FORWARD, _PRHLT),
    _Model("source_lm_backward", "source", "backward", _BACKWARD, _DCU),
    _Model("target_lm_backward", "target", "backward", _BACKWARD, _DCU),
)


@dataclass(frozen=True)
class LanguageModelScores(Extractor):
    """Log-probabilities and perplexities of orders 1-5, forward and backward, on both sides.

    Orders below 5 are the 5-gram models cut to that order. Everything is NaN for an empty text.

    Raises InputError where a model's order is below 5.
    """

    source_lm5: LanguageModel
    target_lm: LanguageModel
    source_lm_backward: LanguageModel
    target_lm_backward: LanguageModel

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(
                name,
                f"{model.side}, {order}-gram, {model.direction}: {statistic.description}",
                origin,
                statistic.unit,
            )
            for model in MODELS
            for name, order, statistic, origin in model.columns()
        ]

    def extract(self, segments: Segments) -> FloatArray:
        blocks = []
        for model in MODELS:
            tokens = segments.source_tokens if model.side == "source" else segments.target_tokens
            orders = _orders(getattr(self, model.part), model.part, tokens)
            columns = [
                s.of(_Scored(orders[order - 1], orders[0], tokens)) for _, order, s, _ in model.columns()
            ]
            blocks.append(np.column_stack(columns))
        return np.hstack(blocks)


def _orders(model: LanguageModel, part: str, tokens: Tokens) -> tuple[LMScores, ...]:
    found = model.score_orders(tokens)
    if len(found) < ORDER:
        raise InputError(
            f"{part} must score orders 1 to {ORDER}, but it gives {len(found)}",
            remedy=f"build it with `order: {ORDER}`; KenLM models give one order, ARPA files all",
        )
    return found
