"""Segments that tell most: where perceived effort and edits differ most."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from features.basics.array_types import FloatArray
from features.edits.edit_labels import EDITS, EditLabels
from qe_human.effort.texts import AnnotatedTexts


@dataclass(frozen=True)
class MarkedWord:
    """A word and what became of it.

    edit       one of EDITS
    partner    the word it is paired with; None for deleted and inserted words
    distance   how many places it moved
    grouped    whether it moved together with others
    """

    text: str
    edit: str
    word_class: str
    partner: str | None
    distance: int
    grouped: bool


@dataclass(frozen=True)
class MarkedSegment:
    """A translation and its post-edit, word by word.

    row          its place in the data, from 0
    discrepancy  share of segments that need less effort minus share that need fewer edits, -1 .. 1;
                 below 0: it was perceived as harder than its edits
    """

    row: int
    effort: float
    ter: float
    discrepancy: float
    source: str | None
    target: tuple[MarkedWord, ...]
    post_edit: tuple[MarkedWord, ...]


def discrepancies(effort: FloatArray, ter: FloatArray) -> FloatArray:
    """(n,) rank of the effort score minus rank of TER, as shares. A higher score is less effort; a lower TER
    is better. Segments with undefined TER are NaN.

    >>> discrepancies(np.array([1.0, 3, 5]), np.array([0.0, 0.5, 1.0])).round(3).tolist()
    [-0.667, 0.0, 0.667]
    """
    there = np.isfinite(ter) & np.isfinite(effort)
    result = np.full(len(ter), np.nan)
    result[there] = (rankdata(effort[there]) - rankdata(-ter[there])) / max(int(there.sum()), 1)
    return result


def most_telling(discrepancy: FloatArray, rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Up to `count` of the rows, those whose effort and edits differ most first."""
    defined = rows[np.isfinite(discrepancy[rows])]
    order = np.argsort(-np.abs(discrepancy[defined]), kind="stable")
    return np.asarray(defined[order[:count]])


def marked_segment(
    row: int,
    labels: EditLabels,
    texts: tuple[AnnotatedTexts, AnnotatedTexts],
    effort: float,
    ter: float,
    discrepancy: float,
    source: str | None = None,
) -> MarkedSegment:
    """One segment with its edits."""
    words = [side.words.words(row) for side in texts]
    classes = [side.classes.words(row) for side in texts]
    sides = (
        (labels.target, labels.partners, labels.target_order, labels.target_offsets),
        (labels.post_edit, labels.post_edit_partners, labels.post_edit_order, labels.post_edit_offsets),
    )
    marked = []
    for k, (edits, partners, order, offsets) in enumerate(sides):
        here = slice(int(offsets[row]), int(offsets[row + 1]))
        columns: Any = (edits[here], partners[here], order.distances[here], order.group_sizes[here])
        marked.append(
            tuple(
                MarkedWord(
                    word, EDITS[edit], word_class, words[1 - k][partner] if partner >= 0 else None,
                    distance, size > 1,
                )
                for word, word_class, edit, partner, distance, size in zip(
                    words[k], classes[k], *(column.tolist() for column in columns), strict=True
                )
            )
        )  # fmt: skip
    return MarkedSegment(row, effort, ter, discrepancy, source, *marked)
