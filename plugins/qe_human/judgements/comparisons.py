"""Pairwise comparisons: what each ranking task of a language pair says of each pair."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qe_human.judgements.pairwise import PairwiseCounts

CodeArray = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Comparisons:
    """m comparisons from n tasks, task by task. In one task, one judge ranks the translations of one
    segment.

    systems      k names, sorted; left and right are indices
    left, right  (m,) the systems compared; left < right
    outcome      (m,) 1 if left was judged better, -1 if right was, 0 for a tie
    task         (m,) which task a comparison is from, never falling; tasks that say nothing have none
    segment      (n,) code of each task's segment
    judge        (n,) code of each task's judge
    with_itself  how often a task compared a system with itself
    silent       systems that were shown, but compared with no other; they are not among the k
    """

    systems: tuple[str, ...]
    first_item: CodeArray
    right: CodeArray
    outcome: NDArray[np.int8]
    task: CodeArray
    segment: CodeArray
    judge: CodeArray
    with_itself: int = 0
    silent: tuple[str, ...] = ()

    @property
    def tasks(self) -> int:
        return len(self.segment)

    @property
    def cells(self) -> CodeArray:
        """(m,) the place in a flat (2, k, k) array, wins above ties, that a comparison adds 1 to."""
        k = len(self.systems)
        better = np.where(self.outcome < 0, self.right, self.first_item)
        worse = np.where(self.outcome < 0, self.first_item, self.right)
        return np.asarray(better * k + worse + (self.outcome == 0) * (k * k), np.int32)

    def counts(self) -> PairwiseCounts:
        """How often each pair of systems was judged which way."""
        wins, ties = tables(np.bincount(self.cells, minlength=2 * len(self.systems) ** 2), len(self.systems))
        return PairwiseCounts(self.systems, wins, ties)


def tables(flat: NDArray[np.int64], systems: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(..., 2 k k) sums over `Comparisons.cells` -> (..., k, k) wins and symmetric ties."""
    both = flat.reshape(*flat.shape[:-1], 2, systems, systems)
    ties = both[..., 1, :, :]
    return both[..., 0, :, :], ties + np.swapaxes(ties, -1, -2)


def comparisons(
    systems: tuple[str, ...],
    appearances: CodeArray,
    ranks: NDArray[np.int16],
    segment: CodeArray,
    judge: CodeArray,
) -> Comparisons:
    """All pairs of every task.

    systems  k names, sorted
    shown  (n, w) index of the system at each place of a task, -1 for an empty place
    ranks  (n, w) its rank, lower is better; -1 where left blank
    """
    left_place, right_place = np.triu_indices(appearances.shape[1], 1)  # none if tasks show one system
    first_item, right = appearances[:, left_place], appearances[:, right_place]
    judged = (np.minimum(first_item, right) >= 0) & (ranks[:, left_place] > 0) & (ranks[:, right_place] > 0)
    itself = judged & (first_item == right)
    judged &= first_item != right
    outcome = np.sign(ranks[:, right_place] - ranks[:, left_place])[judged]
    task = np.nonzero(judged)[0]
    first_item, right = first_item[judged], right[judged]
    outcome = np.where(first_item < right, outcome, -outcome)
    compared, codes = np.unique(np.concatenate([first_item, right]), return_inverse=True)
    left_code, right_code = codes.reshape(2, -1)
    return Comparisons(
        tuple(systems[i] for i in compared),
        np.minimum(left_code, right_code).astype(np.int32),
        np.maximum(left_code, right_code).astype(np.int32),
        outcome.astype(np.int8),
        task.astype(np.int32),
        segment,
        judge,
        int(itself.sum()),
        tuple(name for i, name in enumerate(systems) if i not in compared),
    )
