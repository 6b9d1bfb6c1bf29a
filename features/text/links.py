"""Links: the word alignments of a batch of segments; symmetrisation and the Pharaoh format."""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import offsets_of, row_index, rows_of
from features.basics.errors import InputError, unknown_name
from features.storage.files import read_lines

_LINK = re.compile(r"(\d{1,9})-(\d{1,9})")  # as far as 32 bits go


@dataclass(frozen=True, eq=False)
class Links:
    """Alignment links of n segments, by source position, then target position.

    source, target  (n_links,) int32 positions in the segment, from 0
    offsets         (n + 1,) int64; the links of segment k are offsets[k] .. offsets[k + 1]

    >>> links = Links.from_pharaoh(["0-0 2-1 1-1", ""])
    >>> links.source.tolist(), links.target.tolist(), list(links.pharaoh())
    ([0, 1, 2], [0, 1, 1], ['0-0 1-1 2-1', ''])
    """

    offsets: NDArray[np.int64]
    source: NDArray[np.int32]
    target: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def pharaoh(self) -> Iterator[str]:
        """One line per segment: `i-j` links separated by blanks."""
        pairs = [f"{i}-{j}" for i, j in zip(self.source.tolist(), self.target.tolist(), strict=True)]
        for first, last in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            yield " ".join(pairs[first:last])

    @classmethod
    def from_pharaoh(cls, lines: Iterable[str], location: object = None) -> "Links":
        """Reads lines of `i-j` links, each once; raises InputError with the line for anything else."""
        offsets, pairs = array("q", [0]), array("i")
        for number, line in enumerate(lines, start=1):
            matches = [_LINK.fullmatch(item) for item in line.split()]
            if None in matches:
                bad = line.split()[matches.index(None)]
                raise InputError(
                    f"expected links like 0-0, but found {bad[:40]!r}",
                    location=f"{location}:{number}" if location else f"line {number}",
                )
            pairs.extend(chain.from_iterable(sorted({(int(m[1]), int(m[2])) for m in matches if m})))
            offsets.append(len(pairs) // 2)
        both = np.array(pairs, np.int32).reshape(-1, 2)
        return cls(np.array(offsets, np.int64), both[:, 0].copy(), both[:, 1].copy())

    @classmethod
    def read(cls, path: Path) -> "Links":
        return cls.from_pharaoh(read_lines(path), path)

    @classmethod
    def from_mask(
        cls, mask: NDArray[np.bool_], lengths: NDArray[np.int64], widths: NDArray[np.int64]
    ) -> "Links":
        """From (l, m) masks, flattened one after the other; l of `lengths`, m of `widths`."""
        sizes = lengths * widths
        starts = offsets_of(sizes)
        cells = np.flatnonzero(mask)
        segment = np.searchsorted(starts, cells, side="right") - 1
        inside = cells - starts[segment]
        width = widths[segment]
        counts = np.bincount(segment, minlength=len(sizes))
        offsets = offsets_of(counts)
        return cls(offsets, (inside // width).astype(np.int32), (inside % width).astype(np.int32))

    @classmethod
    def concatenate(cls, batches: Sequence["Links"]) -> "Links":
        counts = np.concatenate([np.empty(0, np.int64), *(np.diff(batch.offsets) for batch in batches)])
        sides = (
            np.concatenate([np.empty(0, np.int32), *(getattr(batch, side) for batch in batches)])
            for side in ("source", "target")
        )
        return cls(offsets_of(counts), *sides)

    def take(self, rows: NDArray[np.int64]) -> "Links":
        offsets, index = rows_of(self.offsets, rows)
        return Links(offsets, self.source[index], self.target[index])

    def swapped(self) -> "Links":
        """The same links with source and target exchanged.

        >>> list(Links.from_pharaoh(["0-1 1-0 2-0", "0-3"]).swapped().pharaoh())
        ['0-1 0-2 1-0', '3-0']
        """
        order = np.lexsort((self.source, self.target, row_index(self.offsets)))
        return Links(self.offsets, self.target[order], self.source[order])

    def mask(self, lengths: NDArray[np.int64], widths: NDArray[np.int64]) -> NDArray[np.bool_]:
        starts = offsets_of(lengths * widths)
        segment = row_index(self.offsets)
        mask = np.zeros(starts[-1], bool)
        mask[starts[segment] + self.source * widths[segment] + self.target] = True
        return mask

    def check(self, lengths: NDArray[np.int64], widths: NDArray[np.int64], location: object = None) -> None:
        """Raises InputError, with the line, if a link points outside its segment (l, m words)."""
        segment = row_index(self.offsets)
        bad = np.flatnonzero((self.source >= lengths[segment]) | (self.target >= widths[segment]))
        if len(bad):
            k, first = segment[bad[0]], bad[0]
            raise InputError(
                f"the link {self.source[first]}-{self.target[first]} points outside "
                f"({lengths[k]} source and {widths[k]} target tokens)",
                location=f"{location}:{k + 1}" if location else f"line {k + 1}",
                remedy="align the same tokenization (text tokenized elsewhere: the tokenizer `whitespace`)",
            )


def symmetrised(
    forward: Links, backward: Links, lengths: NDArray[np.int64], widths: NDArray[np.int64], method: str
) -> Links:
    """Links of two directions, combined by `symmetrised_mask`. Segments of (l, m) words.

    >>> one, other = Links.from_pharaoh(["0-0 1-1"]), Links.from_pharaoh(["0-0 0-1"])
    >>> list(symmetrised(one, other, np.array([2]), np.array([2]), "union").pharaoh())
    ['0-0 0-1 1-1']
    """
    masks = forward.mask(lengths, widths), backward.mask(lengths, widths)
    return Links.from_mask(symmetrised_mask(*masks, lengths, widths, method), lengths, widths)


def symmetrised_mask(
    forward: NDArray[np.bool_],
    backward: NDArray[np.bool_],
    lengths: NDArray[np.int64],
    widths: NDArray[np.int64],
    method: str,
) -> NDArray[np.bool_]:
    """Two directions' flattened (l, m) masks combined by `method`; raises InputError for an unknown one.

    method  source-target (the first alone), target-source, intersection, union, grow-diag,
            grow-diag-final-and (Koehn et al. 2003)
    """
    simple = {
        "source-target": forward,
        "target-source": backward,
        "intersection": forward & backward,
        "union": forward | backward,
    }
    if method in simple:
        return simple[method]
    grown = ("grow-diag", "grow-diag-final-and")
    if method not in grown:
        raise unknown_name("symmetrisation", method, (*simple, *grown))
    return grow_diagonal(forward, backward, lengths, widths, method == "grow-diag-final-and")


def grow_diagonal(
    forward: NDArray[np.bool_],
    backward: NDArray[np.bool_],
    lengths: NDArray[np.int64],
    widths: NDArray[np.int64],
    final_and: bool = True,
) -> NDArray[np.bool_]:
    """grow-diag-final-and (or grow-diag) of two directions' (l, m) masks, flattened. Koehn et al. 2003."""
    grown = forward & backward
    _grow(forward, backward, lengths, widths, final_and, grown)
    return grown


_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


@numba.njit(cache=True, nogil=True)
def _grow(forward: Any, backward: Any, lengths: Any, widths: Any, final_and: bool, grown: Any) -> None:
    start = 0
    for k in range(len(lengths)):
        shape = (lengths[k], widths[k])
        end = start + lengths[k] * widths[k]
        one, other = forward[start:end].reshape(shape), backward[start:end].reshape(shape)
        _grow_one(one, other, final_and, grown[start:end].reshape(shape))
        start = end


@numba.njit(cache=True, nogil=True)
def _grow_one(forward: Any, backward: Any, final_and: bool, grown: Any) -> None:
    length, width = grown.shape
    rows, columns = np.zeros(length, np.bool_), np.zeros(width, np.bool_)
    for i in range(length):
        for j in range(width):
            if grown[i, j]:
                rows[i] = columns[j] = True
    added = True
    while added:
        added = False
        for i in range(length):
            for j in range(width):
                if grown[i, j]:
                    for di, dj in _NEIGHBOURS:
                        a, b = i + di, j + dj
                        if not (0 <= a < length and 0 <= b < width) or grown[a, b]:
                            continue
                        if (forward[a, b] or backward[a, b]) and not (rows[a] and columns[b]):
                            grown[a, b] = rows[a] = columns[b] = added = True
    if final_and:
        for part in (forward, backward):
            for i in range(length):
                for j in range(width):
                    if part[i, j] and not rows[i] and not columns[j]:
                        grown[i, j] = rows[i] = columns[j] = True
