"""PairTable: a corpus's word pairs, a probability per direction, and their places."""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class PairTable:
    """Sparse rows of source words, columns (target words) ascending.

    forward / backward            (entries,) t(target | source), t(source | target)
    forward_null / backward_null  (vocabulary,) t(target | NULL), t(source | NULL)
    """

    offsets: Longs
    columns: Ints
    forward: Singles
    backward: Singles
    forward_null: Singles
    backward_null: Singles

    @property
    def rows(self) -> Ints:
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))

    def filtered(self, keep: NDArray[np.bool_]) -> "PairTable":
        before = np.concatenate(([0], np.cumsum(keep)))
        return PairTable(
            before[self.offsets],
            self.columns[keep],
            self.forward[keep],
            self.backward[keep],
            self.forward_null,
            self.backward_null,
        )

    def cells(
        self, source: Ints, source_offsets: Longs, target: Ints, target_offsets: Longs
    ) -> tuple[Ints, Longs]:
        """Entry numbers of all word pairs of sentence pairs; -1: not in the table. Each sentence pair is an
        (l, m) matrix, row by row. Also (n + 1,) offsets of the sentence pairs. Rows are spread over a dense
        array once per batch, so that a cell costs one read.
        """
        sizes = np.diff(source_offsets) * np.diff(target_offsets)
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        cells = np.empty(offsets[-1], np.int32)
        order = np.argsort(source, kind="stable")
        sentence = np.repeat(np.arange(len(sizes)), np.diff(source_offsets))
        _fill_cells(
            order,
            sentence,
            source,
            source_offsets,
            target,
            target_offsets,
            self.offsets,
            self.columns,
            np.full(len(self.forward_null), -1, np.int32),
            offsets,
            cells,
        )
        return cells, offsets


@numba.njit(cache=True, nogil=True)
def _fill_cells(
    order: Any,
    sentence: Any,
    source: Any,
    source_offsets: Any,
    target: Any,
    target_offsets: Any,
    rows: Any,
    columns: Any,
    dense: Any,
    offsets: Any,
    cells: Any,
) -> None:
    row = -1
    for token in order:
        if source[token] != row:
            if row >= 0:
                for e in range(rows[row], rows[row + 1]):
                    dense[columns[e]] = -1
            row = source[token]
            for e in range(rows[row], rows[row + 1]):
                dense[columns[e]] = e
        k = sentence[token]
        m = target_offsets[k + 1] - target_offsets[k]
        base = offsets[k] + (token - source_offsets[k]) * m
        for j in range(m):
            cells[base + j] = dense[target[target_offsets[k] + j]]
