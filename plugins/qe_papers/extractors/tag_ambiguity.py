"""How many words of a text the tagger had to choose a tag for, or did not know."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

from features.basics.array_types import FloatArray
from features.core.columns import Column, block, features_of
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from qe_papers.resources.tag_dictionary import TagDictionary

SIDES: Final = "source", "target"
_DCU: Final = "DCU-SYMC at WMT12, section 3.2 (there TreeTagger's dictionary)"


@dataclass(frozen=True)
class TagAmbiguity(Extractor):
    """Shares of words with several tags, and with none, in the annotated corpus."""

    plain: ClassVar[str] = "words of the {text} that may be nouns, verbs or others"

    source_tag_dictionary: TagDictionary
    target_tag_dictionary: TagDictionary

    @property
    def features(self) -> Sequence[Feature]:
        return features_of(COLUMNS)

    def extract(self, segments: Segments) -> FloatArray:
        return block(COLUMNS, _Batch(self, segments))


@dataclass(frozen=True, eq=False)
class _Batch:
    resources: TagAmbiguity
    segments: Segments


def _share(batch: _Batch, side: str, statistic: str) -> FloatArray:
    dictionary: TagDictionary = getattr(batch.resources, f"{side}_tag_dictionary")
    tokens = batch.segments.source_tokens if side == "source" else batch.segments.target_tokens
    return dictionary.ambiguous(tokens) if statistic == "ambiguous" else dictionary.unknown(tokens)


def _columns() -> Iterator[Column[_Batch]]:
    for side in SIDES:
        for statistic, what in (("ambiguous", "that have several tags in"), ("unknown", "that are not in")):
            yield Column(
                f"tags_{side}_{statistic}",
                f"{side}: share of tokens {what} the annotated corpus; undefined without tokens",
                _DCU,
                "share",
                partial(_share, side=side, statistic=statistic),
            )


COLUMNS: Final = tuple(_columns())
