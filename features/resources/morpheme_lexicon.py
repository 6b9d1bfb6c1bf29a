"""MorphemeLexicon: IBM Model 1 between morphemes."""

from dataclasses import dataclass
from typing import ClassVar

from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts
from features.resources.lexicon import Lexicon, LexiconDirection, given_first
from features.resources.morpheme_lm import SAMPLE
from features.resources.morphemes import Morphemes
from features.text.corpus import ParallelCorpus


@dataclass(frozen=True, kw_only=True)
class MorphemeLexiconBuilder(Builder):
    """Textbook EM, as for words."""

    source_morphemes: Morphemes
    target_morphemes: Morphemes
    direction: LexiconDirection
    sample: Count = SAMPLE
    iterations: int = 5
    prune: float = 1e-5

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "MorphemeLexicon":
        rows = corpus.spread(self.sample)
        source = self.source_morphemes.units(corpus.source.take(rows))
        target = self.target_morphemes.units(corpus.target.take(rows))
        lexicon = MorphemeLexicon.from_tokens(
            *given_first(self.direction, source, target),
            iterations=self.iterations,
            prune=self.prune,
            stage=f"IBM Model 1 of morphemes, {self.direction.replace('_', ' ')}",
            progress=progress,
            corpus_fingerprint=corpus.fingerprint,
        )
        return lexicon.with_settings(
            direction=self.direction,
            sample=len(rows),
            morphemes=[self.source_morphemes.fingerprint, self.target_morphemes.fingerprint],
        )


class MorphemeLexicon(Lexicon):
    """t(morpheme | morpheme of the other side), learned from `sample` pairs spread over the corpus.

    Popovic (WMT12), section 2.1, equations 2-3.
    """

    parts: ClassVar[Parts] = {
        f"morpheme_lexicon_{direction}": {"direction": direction}
        for direction in ("source_to_target", "target_to_source")
    }
    builder = MorphemeLexiconBuilder
