"""Out-of-fold resources: rows whose texts a resource holds use a resource built without these texts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from features.core.extractor import FittedExtractor
from features.core.segments import Segments
from features.storage.files import digest

Longs = NDArray[np.int64]
Row = tuple[str, str, str]
Which = TypeVar("Which")

NO_PART = -1  # the part of a row whose texts are in no resource


class Table(Protocol):
    """Results of segments that can be concatenated and reordered."""

    def take(self, rows: Longs) -> Self:
        """The results for the segments at `rows`."""


Computed = TypeVar("Computed", bound=Table)


@dataclass(frozen=True, eq=False)
class Parts:
    """Divides rows by (id, source, target) into `count` parts, equal sources in the same one."""

    count: int
    rows: Mapping[Row, int]

    @classmethod
    def from_segments(cls, segments: Segments, count: int) -> "Parts":
        parts = [part_of(source, count) for source in segments.source]
        return cls(count, dict(zip(_rows(segments), parts, strict=True)))

    @cached_property
    def fingerprint(self) -> str:
        return digest(self.count, *(f"{row} {part}" for row, part in self.rows.items()))

    def __call__(self, segments: Segments) -> Longs:
        """The part (n,) of every segment; `NO_PART` for those whose texts are not in the resources."""
        return np.array([self.rows.get(row, NO_PART) for row in _rows(segments)], np.int64)


@dataclass(frozen=True, eq=False)
class OutOfFold(Generic[Which]):
    """Out-of-fold resources: rows of part k use `alternatives[k]`, which was built without their texts."""

    parts: Parts
    alternatives: Sequence[Which]

    def groups(self, new: Which, segments: Segments) -> list[tuple[Which, Longs]]:
        """(resources, rows that use them); rows ascending, no group empty."""
        part = self.parts(segments)
        choices = [(new, NO_PART), *((other, k) for k, other in enumerate(self.alternatives))]
        groups = [(which, np.flatnonzero(part == k)) for which, k in choices]
        return [(which, rows) for which, rows in groups if len(rows)] or [(new, np.empty(0, np.int64))]


class ResourceLookup(FittedExtractor):
    """A fitted extractor that looks each row up in its own resources, or those of another of its kind."""

    _out_of_fold: ClassVar[Any] = None  # of a copy: the argument of `with_out_of_fold`

    def with_out_of_fold(self, resources: "OutOfFold[Self] | None") -> Self:
        """A copy that looks rows up in the resources of the extractors of `resources`; None: in its own."""
        return self.with_learned(_out_of_fold=resources)

    def _groups(self, segments: Segments) -> list[tuple[Self, Longs]]:
        if self._out_of_fold is None:
            return [(self, np.arange(len(segments)))]
        groups: list[tuple[Self, Longs]] = self._out_of_fold.groups(self, segments)
        return groups


def in_groups(
    groups: Sequence[tuple[Which, Longs]],
    segments: Segments,
    compute: Callable[[Which, Segments, Longs], Computed],
    joined: Callable[[list[Computed]], Computed],
) -> Computed:
    """`compute` of the rows of every group, joined in the order of the segments."""
    if len(groups) == 1:
        return compute(groups[0][0], segments, np.arange(len(segments)))
    pieces = [compute(which, segments.take(rows), rows) for which, rows in groups]
    order = np.argsort(np.concatenate([rows for _, rows in groups]))
    return joined(pieces).take(order)


def part_of(source: str, count: int) -> int:
    """The part of the rows with this source, by its checksum."""
    checksum = blake2b(source.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(checksum, "little") % count


def _rows(segments: Segments) -> list[Row]:
    return list(zip(segments.id, segments.source, segments.target, strict=True))
