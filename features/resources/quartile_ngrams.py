"""QuartileNgrams: n-grams of the best and of the worst translatable quarter of a sample of the corpus."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from features.core.corpus import ParallelCorpus
from features.core.progress import Progress, silent
from features.core.tokens import FloatArray, segment_mean
from features.resources._ngram_tables import Case
from features.resources.lexicon import Lexicon
from features.resources.ngrams import NgramCounts

SAMPLE = 20_000


class QuartileNgrams(NgramCounts):
    """N-gram counts of a quarter of `sample` pairs spread evenly over the corpus.

    SDL Language Weaver (WMT12, LF6-LF9) takes the quarters of a development set by the BLEU of their
    translation system. Without a system, pairs are ranked by how literally they translate: the mean over
    target words of log10 max t(target word | source word), IBM Model 1. Equal pairs keep their order.
    """

    parts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        f"{side}_{quarter}_quartile": {"side": side, "quarter": quarter, "order": 4}
        for side in ("source", "target")
        for quarter in ("best", "worst")
    }

    @classmethod
    def build(  # type: ignore[override]
        cls,
        corpus: ParallelCorpus,
        *,
        side: Literal["source", "target"],
        quarter: Literal["best", "worst"],
        order: int,
        lexicon_source_to_target: Lexicon,
        case: Case = "lower",
        sample: int = SAMPLE,
        progress: Progress = silent,
    ) -> Self:
        """Ranks the sample and counts the n-grams of one quarter of it, on one side."""
        rows = np.unique(np.linspace(0, len(corpus) - 1, min(sample, len(corpus))).astype(np.int64))
        pairs = corpus.take(rows)
        order_of = np.argsort(-literalness(pairs, lexicon_source_to_target), kind="stable")
        size = -(-len(rows) // 4)
        chosen: NDArray[np.int64] = np.sort(order_of[:size] if quarter == "best" else order_of[-size:])
        found = cls.from_tokens(
            pairs.side(side).take(chosen),
            order=order,
            case=case,
            progress=progress,
            fingerprint=corpus.fingerprint,
        )
        lexicon = lexicon_source_to_target.fingerprint
        found.settings = {
            "side": side,
            "quarter": quarter,
            "sample": sample,
            "lexicon": lexicon,
            **found.settings,
        }
        return found


def literalness(pairs: ParallelCorpus, lexicon: Lexicon) -> FloatArray:
    """(n,) mean over target words of the log10 of their best translation probability."""
    scores = lexicon.score(pairs.source, pairs.target)
    return segment_mean(np.log10(scores.maximum), scores.offsets)
