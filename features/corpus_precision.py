"""N-gram precision against the corpus, and against its best and worst quarter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from features.comparisons.comparison import smoothed_precision
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.resources.ngrams import NgramCounts
from features.resources.quartile_ngrams import QuartileNgrams
from features.text.tokens import Tokens, segment_sum

ORDER = 4

# (suffix of the column, field without the side, what it is, number in the paper by side)
_REFERENCES = (
    ("all", "ngrams5", "the corpus", {"source": 4, "target": 5}),
    (
        "best",
        "best_quartile",
        "the quarter of a corpus sample that translates best",
        {"source": 6, "target": 7},
    ),
    ("worst", "worst_quartile", "the quarter that translates worst", {"source": 8, "target": 9}),
)


@dataclass(frozen=True)
class CorpusPrecision(Extractor):
    """BLEU without brevity penalty, with corpus segments as references.

    The geometric mean of the shares of 1- to 4-grams that occur in them, smoothed by one from bigrams on.
    N-grams that a segment repeats count each time, as some corpus segment repeats them too where they are
    frequent. NaN for an empty text.
    """

    plain: ClassVar[str] = "how much of the {text} is like known texts"

    source_ngrams5: NgramCounts
    target_ngrams5: NgramCounts
    source_best_quartile: QuartileNgrams
    target_best_quartile: QuartileNgrams
    source_worst_quartile: QuartileNgrams
    target_worst_quartile: QuartileNgrams

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(f"corpus_precision_{side}_{name}",
                f"smoothed 1-4-gram precision of the {side} against {what}; NaN if empty",
                f"SDL Language Weaver at WMT12, LF{number[side]}", "share")
            for side in ("source", "target")
            for name, _, what, number in _REFERENCES
        ]  # fmt: skip

    def extract(self, segments: Segments) -> FloatArray:
        sides = {"source": segments.source_tokens, "target": segments.target_tokens}
        columns = [
            _precision(getattr(self, f"{side}_{part}"), tokens)
            for side, tokens in sides.items()
            for _, part, _, _ in _REFERENCES
        ]
        return np.column_stack(columns)


def _precision(ngrams: NgramCounts, tokens: Tokens) -> FloatArray:
    times = ngrams.counts_by_order(tokens, ORDER)
    matched = np.column_stack([segment_sum(counts > 0, offsets) for counts, offsets in times])
    total = np.column_stack([np.diff(offsets) for _, offsets in times])
    return smoothed_precision(matched, total)
