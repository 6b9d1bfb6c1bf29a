"""Stand-ins for a decoder's translation scores: those by which our own phrase table makes the translation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from features.basics.array_types import FloatArray
from features.core.columns import Column, block, features_of
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.phrase_decoding.segmentation import Forced, force
from features.resources.phrase_table import PhraseTable

_SDLLW: Final = "SDL Language Weaver at WMT12, section 2.2: {} (stand-in: forced decoding, not the decoder's)"


@dataclass(frozen=True)
class ForcedDecoding(Extractor):
    """MF4-MF7: sums of the logarithms of phrase and lexical probabilities, both ways.

    They are of the best derivation of the translation by pairs of the phrase table (Wuebker et al. 2010,
    section 4); what it leaves out costs nothing. Everything is NaN of a segment that no pair applies to.
    """

    plain: ClassVar[str] = "how well known phrases explain the translation"

    phrase_table: PhraseTable

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(COLUMNS)

    def extract(self, segments: Segments) -> FloatArray:
        forced = force(segments.source_tokens, segments.target_tokens, self.phrase_table)
        values = block(COLUMNS, forced)
        values[forced.phrases == 0] = float("nan")
        return values


COLUMNS: Final = (
    Column[Forced](
        "forced_phrase_backward",
        "sum of log phrase probabilities of the source given the target; NaN without a pair",
        _SDLLW.format("MF4"),
        "nats",
        lambda forced: forced.backward_log,
    ),
    Column[Forced](
        "forced_lexical_backward",
        "sum of log lexical weights of the source given the target; NaN without a pair",
        _SDLLW.format("MF5"),
        "nats",
        lambda forced: forced.backward_lexical_log,
    ),
    Column[Forced](
        "forced_phrase_forward",
        "sum of log phrase probabilities of the target given the source; NaN without a pair",
        _SDLLW.format("MF6"),
        "nats",
        lambda forced: forced.phrase_log - forced.backward_log,
    ),
    Column[Forced](
        "forced_lexical_forward",
        "sum of log lexical weights of the target given the source; NaN without a pair",
        _SDLLW.format("MF7"),
        "nats",
        lambda forced: forced.lexical_log - forced.backward_lexical_log,
    ),
)
