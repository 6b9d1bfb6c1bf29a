"""Places: words, gaps or source words of segments, with P(BAD) by a word-level family."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.core.extractor import Extractor, FittedExtractor
from features.core.segments import Segments
from features.word_level.columns import Longs
from features.word_level.labels import Flags

Kind = Literal["word", "gap", "source"]
PLACES: Final[tuple[Kind, ...]] = ("word", "gap", "source")


@dataclass(frozen=True, eq=False)
class Places:
    """P(BAD) of places of one kind in n segments; those of segment i are bad[offsets[i]:offsets[i + 1]]."""

    bad: FloatArray
    offsets: Longs

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def rows(self) -> list[FloatArray]:
        return np.split(self.bad, self.offsets[1:-1]) if len(self) else []


def gathered(n: int, pieces: Sequence[tuple[NDArray[np.int64], Places]]) -> list[FloatArray | None]:
    """Probabilities (n,) of segments from pieces with some of them; None: no piece has the segment.

    >>> one = Places(np.array([0.1, 0.2, 0.3]), np.array([0, 1, 3]))
    >>> gathered(3, [(np.array([2, 0]), one)])
    [array([0.2, 0.3]), None, array([0.1])]
    """
    result: list[FloatArray | None] = [None] * n
    for rows, places in pieces:
        for row, values in zip(rows.tolist(), places.rows(), strict=True):
            result[row] = values
    return result


class WordLevelExtractor(FittedExtractor):
    """A fitted extractor whose columns aggregate P(BAD) of the kinds of places that it `judges`."""

    judges: ClassVar[tuple[Kind, ...]]

    @property
    def knows(self) -> frozenset[str]:
        return frozenset()

    @abstractmethod
    def places(self, segments: Segments) -> Mapping[Kind, Places]:
        """P(BAD) of all places that it judges; raises InputError if it was not fitted."""

    @abstractmethod
    def bad_places(
        self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]
    ) -> Mapping[Kind, Flags]:
        """Which places are BAD by the labels, fitted or not; raises InputError for labels that do not fit."""

    @abstractmethod
    def columns_of(self, places: Mapping[Kind, Places]) -> FloatArray:
        """Columns (n_segments, n_features) of the segments that have these places, as by `extract`."""

    def extract(self, segments: Segments) -> FloatArray:
        return self.columns_of(self.places(segments))


def judges(extractors: Sequence[Extractor]) -> dict[Kind, int]:
    """Kind of places -> which extractor judges it: the first that reads most."""
    result: dict[Kind, int] = {}
    for kind in PLACES:
        of_kind = [
            (i, e) for i, e in enumerate(extractors) if isinstance(e, WordLevelExtractor) and kind in e.judges
        ]
        for i, extractor in of_kind:
            reads_more = (other for _, other in of_kind if isinstance(other, type(extractor)))
            if not any(other.knows > extractor.knows for other in reads_more):
                result[kind] = i
                break
    return result
