"""chrF and chrF++."""

from collections.abc import Sequence
from dataclasses import dataclass
from string import punctuation
from typing import Any, ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from features.edits.ngram_matches import Ids, Offsets, matched_ngrams, ngram_counts, segment_counts
from features.edits.ter import common_ids
from features.text.tokens import Tokens, ratio
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts

_PUNCTUATION = frozenset(punctuation)


@dataclass(frozen=True)
class Chrf(TextMetric):
    """Character n-gram F-score, 0 to 100; with `word_order=2`, chrF++.

    statistics   per order (characters first, then words): hypothesis, reference and matched n-grams

    Precision and recall are means over the orders that both sides have; of several references a segment
    takes the one with the best F. A text without n-grams on one side scores 0. Equal to sacrebleu.

    Source: Popović 2015 (chrF), 2016 (beta = 2), 2017 (chrF++).

    >>> round(Chrf().score(["the cat is on the mat"], [["the cat sat on the mat"]]), 4)
    61.9252
    """

    title: ClassVar[str] = "chrF"
    higher_is_better: ClassVar[bool | None] = True
    order: int = 6
    word_order: int = 0
    beta: float = 2.0
    lowercase: bool = False
    white_space: bool = False

    def signature_parts(self) -> dict[str, Any]:
        beta = {} if self.beta == 2 else {"beta": f"{self.beta:g}"}
        return {
            "case": "lc" if self.lowercase else "mixed", "eff": "yes", "nc": self.order,
            "nw": self.word_order, "space": self.white_space, **beta,
        }  # fmt: skip

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        against = np.stack([self._against(hypotheses, reference) for reference in references])
        best = self.aggregate(against).argmax(axis=0)
        nearest: FloatArray = against[best, np.arange(len(best))]
        return nearest

    def _against(self, hypotheses: Texts, reference: Texts) -> FloatArray:
        sides = [t.characters(self.lowercase, self.white_space) for t in (hypotheses, reference)]
        parts = [_counts([(side.ids, side.offsets) for side in sides], self.order)]
        if self.word_order > 0:
            words = [self._words(hypotheses), self._words(reference)]
            offsets = [side.offsets for side in words]
            parts.append(_counts(list(zip(common_ids(*words), offsets, strict=True)), self.word_order))
        return np.hstack(parts)

    def _words(self, texts: Texts) -> Tokens:
        lines = (line.lower() for line in texts.lines) if self.lowercase else texts.lines
        return Tokens.from_lists(_separate_punctuation(line) for line in lines)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        hypothesis, reference, matched = (sums[..., i::3] for i in range(3))
        both = (hypothesis > 0) & (reference > 0)
        orders = both.sum(axis=-1)
        precision = np.nan_to_num(ratio(np.where(both, ratio(matched, hypothesis), 0).sum(axis=-1), orders))
        recall = np.nan_to_num(ratio(np.where(both, ratio(matched, reference), 0).sum(axis=-1), orders))
        weight = self.beta**2
        return 100 * np.nan_to_num(ratio((1 + weight) * precision * recall, weight * precision + recall))


def _counts(sides: Sequence[tuple[Ids, Offsets]], order: int) -> FloatArray:
    hypothesis, reference = (ngram_counts(np.diff(offsets), order) for _, offsets in sides)
    matched = segment_counts(matched_ngrams(sides[0], sides[1:], order), sides[0][1])
    hypothesis = np.where(reference > 0, hypothesis, 0)
    return np.stack([hypothesis, reference, matched], axis=-1).reshape(len(matched), 3 * order).astype(float)


def _separate_punctuation(line: str) -> list[str]:
    words: list[str] = []
    for word in line.split():
        if len(word) > 1 and word[-1] in _PUNCTUATION:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in _PUNCTUATION:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words
