"""Metrics of lengths and of the n-grams that a translation shares with its references: BLEU, NIST, chrF."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import punctuation
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.edits.ngram_matches import (
    ORDER,
    Ids,
    Offsets,
    information,
    matched_ngrams,
    ngram_counts,
    nist,
    segment_counts,
)
from features.edits.ter import common_ids
from features.text.tokens import Tokens, ratio
from qe.display.numbers import fixed
from qe.systems.text_metric import MT_METRICS, Rate, TextMetric
from qe.systems.texts import Texts, Tokenization, usual_tokenization, word_tokenization


def closest_lengths(hypotheses: Tokens, references: Sequence[Tokens]) -> NDArray[np.int64]:
    """(n,) length of the reference closest in length to each hypothesis, the shorter one of two."""
    lengths = np.sort(np.array([column.lengths for column in references]), axis=0)
    nearest = np.abs(lengths - hypotheses.lengths).argmin(axis=0)
    closest: NDArray[np.int64] = lengths[nearest, np.arange(lengths.shape[1])]
    return closest


@dataclass(frozen=True)
class NgramMetric(TextMetric):
    tokenized_by: ClassVar[Callable[[str], str] | None] = usual_tokenization
    tokenize: Tokenization = "none"
    lowercase: bool = False
    order: int = 4
    language: str = "en"

    def shared(
        self, hypotheses: Texts, references: Sequence[Texts]
    ) -> tuple[Sequence[Tokens], Sequence[Ids], NDArray[np.uint8]]:
        """Tokens and ids of all sides, and (order, n_tokens) flags of n-grams that match."""
        tokens = [t.tokens(self.tokenize, self.lowercase, self.language) for t in (hypotheses, *references)]
        ids = common_ids(*tokens)
        columns = list(zip(ids, (t.offsets for t in tokens), strict=True))
        return tokens, ids, matched_ngrams(columns[0], columns[1:], self.order)


_SMOOTH_VALUES = {"floor": 0.1, "add-k": 1.0}  # sacrebleu's


@MT_METRICS.register("bleu")
@dataclass(frozen=True)
class Bleu(NgramMetric):
    """BLEU, 0 to 100, with the closest reference length (ties: the shorter).

    statistics   hypothesis length, reference length, matched n-grams (order), hypothesis n-grams (order)

    By exp, an order without any match counts 1 / (2^k total), k the number of such orders so far, as
    mteval-v13a does; by floor, smooth_value / total; add-k adds smooth_value to matches and total of the
    orders above 1. A text without one matching word, or shorter than `order` words, scores 0.

    Source: Papineni et al. 2002, section 2; smoothing: Chen and Cherry 2014, as sacrebleu has it.

    Attributes
    ----------
    smooth : {'exp', 'floor', 'add-k', 'none'}
        Exp (Chen and Cherry's method 3), floor (1), add-k (2), none.
    smooth_value : float or None
        What floor and add-k count; None: 0.1 and 1.

    Examples
    --------
    >>> round(Bleu().score(["the cat is on the mat"], [["the cat sat on the mat"]]), 4)
    37.9918
    """

    title: ClassVar[str] = "BLEU"
    higher_is_better: ClassVar[bool | None] = True
    smooth: Literal["exp", "floor", "add-k", "none"] = "exp"
    smooth_value: float | None = None

    def __post_init__(self) -> None:
        if self.smooth_value is None:
            return
        if self.smooth not in _SMOOTH_VALUES:
            raise InputError(f"the smoothing {self.smooth} takes no smooth_value", remedy="leave it out")
        if not 0 < self.smooth_value < np.inf:
            raise InputError(f"smooth_value must be above 0, but got {self.smooth_value:g}")

    def signature_parts(self) -> dict[str, Any]:
        smooth = self.smooth + (f"[{fixed(self._value, 2)}]" if self.smooth in _SMOOTH_VALUES else "")
        parts = super().signature_parts()
        order = {} if self.order == 4 else {"order": self.order}
        return {"case": parts["case"], "eff": "no", "tok": parts["tok"], "smooth": smooth} | order

    @property
    def _value(self) -> float:
        return self.smooth_value or _SMOOTH_VALUES.get(self.smooth, 0.0)

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        tokens, _, matched = self.shared(hypotheses, references)
        lengths = np.stack([tokens[0].lengths, closest_lengths(tokens[0], tokens[1:])], axis=1)
        counts = segment_counts(matched, tokens[0].offsets), ngram_counts(tokens[0].lengths, self.order)
        return np.hstack([lengths, *counts]).astype(np.float64)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        return self._combine(sums, np.float64(self.order))

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        """BLEU of each segment, over the orders that it has (sacrebleu's effective order)."""
        total = self._smoothed(statistics[..., 2 : 2 + self.order], statistics[..., 2 + self.order :])[1]
        orders = (total > 0).sum(axis=-1)
        return self._combine(statistics, np.maximum(orders, 1).astype(np.float64), effective=True)

    def _combine(
        self, sums: FloatArray, orders: FloatArray | np.float64, effective: bool = False
    ) -> FloatArray:
        matched, total = sums[..., 2 : 2 + self.order], sums[..., 2 + self.order :]
        some = (matched > 0).any(axis=-1)
        matched, total = self._smoothed(matched, total)
        present = total > 0
        with np.errstate(divide="ignore", invalid="ignore"):  # log 0 is -inf: the score is 0; log -1: NaN
            logs = np.log(matched, out=np.zeros(matched.shape), where=present)
        logs -= np.log(total, out=np.zeros(matched.shape), where=present)
        penalty = np.minimum(0.0, 1 - sums[..., 1] / np.maximum(sums[..., 0], 1))
        score = 100 * np.exp(penalty + logs.sum(axis=-1) / orders)
        scores: FloatArray = np.where(some & (present.all(axis=-1) | effective), score, 0.0)
        return scores

    def _smoothed(self, matched: FloatArray, total: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.smooth == "add-k":
            added = np.where(np.arange(self.order) > 0, self._value, 0.0)
            return matched + added, total + added
        if self.smooth == "exp":
            return np.where(matched == 0, 0.5 ** np.cumsum(matched == 0, axis=-1), matched), total
        return np.where(matched == 0, self._value, matched), total


@MT_METRICS.register("nist")
@dataclass(frozen=True)
class Nist(NgramMetric):
    """Mean information of the matched n-grams, summed over orders, times a brevity penalty.

    statistics   information of matched n-grams (order), hypothesis n-grams (order), hypothesis length,
                 mean reference length

    The information of an n-gram is log2(count of its first n - 1 words / its count) in all the references
    given. An order without hypothesis n-grams adds 0; empty references give NaN.
    Source: Doddington 2002, equations 2 and 3, as in mteval-v13a.

    >>> round(Nist(order=1).score(["a b"], [["a b b c"]]), 4)  # (log2 4 + log2 2) / 2, penalty at 1/2
    0.1979
    """

    title: ClassVar[str] = "NIST"
    higher_is_better: ClassVar[bool | None] = True
    order: int = ORDER

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        tokens, ids, matched = self.shared(hypotheses, references)
        bits = segment_counts(matched * information(ids, tokens, self.order), tokens[0].offsets)
        lengths = np.stack([tokens[0].lengths, np.mean([t.lengths for t in tokens[1:]], axis=0)], axis=1)
        return np.hstack([bits, ngram_counts(tokens[0].lengths, self.order), lengths])

    def aggregate(self, sums: FloatArray) -> FloatArray:
        counts = sums[..., self.order : 2 * self.order]
        return nist(sums[..., : self.order], counts, sums[..., -2], sums[..., -1])


_PUNCTUATION = frozenset(punctuation)


@MT_METRICS.register("chrf")
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
        by_reference = []
        for reference in references:
            sides = [text.characters(self.lowercase, self.white_space) for text in (hypotheses, reference)]
            parts = [_counts([(side.ids, side.offsets) for side in sides], self.order)]
            if self.word_order > 0:
                words = [self._words(hypotheses), self._words(reference)]
                offsets = [side.offsets for side in words]
                parts.append(_counts(list(zip(common_ids(*words), offsets, strict=True)), self.word_order))
            by_reference.append(np.hstack(parts))
        against = np.stack(by_reference)
        best = self.aggregate(against).argmax(axis=0)
        nearest: FloatArray = against[best, np.arange(len(best))]
        return nearest

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


@MT_METRICS.register("length")
@dataclass(frozen=True)
class Length(Rate):
    """Hypothesis words per 100 words of the closest reference in length; neither direction is better.

    statistics   hypothesis length, reference length; NaN if the references are empty
    """

    title: ClassVar[str] = "Length"
    about: ClassVar[str] = "output in % of the reference"
    higher_is_better: ClassVar[bool | None] = None
    tokenized_by: ClassVar[Callable[[str], str] | None] = word_tokenization
    tokenize: Tokenization = "none"
    language: str = "en"

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        tokens = [t.tokens(self.tokenize, language=self.language) for t in (hypotheses, *references)]
        return np.stack([tokens[0].lengths, closest_lengths(tokens[0], tokens[1:])], axis=1).astype(
            np.float64
        )
