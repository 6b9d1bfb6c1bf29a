"""Pairs of translations that people compared, directly or by their scores."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.basics.errors import InputError
from qe_human.human import Human


@dataclass(frozen=True, eq=False)
class Pairs:
    """p pairs of n cells, in the order of their groups.

    cells        (n, 2) segment and system
    left, right  (p,) places in cells
    sign         (p,) 1 if people found left better, -1 if right, 0 for a tie
    starts       (g + 1,) where the pairs of each group start
    groups       (g,) segment of each group
    """

    cells: IntArray
    first_item: NDArray[np.int32]
    right: NDArray[np.int32]
    sign: NDArray[np.int8]
    starts: IntArray
    groups: IntArray


def pairs_within_segments(human: Human, defined: BoolArray, *, ties: bool) -> Pairs:
    """All pairs of systems on each segment; from rankings, every judgement is a pair.

    ties  whether pairs that people found equal are among them

    Raises InputError if no two translations of a segment are judged.
    """
    if human.scores is None and human.preferences is None:
        raise InputError("needs human judgements of segments, but there are only system scores")
    segment, a, b, sign = (
        _of_scores(human, defined) if human.scores is not None else _of_rankings(human, defined)
    )
    if not ties:
        decided = sign != 0
        segment, a, b, sign = segment[decided], a[decided], b[decided], sign[decided]
    if not len(segment):
        raise InputError("needs translations of one segment with human scores and scores of all metrics")
    order = np.argsort(segment, kind="stable")
    segment, a, b, sign = segment[order], a[order], b[order], sign[order]
    systems = len(human.systems)
    used, places = np.unique(np.append(segment * systems + a, segment * systems + b), return_inverse=True)
    first_item, right = places.reshape(2, -1).astype(np.int32)
    groups, starts = np.unique(segment, return_index=True)
    cells = np.stack([used // systems, used % systems], axis=1)
    return Pairs(cells, first_item, right, sign.astype(np.int8), np.append(starts, len(segment)), groups)


def _of_scores(human: Human, defined: BoolArray) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    scores = human.scores
    if scores is None:
        raise ValueError("no human scores")
    judged = defined & ~np.isnan(scores)
    parts = []
    for a, b in human.pairs:
        rows = np.flatnonzero(judged[:, a] & judged[:, b])
        parts.append((rows, 0 * rows + a, 0 * rows + b, np.sign(scores[rows, a] - scores[rows, b])))
    none = np.empty(0, np.int64)
    if not parts:
        return none, none, none, np.empty(0)
    segment, first_item, right, sign = (np.concatenate(column) for column in zip(*parts, strict=True))
    return segment, first_item, right, sign


def _of_rankings(human: Human, defined: BoolArray) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    judged = human.preferences
    if judged is None:
        raise ValueError("no rankings")
    both = defined[judged.segment, judged.first_item] & defined[judged.segment, judged.right]
    outcome = judged.outcome[both].astype(np.float64)
    return judged.segment[both], judged.first_item[both], judged.right[both], outcome
