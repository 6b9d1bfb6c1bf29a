"""Human judgements of translation pairs against the classifier's, by its confidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.numerals import finite_or_none
from qe.display.numbers import percent
from qe.display.table import Column, Table
from qe_human.terrorcat.frequencies import Frequencies
from qe_human.terrorcat.model import TerrorCat, differences_of
from qe_human.terrorcat.ranked_pairs import RankedPairs

LABELS = ("<", "=", ">")
DECISIONS = ("< 0.6-1.0", "< 0.3-0.6", "< 0.0-0.3", "0.0", "> 0.0-0.3", "> 0.3-0.6", "> 0.6-1.0")
_BOUNDS = (0.3, 0.6)


@dataclass(frozen=True, eq=False)
class Confusion:
    """(3, 7) pairs, each in both directions: by LABELS and DECISIONS. Labels are the first worse, equal,
    better.
    """

    counts: NDArray[np.int64]

    @property
    def precision(self) -> FloatArray:
        """(3, 7) of the decisions of a column, the share with each label; NaN in an empty column."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.counts / self.counts.sum(axis=0, keepdims=True))

    @property
    def recall(self) -> FloatArray:
        """(3, 7) of the pairs of a row, the share that each decision got; NaN in an empty row."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    def tables(self) -> list[Table]:
        """Precision and recall as the paper prints them."""
        columns = [Column("People"), *(Column(name) for name in DECISIONS)]
        return [
            Table(
                title, columns, [[label, *map(percent, row)] for label, row in zip(LABELS, rows, strict=True)]
            )
            for title, rows in (("Precision", self.precision), ("Recall", self.recall))
        ]

    def to_json(self) -> dict[str, Any]:
        shares = {"precision": self.precision, "recall": self.recall}
        return {
            "labels": list(LABELS),
            "decisions": list(DECISIONS),
            "counts": self.counts.tolist(),
            **{
                name: [[finite_or_none(float(v)) for v in row] for row in rows]
                for name, rows in shares.items()
            },
        }


def confusion(
    model: TerrorCat,
    pairs: RankedPairs,
    segment_names: Sequence[str],
    frequencies: Frequencies,
    reference: str = "_ref",
) -> Confusion:
    """Ranked and equal pairs by what people and the classifier say. Pairs without translations are left out.
    Raises InputError if no pair is left. Source: the TerrorCat paper, Table 4.
    """
    ranked = (pairs.segment, (pairs.better, pairs.worse), LABELS.index(">"))
    equal = (pairs.equals[0], (pairs.equals[1], pairs.equals[2]), LABELS.index("="))
    counts = np.zeros((len(LABELS), len(DECISIONS)), np.int64)
    for segments, sides, label in (ranked, equal):
        differences, _ = differences_of(pairs.systems, segments, sides, segment_names, frequencies, reference)
        if len(differences):
            margins = model.margins(differences)
            decided = np.sign(margins) * (1 + np.digitize(model.confidence(margins), _BOUNDS, right=True))
            np.add.at(counts[label], 3 + decided.astype(np.int64), 1)
    counts = counts + counts[::-1, ::-1]  # the other direction gives the exact opposite
    if not counts.any():
        raise InputError(
            "no judged pair has translations",
            remedy="systems and segments must have the names that the rankings give them; see --segments",
        )
    return Confusion(counts)
