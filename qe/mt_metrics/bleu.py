"""BLEU."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.core.ngram_matches import matched_ngrams, ngram_counts, segment_counts
from features.core.ter import common_ids
from features.core.tokens import FloatArray
from qe.mt_metrics._base import TextMetric
from qe.mt_metrics._lengths import closest_lengths
from qe.mt_metrics._texts import Texts, Tokenization


@dataclass(frozen=True)
class Bleu(TextMetric):
    """BLEU, 0 to 100, with the closest reference length (ties: the shorter) and exponential smoothing.

    statistics   hypothesis length, reference length, matched n-grams (order), hypothesis n-grams (order)

    An order without any match counts 1 / (2^k total), k the number of such orders so far, as mteval-v13a
    does. A text without one matching word, or shorter than `order` words, scores 0.

    Source: Papineni et al. 2002, section 2; smoothing: Chen and Cherry 2014, method 3.

    >>> round(Bleu().score(["the cat is on the mat"], [["the cat sat on the mat"]]), 4)
    37.9918
    """

    higher_is_better: ClassVar[bool | None] = True
    tokenize: Tokenization = "none"
    lowercase: bool = False
    order: int = 4
    language: str = "en"

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        tokens = [t.tokens(self.tokenize, self.lowercase, self.language) for t in (hypotheses, *references)]
        ids = common_ids(*tokens)
        columns = list(zip(ids, (t.offsets for t in tokens), strict=True))
        matched = matched_ngrams(columns[0], columns[1:], self.order)
        lengths = np.stack([tokens[0].lengths, closest_lengths(tokens[0], tokens[1:])], axis=1)
        counts = segment_counts(matched, tokens[0].offsets), ngram_counts(tokens[0].lengths, self.order)
        return np.hstack([lengths, *counts]).astype(np.float64)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        return self._combine(sums, np.float64(self.order))

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        """As `aggregate`, but over the orders that the segment has (sacrebleu's effective order)."""
        orders = (statistics[..., 2 + self.order :] > 0).sum(axis=-1)
        return self._combine(statistics, np.maximum(orders, 1).astype(np.float64), effective=True)

    def _combine(
        self, sums: FloatArray, orders: FloatArray | np.float64, effective: bool = False
    ) -> FloatArray:
        matched, total = sums[..., 2 : 2 + self.order], sums[..., 2 + self.order :]
        misses = np.cumsum(matched == 0, axis=-1)
        smoothed = np.where(matched == 0, 0.5**misses, matched)
        present = total > 0
        logs = np.log(smoothed, out=np.zeros(smoothed.shape), where=present)
        logs -= np.log(total, out=np.zeros(smoothed.shape), where=present)
        penalty = np.minimum(0.0, 1 - sums[..., 1] / np.maximum(sums[..., 0], 1))
        score = 100 * np.exp(penalty + logs.sum(axis=-1) / orders)
        defined = (matched > 0).any(axis=-1) & (present.all(axis=-1) | effective)
        scores: FloatArray = np.where(defined, score, 0.0)
        return scores
