"""Counts for Prometheus of what an answer says of the translations.

No client can make them without end.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from qe.models.drift import Counts
from qe.models.guard.guard import MARKED

_BINS = 10
KINDS = ("empty", "too long", "unreadable", "no route")  # of reasons why a row has no score


@dataclass(frozen=True)
class Quality:
    """Counts of the rows of an answer.

    unscored  kind of reason -> rows
    outside   rows that are marked as unlike the training data
    actions   triage action -> rows
    looks     how the scored rows look, where the model has a profile of its training data
    """

    scores: Sequence[float] = ()
    unscored: Mapping[str, int] = field(default_factory=dict)
    outside: int = 0
    actions: Mapping[str, int] = field(default_factory=dict)
    looks: Counts | None = None

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]], looks: Counts | None = None) -> "Quality":
        """Counts of output rows of a scorer."""
        return cls(
            [row["score"] for row in rows if row["score"] is not None],
            Counter(kind_of(row["reason"]) for row in rows if row["score"] is None),
            sum((row.get("outside") or 0) >= MARKED for row in rows),
            Counter(row["action"] for row in rows if row.get("action")),
            looks,
        )


def kind_of(reason: str) -> str:
    """The kind of a reason, without the values in it.

    >>> kind_of("target has 2,001 words, but a text has at most 2,000"), kind_of("empty source")
    ('too long', 'empty')
    """
    if reason.startswith("no route "):
        return "no route"
    if reason.startswith(("empty ", "no ")):
        return "empty"
    return "too long" if "but a text has at most" in reason else "unreadable"


def bounds(low: float | None, high: float | None, predictions: FloatArray) -> list[float]:
    """Upper bounds of a histogram of scores.

    They are tenths of a closed scale, else deciles of known predictions.

    >>> bounds(0, 1, np.array([]))[:3]
    [0.1, 0.2, 0.3]
    """
    if low is not None and high is not None:
        inner = np.linspace(low, high, _BINS + 1)[1:]
    else:
        inner = (
            np.unique(np.quantile(predictions, np.linspace(0, 1, _BINS + 1)[1:]))
            if len(predictions)
            else predictions
        )
    return [float(f"{value:.6g}") for value in inner.tolist()]
