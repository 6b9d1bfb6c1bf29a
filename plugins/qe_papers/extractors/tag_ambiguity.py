"""Shares of words with an ambiguous or unknown tag."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

from features.basics.array_types import FloatArray
from features.core.columns import Column
from features.core.segments import Segments
from qe_papers.families import ColumnFamily
from qe_papers.resources.tag_dictionary import TagDictionary

_DCU: Final = "DCU-SYMC at WMT12, section 3.2 (there TreeTagger's dictionary)"


_STATISTICS: Final = {"ambiguous": "that have several tags in", "unknown": "that are not in"}


@dataclass(frozen=True)
class TagAmbiguity(ColumnFamily):
    """Shares of words with several tags, and with none, in the annotated corpus."""

    plain: ClassVar[str] = "words of the {text} that may be nouns, verbs or others"

    source_tag_dictionary: TagDictionary
    target_tag_dictionary: TagDictionary

    @property
    def columns(self) -> Sequence[Column[Segments]]:
        return [
            Column(
                f"tags_{side}_{statistic}",
                f"{side}: share of tokens {what} the annotated corpus; undefined without tokens",
                _DCU,
                "share",
                partial(self._share, side, statistic),
            )
            for side in ("source", "target")
            for statistic, what in _STATISTICS.items()
        ]

    def prepared(self, segments: Segments) -> Segments:
        return segments

    def _share(self, side: str, statistic: str, segments: Segments) -> FloatArray:
        dictionary: TagDictionary = getattr(self, f"{side}_tag_dictionary")
        tokens = segments.source_tokens if side == "source" else segments.target_tokens
        return dictionary.ambiguous(tokens) if statistic == "ambiguous" else dictionary.unknown(tokens)
