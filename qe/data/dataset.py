"""Dataset: splits with labels on one scale, and their provenance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from features.basics.errors import InputError, known_name
from features.basics.hints import checked
from features.core.extractor import TableColumn
from features.storage.files import digest
from features.text.tokenizer import Tokenizer
from qe.data.frames import AnyTable, as_pandas
from qe.data.headers import classes_of, is_rate
from qe.data.headers import higher_is_better as higher_is_better_of
from qe.data.split import LabelScale as LabelScale
from qe.data.split import Split as Split
from qe.data.split import concatenate as concatenate
from qe.display.summary import Printable, table_by
from qe.display.table import Table

DIRECTION = "say higher_is_better=True (as direct assessments) or False (as error rates)"


@dataclass(frozen=True, eq=False)
class Dataset(Printable):
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
        return self.splits[known_name("split", name, self.splits, location=f"dataset '{self.name}'")]

    @classmethod
    @checked
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
        columns: Sequence[str] = (),
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
            Ends of the label scale. None: open; 0 as the low end of edit rates.
        source_language, target_language : str
            Codes such as "en". Rows that a column such as `lp` gives another pair are left out.
        higher_is_better : bool, default=None
            Direction of the labels. None: by their name (`hter`, `da`, ...).
        tokenizer : {'moses', 'moses-2012', 'whitespace'}, default='moses'
            How texts are tokenized.
        columns : sequence of str, default=()
            Further columns, which features of kind `columns` read; values may be missing.

        Raises
        ------
        qe.InputError
            For missing columns, labels that are no numbers, and an unknown direction.
        """
        from qe.data.columns import frame_columns, frame_label, labelled_rows, make_split
        from qe.data.reading import Column, Reading

        named = tables if isinstance(tables, Mapping) else {"train": tables}
        frames = {str(split): as_pandas(table) for split, table in named.items()}
        if not frames:
            raise InputError("there are no tables", remedy="give a table, or a mapping of splits to tables")
        label = frame_label(label, frames)
        texts = (str(cell) for table in frames.values() if label in table for cell in table[label].dropna())
        classes, known = classes_of(texts) or (None, None)
        upwards = higher_is_better_of(label, higher_is_better if known is None else known, DIRECTION)
        tokenizers = Tokenizer(source_language, tokenizer), Tokenizer(target_language, tokenizer)
        open_scale = LabelScale(label, None, None, upwards, classes)  # labels may exceed the declared one
        reading, splits = Reading(Path()), dict[str, Split]()
        reading.table_columns = {name: TableColumn(name, number=False) for name in columns}
        for split, table in frames.items():
            found = frame_columns(reading, table, split, label, (source_language, target_language))
            rows = labelled_rows(reading, found, "scores", classes)
            rows = {"id": Column.of_values(range(1, len(rows["source"]) + 1), Path()), **rows}
            splits[split] = make_split(reading, split, rows, open_scale, tokenizers)
        low = 0.0 if low is None and is_rate(label) else low
        scale = LabelScale(label, *((low, high) if classes is None else (0.0, 1.0)), upwards, classes)
        return cls(name, splits, scale, notes=tuple(reading.notes))

    def files(self, path: Path) -> list[Path]:
        places = [(path / name, Path(name)) for name in self.provenance]
        return [next((place for place in pair if place.is_file()), pair[0]) for pair in places]

    @property
    def fingerprint(self) -> str:
        return digest(self.scale, *((name, split.fingerprint) for name, split in self.splits.items()))

    def summary(self) -> Table:
        return table_by("qe.data.check.dataset_table", self)
