"""Units instead of words: a layer of the corpus' annotation, or morphemes."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from features.basics.hints import Count
from features.core.resource import Builder, OnlyForParts
from features.resources.annotation import Annotation
from features.resources.morphemes import Morphemes
from features.text.annotation import Layer
from features.text.corpus import ParallelCorpus, Side
from features.text.tokens import Tokens

SAMPLE: Final = 100_000  # pairs; DFKI (Popovic 2012), table 1: 97,122


@dataclass(frozen=True, kw_only=True)
class SideBuilder(Builder):
    """Builds from one side of the corpus: its words, or the units used instead of them.

    layer   of `annotation`, for parts that name one
    sample  pairs, spread over the corpus, whose words are split by `morphemes`, for parts that name these
    """

    side: Side
    layer: Annotated[Layer, OnlyForParts("annotation")] = "xpos"
    sample: Annotated[Count, OnlyForParts("morphemes")] = SAMPLE
    annotation: Annotation | None = None
    morphemes: Morphemes | None = None

    def text(self, corpus: ParallelCorpus) -> Tokens:
        if self.annotation is not None:
            return self.annotation.layer(self.layer)
        if self.morphemes is not None:
            return self.morphemes.units(corpus.side(self.side).take(corpus.spread(self.sample)))
        return corpus.side(self.side)

    def units(self, text: Tokens) -> dict[str, Any]:
        if self.annotation is not None:
            return {"layer": self.layer, "annotation": self.annotation.fingerprint}
        if self.morphemes is not None:
            return {"sample": len(text), "morphemes": self.morphemes.fingerprint}
        return {}
