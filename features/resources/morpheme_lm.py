"""MorphemeLanguageModel: n-gram models of morphemes."""

from dataclasses import dataclass
from typing import ClassVar

from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts
from features.resources.language_model import LanguageModel
from features.resources.morphemes import Morphemes
from features.text.corpus import ParallelCorpus, Side

ORDER = 6  # DFKI (Popovic 2012), section 2.2: MLM6
SAMPLE = 100_000  # pairs; there 97,122 (table 1)


@dataclass(frozen=True, kw_only=True)
class MorphemeLanguageModelBuilder(Builder):
    """From the morphemes of `sample` pairs, smoothed as words are."""

    side: Side
    order: Count
    morphemes: Morphemes
    sample: Count = SAMPLE

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "MorphemeLanguageModel":
        rows = corpus.spread(self.sample)
        model = MorphemeLanguageModel.from_tokens(
            self.morphemes.units(corpus.side(self.side).take(rows)),
            order=self.order,
            case="true",
            progress=progress,
            corpus_fingerprint=corpus.fingerprint,
        )
        return model.with_settings(**{**self.settings, "sample": len(rows), "arpa": False})


class MorphemeLanguageModel(LanguageModel):
    """A language model of the morphemes of one side, from `sample` pairs spread over the corpus."""

    parts: ClassVar[Parts] = {
        f"{side}_morpheme_lm": {"side": side, "order": ORDER, "morphemes": f"{side}_morphemes"}
        for side in ("source", "target")
    }
    builder = MorphemeLanguageModelBuilder
