"""Deictic words, which refer to the persons, places and times of the situation: `I`, `here`, `now`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.columns import Column
from features.core.segments import Segments
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens, segment_mean, segment_sum
from qe_papers.families import BothSides, ColumnFamily

_WLV: Final = "Felice and Specia 2012 (WLV-SHEF), section 3.1 (the lists are this project's)"

# First and second person, demonstratives, places and times, as single tokens.
_ENGLISH: Final = """
i me my mine myself we us our ours ourselves you your yours yourself yourselves
this that these those here there hither thither now then today tonight tomorrow yesterday ago
nowadays currently presently soon lately recently
"""
_SPANISH: Final = """
yo me mí conmigo mi mis mío mía míos mías nosotros nosotras nos nuestro nuestra nuestros nuestras
tú te ti contigo tu tus tuyo tuya tuyos tuyas vos vosotros vosotras os
vuestro vuestra vuestros vuestras usted ustedes
este esta esto estos estas éste ésta éstos éstas ese esa eso esos esas ése ésa ésos ésas
aquel aquella aquello aquellos aquellas aquél aquélla aquéllos aquéllas
aquí acá ahí allí allá acullá ahora entonces hoy ayer anteayer anoche mañana actualmente recientemente
"""
WORDS: Final[Mapping[str, frozenset[str]]] = {
    "en": frozenset(_ENGLISH.split()),
    "es": frozenset(_SPANISH.split()),
}


@dataclass(frozen=True)
class Deictics(ColumnFamily):
    """Deictic words of both sides by lists: number, share, and source minus target.

    Shares are NaN for a text without tokens. Raises InputError for a language without a list.
    """

    plain: ClassVar[str] = "words such as this, here and now"

    @property
    def columns(self) -> Sequence[Column[BothSides[FloatArray]]]:
        return (
            Column("deictics_source", "source: deictic words", _WLV, "words", lambda m: m.source[0]),
            Column("deictics_target", "target: deictic words", _WLV, "words", lambda m: m.target[0]),
            Column("deictics_difference", "deictic words, source less target", _WLV, "words",
                   lambda m: m.source[0] - m.target[0]),
            Column("deictics_source_share", "source: share of deictic words", _WLV, "share",
                   lambda m: m.source[1]),
            Column("deictics_target_share", "target: share of deictic words", _WLV, "share",
                   lambda m: m.target[1]),
        )  # fmt: skip

    def prepared(self, segments: Segments) -> BothSides[FloatArray]:
        source = _counted(segments.source_tokens, segments.source_tokenizer)
        return BothSides(source, _counted(segments.target_tokens, segments.target_tokenizer))


def _counted(tokens: Tokens, tokenizer: Tokenizer) -> tuple[FloatArray, FloatArray]:
    if tokenizer.language not in WORDS:
        raise InputError(
            f"no list of deictic words for the language '{tokenizer.language}'",
            location="extractor 'deictics'",
            remedy=f"known: {', '.join(WORDS)}",
        )
    words = WORDS[tokenizer.language]
    by_type = np.array([word.lower() in words for word in tokens.types], np.float64)
    deictic = by_type[tokens.ids] if len(by_type) else np.empty(0)
    return segment_sum(deictic, tokens.offsets), segment_mean(deictic, tokens.offsets)
