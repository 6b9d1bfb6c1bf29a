"""How far the translation is from what a small phrase decoder makes of the source, and its model costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from features._decoder import decode
from features._forced_segmentation import Forced, force
from features._second_translation import DEFINITIONS, Comparison
from features.core.extractor import Extractor, Feature, FloatArray
from features.core.segments import Segments
from features.core.tokens import Tokens, ratio, segment_mean, segment_min
from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel
from features.resources.phrase_table import PhraseTable
from features.resources.tuple_lm import TupleLM

_ORIGIN = "this project: feasibility study on WMT12 (stand-in for decoder features)"
_MARINO = "Mariño et al. 2006, section 2 (n-gram translation model)"
_FORCED = "Wuebker et al. 2010, section 4 (forced decoding); Koehn et al. 2003, section 2 (scores)"
_NONE = "; NaN where no phrase pair applies"


@dataclass(frozen=True, eq=False)
class _Costs:
    """What the models say of a batch: the decoder's scores; the translation's bilingual units and phrases."""

    decoder: FloatArray
    decoded: Tokens
    source: Tokens
    target: Tokens
    unit_log10: FloatArray
    unit_matched: FloatArray
    forced: Forced

    @property
    def covered(self) -> FloatArray:
        """Target tokens that the forced segmentation makes."""
        return self.target.lengths - self.forced.uncovered

    def mean(self, values: FloatArray) -> FloatArray:
        return segment_mean(values, self.target.offsets)


@dataclass(frozen=True)
class _Cost:
    """A column, and how it is computed."""

    name: str
    description: str
    origin: str
    unit: str
    of: Callable[[_Costs], FloatArray]


def _matched(order: int, costs: _Costs) -> FloatArray:
    return costs.mean(costs.unit_matched == order)


COSTS: tuple[_Cost, ...] = (
    _Cost("score", "model score of the decoder's translation", _ORIGIN, "nats", lambda c: c.decoder),
    _Cost(
        "score_per_word",
        "the same per source token",
        _ORIGIN,
        "nats per token",
        lambda c: ratio(c.decoder, c.source.lengths),
    ),
    _Cost(
        "units",
        "log10 probability per token of the translation's bilingual units (word and source word)",
        _MARINO,
        "log10 per token",
        lambda c: c.mean(c.unit_log10),
    ),
    _Cost(
        "units_lowest",
        "log10 probability of its least likely unit",
        _MARINO,
        "log10",
        lambda c: segment_min(c.unit_log10, c.target.offsets),
    ),
    _Cost(
        "units_matched",
        "mean order of the longest known n-gram of units that ends in each token",
        _MARINO,
        "tokens",
        lambda c: c.mean(c.unit_matched),
    ),
    *(
        _Cost(
            f"units_matched_{order}",
            f"share of tokens whose longest known n-gram of units has order {order}"
            + (" (unknown units)" if order == 0 else ""),
            _MARINO,
            "share",
            partial(_matched, order),
        )
        for order in range(4)
    ),
    _Cost(
        "forced_log",
        "log of phrase probabilities and lexical weights, both ways, of the best derivation of the target "
        "by phrase pairs, per target token that they make" + _NONE,
        _FORCED,
        "nats per token",
        lambda c: ratio(c.forced.phrase_log + c.forced.lexical_log, c.covered),
    ),
    _Cost(
        "forced_phrase_log",
        "its part from phrase probabilities" + _NONE,
        _FORCED,
        "nats per token",
        lambda c: ratio(c.forced.phrase_log, c.covered),
    ),
    _Cost(
        "forced_lexical_log",
        "its part from lexical weights" + _NONE,
        _FORCED,
        "nats per token",
        lambda c: ratio(c.forced.lexical_log, c.covered),
    ),
    _Cost(
        "forced_phrases", "phrase pairs in that derivation", _FORCED, "phrases", lambda c: c.forced.phrases
    ),
    _Cost(
        "forced_length",
        "their mean number of target tokens" + _NONE,
        _FORCED,
        "tokens",
        lambda c: ratio(c.covered, c.forced.phrases),
    ),
    _Cost(
        "forced_uncovered",
        "target tokens that no pair of that derivation makes",
        _FORCED,
        "tokens",
        lambda c: c.forced.uncovered,
    ),
    _Cost(
        "forced_uncovered_share",
        "their share of the target tokens",
        _FORCED,
        "share",
        lambda c: ratio(c.forced.uncovered, c.target.lengths),
    ),
    _Cost(
        "forced_unused_share",
        "share of source tokens that no pair of that derivation translates",
        _FORCED,
        "share",
        lambda c: ratio(c.forced.unused, c.source.lengths),
    ),
)


@dataclass(frozen=True)
class DecoderImitation(Extractor):
    """The target against the decoder's translation, as against a second engine's; model costs.

    Where a decoder like the one that made the translation would have made another, the translation (or the
    source) is unusual. Everything is NaN where source or target is empty.
    """

    phrase_table: PhraseTable
    target_lm: LanguageModel
    aligner: Aligner
    tuple_lm: TupleLM

    @property
    def features(self) -> Sequence[Feature]:
        compared = "target against the decoder's translation"
        return [
            *(
                Feature(f"decoder_imitation_{d.name}", f"{compared}: {d.description}", _ORIGIN, d.unit)
                for d in DEFINITIONS
            ),
            *(Feature(f"decoder_imitation_{c.name}", c.description, c.origin, c.unit) for c in COSTS),
        ]

    def extract(self, segments: Segments) -> FloatArray:
        source, target = segments.source_tokens, segments.target_tokens
        decoded = decode(source, self.phrase_table, self.target_lm)
        compared = Comparison(target.lower(), decoded.tokens)
        links = self.aligner.align(source, target, "source-target", batch=500)
        units = self.tuple_lm.score(source, target, links)
        costs = _Costs(
            decoded.score,
            decoded.tokens,
            source,
            target,
            units.token_log10,
            units.token_matched.astype(np.float64),
            force(source, target, self.phrase_table),
        )
        values = np.column_stack([*(d.of(compared) for d in DEFINITIONS), *(c.of(costs) for c in COSTS)])
        values[(source.lengths == 0) | (target.lengths == 0)] = np.nan
        return values
