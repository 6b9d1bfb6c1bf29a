"""Scores of segments from a file, such as a neural metric writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from features.basics.array_types import FloatArray
from qe.systems.mt_metrics.table import Table
from qe.systems.text_metric import TextMetric
from qe.systems.texts import Texts


@dataclass(frozen=True)
class SegmentScores(TextMetric):
    """The mean of one finite number per line.

    statistics   score, 1

    Raises InputError, with file and line, for what is no finite number.

    >>> SegmentScores().score(["0.5", "0.7"], [])
    0.6
    """

    higher_is_better: ClassVar[bool | None] = True
    needs_references: ClassVar[bool] = False

    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        return Table("mean").statistics(hypotheses, references)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        return Table("mean").aggregate(sums)

    def signature_parts(self) -> dict[str, Any]:
        return {"scores": "file", "mean": "segments"}


@dataclass(frozen=True)
class SegmentErrors(SegmentScores):
    """SegmentScores for a metric by which lower is better."""

    higher_is_better: ClassVar[bool | None] = False
