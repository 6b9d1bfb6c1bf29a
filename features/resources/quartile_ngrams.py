"""QuartileNgrams: n-grams of the best and worst translatable quarters of a corpus sample."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts
from features.resources.lexicon import Lexicon
from features.resources.ngrams import NgramCounts
from features.text.corpus import ParallelCorpus, Side
from features.text.ngram_tables import Case
from features.text.tokens import segment_mean

SAMPLE = 20_000


@dataclass(frozen=True, kw_only=True)
class QuartileNgramsBuilder(Builder):
    """Ranks the sample and counts the n-grams of one quarter of it, on one side."""

    side: Side
    quarter: Literal["best", "worst"]
    order: Count
    lexicon_source_to_target: Lexicon
    case: Case = "lower"
    sample: Count = SAMPLE

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "QuartileNgrams":
        rows = corpus.spread(self.sample)
        pairs = corpus.take(rows)
        ranking = np.argsort(-literalness(pairs, self.lexicon_source_to_target), kind="stable")
        size = -(-len(rows) // 4)
        chosen: NDArray[np.int64] = np.sort(ranking[:size] if self.quarter == "best" else ranking[-size:])
        counts = QuartileNgrams.from_tokens(
            pairs.side(self.side).take(chosen),
            order=self.order,
            case=self.case,
            progress=progress,
            fingerprint=corpus.fingerprint,
        )
        return counts.with_settings(
            side=self.side,
            quarter=self.quarter,
            sample=self.sample,
            lexicon=self.lexicon_source_to_target.fingerprint,
        )


class QuartileNgrams(NgramCounts):
    """N-gram counts of a quarter of `sample` pairs spread evenly over the corpus. SDL Language Weaver (WMT12,
    LF6-LF9) takes the quarters of a development set by the BLEU of their translation system. Without a
    system, pairs are ranked by how literally they translate: the mean over target words of log10 max t(target
    word | source word), IBM Model 1. Equal pairs keep their order.
    """

    parts: ClassVar[Parts] = {
        f"{side}_{quarter}_quartile": {"side": side, "quarter": quarter, "order": 4}
        for side in ("source", "target")
        for quarter in ("best", "worst")
    }
    builder = QuartileNgramsBuilder


def literalness(pairs: ParallelCorpus, lexicon: Lexicon) -> FloatArray:
    scores = lexicon.score(pairs.source, pairs.target)
    return segment_mean(np.log10(scores.maximum), scores.offsets)
