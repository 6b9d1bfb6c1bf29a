"""Sharing: fitted extractors that serve several folds at once, so that fewer are fitted.

Behind the training rows of k folds, each cross-fitted in c parts, are k (c + 1) fits, no two on the same
rows. Here the folds lie in m groups. One fit on all rows outside the groups a and b gives values to the rows
of b where a fold of a is held out, and to those of a where one of b is; one on the rows outside a, to the
others of a. These are m (m - 1) / 2 + m fits, and one more for every fold that is not a group by itself. No
row's value ever comes from its own label, or from a label of the fold that is held out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray

Rows = NDArray[np.int64]

FEWEST = 5  # folds: with fewer, what lies outside two groups is too little to learn from
_GROUPS = 7  # five sevenths are learned from, as by five parts in nine tenths


@dataclass(frozen=True, eq=False)
class Sharing:
    """k folds of n rows in groups; `held_out` (k arrays) are a partition of the rows."""

    held_out: Sequence[Rows]

    @classmethod
    def of(cls, folds: Sequence[tuple[Rows, Rows]]) -> "Sharing | None":
        """None if there are too few folds, or they are no partition into training and held-out rows."""
        if len(folds) < FEWEST:
            return None
        n = sum(len(held_out) for _, held_out in folds)
        together = np.sort(np.concatenate([held_out for _, held_out in folds]))
        if not np.array_equal(together, np.arange(n)) or any(len(a) + len(b) != n for a, b in folds):
            return None
        return cls([held_out for _, held_out in folds])

    @property
    def n(self) -> int:
        return sum(map(len, self.held_out))

    @cached_property
    def group_of(self) -> list[int]:
        """The group of every fold."""
        parts = np.array_split(np.arange(len(self.held_out)), min(_GROUPS, len(self.held_out)))
        return [group for group, part in enumerate(parts) for _ in part]

    @cached_property
    def rows(self) -> list[Rows]:
        """The rows of every group, ascending."""
        groups = range(max(self.group_of) + 1)
        return [np.sort(np.concatenate(self._folds_in(group))) for group in groups]

    def _folds_in(self, group: int) -> list[Rows]:
        return [rows for rows, its in zip(self.held_out, self.group_of, strict=True) if its == group]

    def outside(self, *rows: Rows) -> Rows:
        """All rows but these."""
        return np.setdiff1d(np.arange(self.n), np.concatenate(rows))

    def fits(self) -> list[tuple[Rows, list[tuple[tuple[int, int], Rows]]]]:
        """The fits and what each is asked for.

        Training rows; then (held-out group, asked group) with the rows of the asked group.
        """
        alone = [(self.outside(rows), [((group, group), rows)]) for group, rows in enumerate(self.rows)]
        pairs = [
            (self.outside(self.rows[a], self.rows[b]), [((a, b), self.rows[b]), ((b, a), self.rows[a])])
            for a, b in combinations(range(len(self.rows)), 2)
        ]
        return [*alone, *pairs]

    def behind(self, held_out: int | None) -> list[tuple[Rows, Rows]]:
        """Rows to learn from, and rows that get values by them, for the training rows of one fold.

        held_out  the fold; None: all rows are training rows. Rows that it holds out are among the last.
        """
        own = None if held_out is None else self.group_of[held_out]
        return [
            (self.outside(rows) if own in (None, group) else self.outside(self.rows[own], rows), rows)
            for group, rows in enumerate(self.rows)
        ]

    def trained(self, values: dict[tuple[int, int], FloatArray], held_out: int | None) -> FloatArray:
        """(n, c) values of one fold's training rows (None: all rows); NaN for rows held out."""
        result = np.full((self.n, values[0, 0].shape[1]), np.nan)
        for group, rows in enumerate(self.rows):
            result[rows] = values[group if held_out is None else self.group_of[held_out], group]
        if held_out is not None:
            result[self.held_out[held_out]] = np.nan
        return result
