"""Substitutes for a decoder's scores: our own phrase table derives the translation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.core.columns import Column, block
from features.core.segments import Segments
from features.resources.language_model import LanguageModel
from features.resources.phrase_table import PhraseTable
from features.text.tokens import Tokens, ratio, segment_sum
from qe_papers.families import ColumnFamily
from qe_papers.phrase_segmentation import Forced, force

_SDLLW: Final = "SDL Language Weaver at WMT12, section 2.2: {} (stand-in: forced decoding, not the decoder's)"
_SJTU: Final = (
    "Wu and Zhao 2012 (SJTU at WMT12), section 3.2: {} (stand-in: forced decoding, not the decoder's)"
)


_COLUMNS: Final[Sequence[tuple[str, str, str, Callable[["_Batch"], FloatArray]]]] = (
    ("distortion", "source tokens between pairs that follow each other in the translation, summed", "tokens",
     lambda batch: batch.forced.distortion),
    ("word_penalty", "tokens of the translation", "tokens",
     lambda batch: batch.tokens.lengths.astype(np.float64)),
    ("lm", "log probability of the translation by the target language model", "nats", lambda batch: batch.lm),
    ("phrase_backward", "sum of log phrase probabilities of the source given the target", "nats",
     lambda batch: batch.forced.backward_log),
    ("lexical_backward", "sum of log lexical weights of the source given the target", "nats",
     lambda batch: batch.forced.backward_lexical_log),
    ("phrase_forward", "sum of log phrase probabilities of the target given the source", "nats",
     lambda batch: batch.forced.phrase_log - batch.forced.backward_log),
    ("lexical_forward", "sum of log lexical weights of the target given the source", "nats",
     lambda batch: batch.forced.lexical_log - batch.forced.backward_lexical_log),
    ("phrase_penalty", "pairs of the derivation", "pairs", lambda batch: batch.forced.phrases),
)  # fmt: skip
_TRACE: Final[Sequence[tuple[str, str, str, str, Callable[["_Batch"], FloatArray]]]] = (
    ("trace_density", "phrases of the derivation / source tokens", "trace density", "phrases per token",
     lambda batch: ratio(batch.phrases, batch.source.lengths)),
    ("phrase_length", "target tokens / phrases of the derivation", "average of phrase length", "tokens",
     lambda batch: ratio(batch.tokens.lengths, batch.phrases)),
)  # fmt: skip


@dataclass(frozen=True)
class ForcedDecoding(ColumnFamily):
    """MF1-MF8: log phrase and lexical probabilities in both directions, and the other costs.

    They describe the best derivation of the translation by pairs of the phrase table (Wuebker et al. 2010,
    section 4), summed over its phrases; uncovered words cost nothing. The word penalty is the length of the
    translation, the phrase penalty the number of pairs, the language model's cost that of the target model.
    All values are NaN for a segment without applicable pairs.

    trace  adds the density of the derivation and the mean length of its phrases; as in a decoder, each
           uncovered word is a separate phrase
    """

    plain: ClassVar[str] = "how well known phrases explain the translation"

    phrase_table: PhraseTable
    target_lm: LanguageModel
    trace: bool = False

    @property
    def columns(self) -> Sequence[Column["_Batch"]]:
        rows = [(*row[:2], f"MF{k}", *row[2:]) for k, row in enumerate(_COLUMNS, start=1)]
        tables = ((_SDLLW, rows), (_SJTU, _TRACE if self.trace else ()))
        return [
            Column(f"forced_{name}", f"{what}; NaN without a pair", origin.format(place), unit, compute)
            for origin, table in tables
            for name, what, place, unit, compute in table
        ]

    def prepared(self, segments: Segments) -> "_Batch":
        source, target = segments.source_tokens, segments.target_tokens
        return _Batch(force(source, target, self.phrase_table), source, target, self.target_lm)

    def extract(self, segments: Segments) -> FloatArray:
        batch = self.prepared(segments)
        values = block(self.columns, batch)
        values[batch.forced.phrases == 0] = float("nan")
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
