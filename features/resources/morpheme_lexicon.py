"""MorphemeLexicon: IBM Model 1 between morphemes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

from features.core.corpus import ParallelCorpus
from features.core.progress import Progress, silent
from features.resources.lexicon import Lexicon
from features.resources.morpheme_lm import SAMPLE, spread
from features.resources.morphemes import Morphemes


class MorphemeLexicon(Lexicon):
    """t(morpheme | morpheme of the other side), learned from `sample` pairs spread over the corpus.

    Popovic (WMT12), section 2.1, equations 2-3.
    """

    parts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        f"morpheme_lexicon_{direction}": {"direction": direction}
        for direction in ("source_to_target", "target_to_source")
    }

    @classmethod
    def build(  # type: ignore[override]
        cls,
        corpus: ParallelCorpus,
        *,
        source_morphemes: Morphemes,
        target_morphemes: Morphemes,
        direction: Literal["source_to_target", "target_to_source"],
        sample: int = SAMPLE,
        iterations: int = 5,
        prune: float = 1e-5,
        progress: Progress = silent,
    ) -> Self:
        """Textbook EM, as for words."""
        rows = spread(len(corpus), sample)
        source = source_morphemes.units(corpus.source.take(rows))
        target = target_morphemes.units(corpus.target.take(rows))
        given, words = (source, target) if direction == "source_to_target" else (target, source)
        found = cls.from_tokens(
            given,
            words,
            iterations=iterations,
            prune=prune,
            stage=f"IBM Model 1 of morphemes, {direction.replace('_', ' ')}",
            progress=progress,
            corpus_fingerprint=corpus.fingerprint,
        )
        settings = {
            "direction": direction,
            "sample": len(rows),
            "morphemes": [source_morphemes.fingerprint, target_morphemes.fingerprint],
            **found.settings,
        }
        return replace(found, settings=settings)
