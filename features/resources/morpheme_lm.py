"""MorphemeLanguageModel: n-gram models of morphemes."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from features.core.corpus import ParallelCorpus
from features.core.progress import Progress, silent
from features.resources.annotation import Side
from features.resources.language_model import LanguageModel
from features.resources.morphemes import Morphemes

ORDER = 6  # DFKI (Popovic 2012), section 2.2: MLM6
SAMPLE = 100_000  # pairs; there 97,122 (table 1)


def spread(pairs: int, sample: int) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Rows of `sample` pairs spread evenly over a corpus, or all of them."""
    return np.unique(np.linspace(0, pairs - 1, min(sample, pairs)).astype(np.int64))


class MorphemeLanguageModel(LanguageModel):
    """A language model of the morphemes of one side, from `sample` pairs spread over the corpus."""

    parts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        f"{side}_morpheme_lm": {"side": side, "order": ORDER, "morphemes": f"{side}_morphemes"}
        for side in ("source", "target")
    }

    @classmethod
    def build(  # type: ignore[override]
        cls,
        corpus: ParallelCorpus,
        *,
        side: Side,
        order: int,
        morphemes: Morphemes,
        sample: int = SAMPLE,
        progress: Progress = silent,
    ) -> Self:
        """Smoothed as words are."""
        rows = spread(len(corpus), sample)
        model = cls.from_tokens(
            morphemes.units(corpus.side(side).take(rows)),
            order=order,
            case="true",
            progress=progress,
            corpus_fingerprint=corpus.fingerprint,
        )
        model.settings = {
            "side": side,
            "morphemes": morphemes.fingerprint,
            "sample": len(rows),
            **model.settings,
            "arpa": False,
        }
        return model
