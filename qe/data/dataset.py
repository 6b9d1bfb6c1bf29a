"""Dataset: segments with labels, splits and provenance; Segments themselves have no labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.segments import Segments
from features.storage.files import digest
from features.text.tokenizer import Tokenizer
from qe.data.classes import classes_of
from qe.data.frames import AnyTable, as_pandas
from qe.data.headers import higher_is_better as higher_is_better_of
from qe.display.summary import summarised, table_by
from qe.display.table import Table

DIRECTION = "say higher_is_better=True (as direct assessments) or False (as error rates)"


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
        """Values moved into the range."""
        return np.clip(values, self.low, self.high)


@summarised
@dataclass(frozen=True, eq=False)
class Split:
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
        """These rows of every column, in this order."""
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
    """The rows of several splits; a label column stays only if every split has it.

    If a split has fewer judges than another, the missing ones are NaN in its rows.
    """
    if len(splits) == 1:
        return splits[0]
    columns: dict[str, Any] = {}
    for name in set.intersection(*({name for name, _ in split._columns()} for split in splits)):
        parts = [getattr(split, name) for split in splits]
        joined = isinstance(parts[0], np.ndarray)
        columns[name] = _stacked(parts) if joined else tuple(item for part in parts for item in part)
    return Split(segments=Segments.concatenate([split.segments for split in splits]), **columns)


def _stacked(parts: Sequence[FloatArray]) -> FloatArray:
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    rows = [np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=np.nan) for p in parts]
    return np.concatenate(rows)


@summarised
@dataclass(frozen=True, eq=False)
class Dataset:
    """Named splits with one label scale.

    Parameters
    ----------
    provenance : mapping of str to str, default={}
        File -> SHA-256 of what was read.
    notes : tuple of str, default=()
        What reading repaired or left out: CRLF, trailing blanks, unlabelled rows, ...
    """

    name: str
    splits: Mapping[str, Split]
    scale: LabelScale
    provenance: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def split(self, name: str) -> Split:
        if name not in self.splits:
            raise InputError(
                f"dataset '{self.name}' has no split '{name}'", remedy=f"it has {', '.join(self.splits)}"
            )
        return self.splits[name]

    @classmethod
    def from_frame(
        cls,
        tables: AnyTable | Mapping[str, AnyTable],
        label: str = "score",
        *,
        name: str = "data",
        low: float | None = None,
        high: float | None = None,
        source_language: str,
        target_language: str,
        higher_is_better: bool | None = None,
        tokenizer: Literal["moses", "moses-2012", "whitespace"] = "moses",
    ) -> "Dataset":
        """Makes a dataset from tables in memory.

        Parameters
        ----------
        tables : table of pandas, polars or Arrow, or mapping of str to such tables
            Splits by name; one table is the split `train`. Columns `source`, `target`, the label, and others
            that segments or splits have (`id`, `doc_id`, `post_edit`, `row_weights`, ...), by their names or
            by the headers in use (`src`, `mt`, `pe`, ...). A split without the label is blind; rows without
            it are left out if most have one.
        label : str, default='score'
            Header of the labels. A label of two classes (`OK` and `BAD`, true and false) is 0 and 1.
        name : str, default='data'
            Name of the dataset in reports.
        low, high : float, default=None
            Ends of the label scale. None: open.
        source_language, target_language : str
            Codes such as "en". Rows that a column such as `lp` gives another pair are left out.
        higher_is_better : bool, default=None
            Direction of the labels. None: by their name (`hter`, `da`, ...).
        tokenizer : {'moses', 'moses-2012', 'whitespace'}, default='moses'
            How texts are tokenized.

        Raises
        ------
        qe.InputError
            For missing columns, labels that are no numbers, and an unknown direction.
        """
        from qe.data.columns import frame_columns, frame_label, labelled_rows, make_split
        from qe.data.reading import Reading

        named = tables if isinstance(tables, Mapping) else {"train": tables}
        frames = {split: as_pandas(table) for split, table in named.items()}
        if not frames:
            raise InputError("there are no tables", remedy="give a table, or a mapping of splits to tables")
        label = frame_label(label, frames)
        texts = (str(cell) for table in frames.values() if label in table for cell in table[label].dropna())
        classes, known = classes_of(texts) or (None, None)
        upwards = higher_is_better_of(label, higher_is_better if known is None else known, DIRECTION)
        tokenizers = Tokenizer(source_language, tokenizer), Tokenizer(target_language, tokenizer)
        open_scale = LabelScale(label, None, None, upwards, classes)  # labels may exceed the declared one
        reading, splits = Reading(Path()), dict[str, Split]()
        for split, table in frames.items():
            columns = frame_columns(reading, table, split, label, (source_language, target_language))
            rows = labelled_rows(reading, columns, "scores", classes)
            numbers = list(map(str, range(1, len(rows["source"]) + 1)))
            rows = {"id": replace(rows["source"], texts=numbers), **rows}
            splits[split] = make_split(reading, split, rows, open_scale, tokenizers)
        scale = LabelScale(label, *((low, high) if classes is None else (0.0, 1.0)), upwards, classes)
        return cls(name, splits, scale, notes=tuple(reading.notes))

    def files(self, path: Path) -> list[Path]:
        """The files of the dataset at `path` that were read."""
        places = [(path / name, Path(name)) for name in self.provenance]
        return [next((place for place in pair if place.is_file()), pair[0]) for pair in places]

    @property
    def fingerprint(self) -> str:
        return digest(self.scale, *((name, split.fingerprint) for name, split in self.splits.items()))

    def summary(self) -> Table:
        """Splits with their segments and labels."""
        return table_by("qe.data.report_tables.dataset_table", self)
