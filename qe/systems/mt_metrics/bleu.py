"""BLEU."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.edits.ngram_matches import ngram_counts, segment_counts
from qe.display.numbers import fixed
from qe.systems.mt_metrics._lengths import closest_lengths
from qe.systems.mt_metrics._ngrams import NgramMetric
from qe.systems.texts import Texts

_SMOOTH_VALUES = {"floor": 0.1, "add-k": 1.0}  # sacrebleu's


@dataclass(frozen=True)
class Bleu(NgramMetric):
    """BLEU, 0 to 100, with the closest reference length (ties: the shorter).

    statistics   hypothesis length, reference length, matched n-grams (order), hypothesis n-grams (order)

    By exp, an order without any match counts 1 / (2^k total), k the number of such orders so far, as
    mteval-v13a does; by floor, smooth_value / total; add-k adds smooth_value to matches and total of the
    orders above 1. A text without one matching word, or shorter than `order` words, scores 0.

    Source: Papineni et al. 2002, section 2; smoothing: Chen and Cherry 2014, as sacrebleu has it.

    Raises InputError for a smooth_value that is not above 0, or that the smoothing does not take.

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
        shared = self.shared(hypotheses, references)
        tokens, matched = shared.tokens, shared.matched
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
