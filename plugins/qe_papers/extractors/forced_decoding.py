"""Stand-ins for a decoder's scores: our own phrase table derives the translation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.core.columns import Column, block, features_of
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.resources.language_model import LanguageModel
from features.resources.phrase_table import PhraseTable
from features.text.tokens import Tokens, ratio, segment_sum
from qe_papers.phrase_segmentation import Forced, force

_SDLLW: Final = "SDL Language Weaver at WMT12, section 2.2: {} (stand-in: forced decoding, not the decoder's)"
_SJTU: Final = (
    "Wu and Zhao 2012 (SJTU at WMT12), section 3.2: {} (stand-in: forced decoding, not the decoder's)"
)


@dataclass(frozen=True)
class ForcedDecoding(Extractor):
    """MF1-MF8: log phrase and lexical probabilities, both ways, and the other costs. Logarithms are summed
    over the phrases.

    They are of the best derivation of the translation by pairs of the phrase table (Wuebker et al. 2010,
    section 4); what it leaves out costs nothing. The word penalty is the length of the translation, the
    phrase penalty the number of pairs, the language model's cost that of the target model. Everything is NaN
    of a segment that no pair applies to.

    trace  with the density of the derivation and the mean length of its phrases, where a word that no pair
           makes is a separate phrase, as a decoder passes unknown words on
    """

    plain: ClassVar[str] = "how well known phrases explain the translation"

    phrase_table: PhraseTable
    target_lm: LanguageModel
    trace: bool = False

    @property
    def columns(self) -> tuple[Column["_Batch"], ...]:
        return (*COLUMNS, *OF_TRACE) if self.trace else COLUMNS

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(self.columns)

    def extract(self, segments: Segments) -> FloatArray:
        forced = force(segments.source_tokens, segments.target_tokens, self.phrase_table)
        batch = _Batch(forced, segments.source_tokens, segments.target_tokens, self.target_lm)
        values = block(self.columns, batch)
        values[forced.phrases == 0] = float("nan")
        return values


@dataclass(frozen=True, eq=False)
class _Batch:
    forced: Forced
    source: Tokens
    tokens: Tokens
    model: LanguageModel

    @property
    def lm(self) -> FloatArray:
        scores = self.model.score(self.tokens)
        return np.asarray(segment_sum(scores.log10, scores.offsets) * np.log(10))

    @property
    def phrases(self) -> FloatArray:
        return self.forced.phrases + self.forced.uncovered


COLUMNS: Final = (
    Column[_Batch](
        "forced_distortion",
        "source tokens between pairs that follow each other in the translation, summed; NaN without a pair",
        _SDLLW.format("MF1"),
        "tokens",
        lambda batch: batch.forced.distortion,
    ),
    Column[_Batch](
        "forced_word_penalty",
        "tokens of the translation; NaN without a pair",
        _SDLLW.format("MF2"),
        "tokens",
        lambda batch: batch.tokens.lengths.astype(np.float64),
    ),
    Column[_Batch](
        "forced_lm",
        "log probability of the translation by the target language model; NaN without a pair",
        _SDLLW.format("MF3"),
        "nats",
        lambda batch: batch.lm,
    ),
    Column[_Batch](
        "forced_phrase_backward",
        "sum of log phrase probabilities of the source given the target; NaN without a pair",
        _SDLLW.format("MF4"),
        "nats",
        lambda batch: batch.forced.backward_log,
    ),
    Column[_Batch](
        "forced_lexical_backward",
        "sum of log lexical weights of the source given the target; NaN without a pair",
        _SDLLW.format("MF5"),
        "nats",
        lambda batch: batch.forced.backward_lexical_log,
    ),
    Column[_Batch](
        "forced_phrase_forward",
        "sum of log phrase probabilities of the target given the source; NaN without a pair",
        _SDLLW.format("MF6"),
        "nats",
        lambda batch: batch.forced.phrase_log - batch.forced.backward_log,
    ),
    Column[_Batch](
        "forced_lexical_forward",
        "sum of log lexical weights of the target given the source; NaN without a pair",
        _SDLLW.format("MF7"),
        "nats",
        lambda batch: batch.forced.lexical_log - batch.forced.backward_lexical_log,
    ),
    Column[_Batch](
        "forced_phrase_penalty",
        "pairs of the derivation; NaN without a pair",
        _SDLLW.format("MF8"),
        "pairs",
        lambda batch: batch.forced.phrases,
    ),
)
OF_TRACE: Final = (
    Column[_Batch](
        "forced_trace_density",
        "phrases of the derivation / source tokens; NaN without a pair",
        _SJTU.format("trace density"),
        "phrases per token",
        lambda batch: ratio(batch.phrases, batch.source.lengths),
    ),
    Column[_Batch](
        "forced_phrase_length",
        "target tokens / phrases of the derivation; NaN without a pair",
        _SJTU.format("average of phrase length"),
        "tokens",
        lambda batch: ratio(batch.tokens.lengths, batch.phrases),
    ),
)
