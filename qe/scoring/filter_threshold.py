"""Threshold: which scores are good enough, of a model or of a column of the input."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from features.basics.errors import InputError
from features.basics.numerals import real
from qe.data.table_rows import Row
from qe.display.numbers import number
from qe.scoring.scorer import Scorer


@dataclass(frozen=True, eq=False)
class Threshold:
    """worst: the worst score that passes; of a scorer, or of the column of that name.

    A pair without a score does not pass.
    """

    worst: float
    higher_is_better: bool
    scorer: Scorer | None = None
    column: str = "score"

    def reasons(self, rows: Sequence[Row]) -> list[str]:
        """Why each row does not pass, or an empty string."""
        if self.scorer is None:
            return [self._verdict(*self._read(row)) for row in rows]
        outputs = self.scorer.score(rows).rows if rows else []
        return [self._verdict(output["score"], output["reason"]) for output in outputs]

    def check(self, declared: Sequence[str] | None) -> None:
        """Raises InputError if the header of the input lacks the column of scores."""
        if self.scorer is None and declared is not None and self.column not in declared:
            raise InputError(
                f"there is no column '{self.column}'",
                location="--worst",
                remedy=f"score the input first, or give --model; the input has {', '.join(declared)}",
            )

    def _read(self, row: Row) -> tuple[float | None, str]:
        columns, _ = row
        try:
            value = real(str(columns[self.column]))
        except (KeyError, TypeError, ValueError):
            return None, ""
        return (value, "") if math.isfinite(value) else (None, "")

    def _verdict(self, score: float | None, reason: str) -> str:
        if score is None:
            return reason or "no score"
        sign = 1 if self.higher_is_better else -1
        return "" if sign * score >= sign * self.worst else f"score {number(score)}"
