"""Values of a sparse table for all word pairs of two texts, for batches of texts."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import offsets_of
from features.storage.compact import read_at
from features.text.ngram_tables import child

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Singles = NDArray[np.float32]
Table = tuple[Longs, Any, Any]  # offsets of the rows; columns, ascending in each row; values: what `at` reads
Texts = tuple[Ints, Longs]  # ids, offsets

_CELLS: Final = 1 << 22  # at a time: 16 MB
_SEARCH: Final = 8  # entries of a row that cost as much to spread as one to search for


def pair_values(
    table: Table, width: int, row_texts: Texts, column_texts: Texts
) -> Iterator[tuple[int, Longs, Singles]]:
    """Blocks of texts: the first text, (n + 1,) offsets of its texts' cells, the cells.

    Text k has a cell for each left word (rows of the table) and, within, each right word (columns, below
    `width`); 0 if the table has no such pair.
    """
    (left_ids, left_offsets), right = row_texts, (column_texts[0], np.asarray(column_texts[1]))
    sizes = np.diff(left_offsets) * np.diff(right[1])
    for first, last in _blocks(sizes):
        offsets = offsets_of(sizes[first:last])
        start, end = left_offsets[first], left_offsets[last]
        here = np.ascontiguousarray(left_ids[start:end]), np.asarray(left_offsets) - start
        order = np.argsort(here[0], kind="stable")
        text = np.repeat(np.arange(first, last), np.diff(left_offsets[first : last + 1]))
        cells = np.empty(offsets[-1], np.float32)
        _fill(order, text, here, right, table, np.zeros(width, np.float32), offsets, first, cells)
        yield first, offsets, cells


def _blocks(sizes: Longs) -> Iterator[tuple[int, int]]:
    before = offsets_of(sizes)
    edges = np.searchsorted(before, np.arange(0, before[-1] + _CELLS, _CELLS))
    edges[-1] = len(sizes)
    yield from pairwise(np.unique(np.concatenate(([0], edges))).tolist())


@numba.njit(cache=True, nogil=True)
def _fill(
    order: Any, text: Any, row_texts: Any, right: Any, table: Any, dense: Any, offsets: Any, first_text: int,
    cells: Any,
) -> None:  # fmt: skip
    (left_ids, left_offsets), (right_ids, right_offsets), (rows, columns, values) = row_texts, right, table
    first = 0
    while first < len(order):
        row, last, wanted = left_ids[order[first]], first, 0
        while last < len(order) and left_ids[order[last]] == row:
            wanted += right_offsets[text[order[last]] + 1] - right_offsets[text[order[last]]]
            last += 1
        low, high = rows[row], rows[row + 1]
        spread = high - low <= wanted * _SEARCH
        if spread:
            for e in range(low, high):
                dense[read_at(columns, e)] = read_at(values, e)
        for token in order[first:last]:
            k = text[token]
            words = right_ids[right_offsets[k] : right_offsets[k + 1]]
            base = offsets[k - first_text] + (token - left_offsets[k]) * len(words)
            for j in range(len(words)):
                cells[base + j] = dense[words[j]] if spread else value(columns, values, low, high, words[j])
        if spread:
            for e in range(low, high):
                dense[read_at(columns, e)] = 0
        first = last


@numba.njit(cache=True, nogil=True)
def value(columns: Any, values: Any, low: int, high: int, column: int) -> Any:
    entry = child(columns, low, high, column)
    return read_at(values, entry) if entry >= 0 else np.float32(0)
