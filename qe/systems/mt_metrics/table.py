"""Scores of counts or of scores per segment that the user gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.numerals import real
from features.text.tokens import ratio
from qe.systems.text_metric import MT_METRICS, TextMetric
from qe.systems.texts import Texts

_COLUMNS = {
    "f": ("matched", "predicted", "gold"),
    "precision": ("matched", "predicted", "gold"),
    "recall": ("matched", "predicted", "gold"),
    "ratio": ("numerator", "denominator"),
    "mean": ("value",),
}


@MT_METRICS.register("table")
@dataclass(frozen=True)
class Table(TextMetric):
    """A score of summed counts: each line of a run holds those of one segment, separated by blanks.

    statistics   what the lines hold: `matched predicted gold` for f, precision and recall, `numerator
                 denominator` for ratio, `value` for mean (and the number 1 besides)

    Higher is taken to be better. NaN if a denominator is 0. References are not read.

    >>> Table().score(["2 4 3", "1 1 2"], [])  # precision 3/5, recall 3/5
    0.6
    """

    higher_is_better: ClassVar[bool | None] = True
    needs_references: ClassVar[bool] = False
    score_of: Literal["f", "precision", "recall", "ratio", "mean"] = "f"
    beta: float = 1.0

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        rows = [
            self._numbers(line, f"{hypotheses.name}:{number}")
            for number, line in enumerate(hypotheses.lines, start=1)
        ]
        counts = np.array(rows, np.float64).reshape(len(rows), len(_COLUMNS[self.score_of]))
        return np.hstack([counts, np.ones((len(rows), 1))]) if self.score_of == "mean" else counts

    def _numbers(self, line: str, location: str) -> list[float]:
        names = _COLUMNS[self.score_of]
        try:
            values = [real(cell) for cell in line.split()]
        except ValueError:
            values = []
        if len(values) != len(names) or not np.isfinite(values).all():
            raise InputError(
                f"expected {len(names)} finite numbers ({' '.join(names)}), but got {line!r}",
                location=location,
            )
        return values

    def aggregate(self, sums: FloatArray) -> FloatArray:
        first = sums[..., 0]
        if self.score_of in ("ratio", "precision", "mean"):
            return ratio(first, sums[..., 1])
        if self.score_of == "recall":
            return ratio(first, sums[..., 2])
        weight = self.beta**2
        return ratio((1 + weight) * first, weight * sums[..., 2] + sums[..., 1])


NO_SCORE = "no score"


@dataclass(frozen=True)
class SegmentScores(TextMetric):
    """The mean of one finite number per line; lines of NO_SCORE do not count."""

    higher_is_better: ClassVar[bool | None] = True
    needs_references: ClassVar[bool] = False

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        missing = np.array([line == NO_SCORE for line in hypotheses.lines], np.bool_)
        lines = ["0" if line == NO_SCORE else line for line in hypotheses.lines]
        statistics = Table("mean").statistics(Texts.from_lines(lines, hypotheses.name), references)
        statistics[missing] = 0
        return statistics

    def aggregate(self, sums: FloatArray) -> FloatArray:
        return Table("mean").aggregate(sums)

    def signature_parts(self) -> dict[str, Any]:
        return {"scores": "file", "mean": "segments"}


@dataclass(frozen=True)
class SegmentErrors(SegmentScores):
    """SegmentScores for a metric by which lower is better."""

    higher_is_better: ClassVar[bool | None] = False


@dataclass(frozen=True)
class SegmentValues(SegmentScores):
    """SegmentScores for a metric by which neither direction is better, such as length."""

    higher_is_better: ClassVar[bool | None] = None


BY_DIRECTION = {True: SegmentScores, False: SegmentErrors, None: SegmentValues}
