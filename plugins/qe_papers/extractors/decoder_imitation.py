"""Distance from the translation of a small phrase decoder, and its model costs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.comparisons.comparison import COLUMNS, TextComparison
from features.core.columns import Column, block
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.phrase_decoding.decoder import decode
from features.resources.aligner import Aligner
from features.resources.language_model import LanguageModel
from features.resources.phrase_table import PhraseTable
from features.resources.tuple_lm import TupleLM
from features.text.tokens import Tokens, ratio, segment_mean, segment_min
from qe_papers.phrase_segmentation import Forced, force

_ORIGIN = "this project: feasibility study on WMT12 (stand-in for decoder features)"
_MARINO = "Mariño et al. 2006, section 2 (n-gram translation model)"
_FORCED = "Wuebker et al. 2010, section 4 (forced decoding); Koehn et al. 2003, section 2 (scores)"
_NONE = "; NaN if no phrase pair applies"


@dataclass(frozen=True, eq=False)
class _Costs:
    decoder: FloatArray
    decoded: Tokens
    source: Tokens
    target: Tokens
    unit_log10: FloatArray
    unit_matched: FloatArray
    forced: Forced

    @property
    def covered(self) -> FloatArray:
        return self.target.lengths - self.forced.uncovered

    def mean(self, values: FloatArray) -> FloatArray:
        return segment_mean(values, self.target.offsets)


def _matched(order: int, costs: _Costs) -> FloatArray:
    return costs.mean(costs.unit_matched == order)


_ORDER: Final = "share of tokens whose longest known n-gram of units has order"
COSTS: tuple[Column[_Costs], ...] = (
    Column("score", "model score of the decoder's translation", _ORIGIN, "nats", lambda c: c.decoder),
    Column("score_per_word", "the same per source token", _ORIGIN, "nats per token",
           lambda c: ratio(c.decoder, c.source.lengths)),
    Column("units", "log10 probability per token of the translation's bilingual units (word and source word)",
           _MARINO, "log10 per token", lambda c: c.mean(c.unit_log10)),
    Column("units_lowest", "log10 probability of its least likely unit", _MARINO, "log10",
           lambda c: segment_min(c.unit_log10, c.target.offsets)),
    Column("units_matched", "mean order of the longest known n-gram of units that ends in each token",
           _MARINO, "tokens", lambda c: c.mean(c.unit_matched)),
    Column("units_matched_0", f"{_ORDER} 0 (unknown units)", _MARINO, "share", partial(_matched, 0)),
    *(Column(f"units_matched_{k}", f"{_ORDER} {k}", _MARINO, "share", partial(_matched, k))
      for k in (1, 2, 3)),
    Column("forced_log", "log of phrase probabilities and lexical weights, both ways, of the best derivation "
           f"of the target by phrase pairs, per target token that they make{_NONE}", _FORCED,
           "nats per token", lambda c: ratio(c.forced.phrase_log + c.forced.lexical_log, c.covered)),
    Column("forced_phrase_log", f"its part from phrase probabilities{_NONE}", _FORCED, "nats per token",
           lambda c: ratio(c.forced.phrase_log, c.covered)),
    Column("forced_lexical_log", f"its part from lexical weights{_NONE}", _FORCED, "nats per token",
           lambda c: ratio(c.forced.lexical_log, c.covered)),
    Column("forced_phrases", "phrase pairs in that derivation", _FORCED, "phrases",
           lambda c: c.forced.phrases),
    Column("forced_length", f"their mean number of target tokens{_NONE}", _FORCED, "tokens",
           lambda c: ratio(c.covered, c.forced.phrases)),
    Column("forced_uncovered", "target tokens that no pair of that derivation makes", _FORCED, "tokens",
           lambda c: c.forced.uncovered),
    Column("forced_uncovered_share", "their share of the target tokens", _FORCED, "share",
           lambda c: ratio(c.forced.uncovered, c.target.lengths)),
    Column("forced_unused_share", "share of source tokens that no pair of that derivation translates",
           _FORCED, "share", lambda c: ratio(c.forced.unused, c.source.lengths)),
)  # fmt: skip


@dataclass(frozen=True)
class DecoderImitation(Extractor):
    """Agreement with our phrase decoder's translation, as with a second engine's, and model costs.

    If a similar decoder translates differently, the translation (or the source) is unusual. All values are
    NaN if source or target is empty.
    """

    plain: ClassVar[str] = "how far it is from the translation of another MT system"

    phrase_table: PhraseTable
    target_lm: LanguageModel
    aligner: Aligner
    tuple_lm: TupleLM

    @property
    def features(self) -> Sequence[Feature]:
        stem, compared = "decoder_imitation", "target against the decoder's translation"
        return [
            *(replace(column.under(stem, compared).feature, origin=_ORIGIN) for column in COLUMNS),
            *(replace(column.feature, name=f"{stem}_{column.name}") for column in COSTS),
        ]

    def extract(self, segments: Segments) -> FloatArray:
        source, target = segments.source_tokens, segments.target_tokens
        decoded = decode(source, self.phrase_table, self.target_lm)
        compared = TextComparison(target.lower(), decoded.tokens)
        links = self.aligner.align(source, target, "source-target", batch=500)
        units = self.tuple_lm.score(source, target, links)
        matched, forced = units.token_matched.astype(np.float64), force(source, target, self.phrase_table)
        costs = _Costs(decoded.score, decoded.tokens, source, target, units.token_log10, matched, forced)
        values = np.hstack([block(COLUMNS, compared), block(COSTS, costs)])
        values[(source.lengths == 0) | (target.lengths == 0)] = np.nan
        return values
