"""Split: segments with labels on a scale; Segments themselves have no labels."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.segments import Segments
from features.storage.files import digest
from qe.display.summary import Printable


@dataclass(frozen=True)
class LabelScale:
    """The name, range (None: open) and direction of a label.

    Parameters
    ----------
    classes : sequence of str or None, default=None
        The names of 0 and 1, if the label has two classes; None: the label is a number.
    """

    name: str
    low: float | None
    high: float | None
    higher_is_better: bool
    classes: Sequence[str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))
        low, high = -np.inf if self.low is None else self.low, np.inf if self.high is None else self.high
        if not low < high:
            raise InputError(f"`low < high` must hold for a scale, but got {self.low} and {self.high}")

    @property
    def sign(self) -> float:
        """Multiply labels and predictions by this to get quality (higher is better)."""
        return 1.0 if self.higher_is_better else -1.0

    def clip(self, values: FloatArray) -> FloatArray:
        return np.clip(values, self.low, self.high)

    def limits(self, labels: FloatArray) -> tuple[float, float]:
        """Lowest and highest score of what learned from (n,) labels: theirs where the scale has no end."""
        low = float(labels.min()) if self.low is None else self.low
        return low, float(labels.max()) if self.high is None else self.high


@dataclass(frozen=True, eq=False)
class Split(Printable):
    """Segments with their labels; every label column has one entry per segment.

    Parameters
    ----------
    scores : array of float or None, default=None
        (n,) the label, or None for blind data.
    judges : array of float or None, default=None
        (n, j) individual scores.
    weights : array of float or None, default=None
        (n, j) the judges' weights.
    annotators : array of float or None, default=None
        (n,) number of annotators behind each label.
    direct_assessment : array of float or None, default=None
        (n,) judgements of quality in addition to the label, higher is better.
    row_weights : array of float or None, default=None
        (n,) weight of each row in training, from 0.
    word_probabilities : tuple of str or None, default=None
        P(BAD) of the places in `word_tags`, if a model wrote the tags.
    """

    segments: Segments
    scores: FloatArray | None = None
    post_edit: tuple[str, ...] | None = None
    reference: tuple[str, ...] | None = None
    judges: FloatArray | None = None
    weights: FloatArray | None = None
    annotators: FloatArray | None = None
    word_tags: tuple[str, ...] | None = None
    source_tags: tuple[str, ...] | None = None
    word_probabilities: tuple[str, ...] | None = None
    direct_assessment: FloatArray | None = None
    row_weights: FloatArray | None = None

    def __post_init__(self) -> None:
        for name, column in self._columns():
            if len(column) != len(self.segments):
                raise InputError(f"{len(self.segments)} segments, but {len(column)} entries of '{name}'")

    def __len__(self) -> int:
        return len(self.segments)

    def _columns(self) -> list[tuple[str, Any]]:
        columns = ((entry.name, getattr(self, entry.name)) for entry in fields(self)[1:])
        return [(name, value) for name, value in columns if value is not None]

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "Split":
        index = np.asarray(rows, np.int64)
        taken: dict[str, Any] = {
            name: column[index] if isinstance(column, np.ndarray) else tuple(column[i] for i in index)
            for name, column in self._columns()
        }
        return replace(self, segments=self.segments.take(index), **taken)

    def labels(self) -> dict[str, Any]:
        """The label columns, as fitted extractors take them."""
        return dict(self._columns())

    @property
    def fingerprint(self) -> str:
        parts: list[object] = [self.segments.fingerprint]
        for name, column in self._columns():
            parts += [name, column.tobytes() if isinstance(column, np.ndarray) else column]
        return digest(*parts)


def concatenate(splits: Sequence[Split]) -> Split:
    """The rows of several splits; a label column stays only if every split has it, NaN for missing judges."""
    if len(splits) == 1:
        return splits[0]
    columns: dict[str, Any] = {}
    for name in set.intersection(*({name for name, _ in split._columns()} for split in splits)):
        parts = [getattr(split, name) for split in splits]
        if not isinstance(parts[0], np.ndarray):
            columns[name] = tuple(item for part in parts for item in part)
            continue
        if parts[0].ndim > 1:
            width = max(part.shape[1] for part in parts)
            parts = [np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=np.nan) for p in parts]
        columns[name] = np.concatenate(parts)
    return Split(segments=Segments.concatenate([split.segments for split in splits]), **columns)
