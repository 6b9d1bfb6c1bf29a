"""Tables: TSV, CSV, JSONL or Parquet, plain or gzip, with a column mapping."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from features.basics.errors import InputError
from qe.data.columns import COLUMNS, LABEL_COLUMNS, ROW_WEIGHTS, Label, label_scale, labelled_rows, make_split
from qe.data.dataset import Dataset, LabelScale, Split
from qe.data.delimited import CsvOptions
from qe.data.format import Format
from qe.data.headers import named_header
from qe.data.reading import Column, Reading, known_keys
from qe.data.table_files import read_table
from qe.data.table_rows import Layout, is_table
from qe.data.translation_files.opened import FileOptions, SheetLocation

_SEVERAL = ("judges", "weights")


@dataclass(frozen=True)
class Table(Format):
    """One table per split, or one file that is the only split, `train`.

    Parameters
    ----------
    label : Label
        {name, low, high, higher_is_better}; {name, classes: [OK, BAD], higher_is_better: false} for words
        of two classes, which are 0 and 1; or `hter`: computed from target and post_edit where no column
        is mapped to the scores.
    splits : mapping of str to str, default={}
        Split -> file under `path`; without it, `path` itself is the file.
    columns : mapping of str to str or sequence of str, default={}
        Our column -> the file's. Ours are those of Segments (`source`, `target`, `id`, `doc_id`,
        `pseudo_reference`, ...) and of Split (`scores`, `post_edit`, `reference`, `annotators`,
        `word_tags`, `source_tags`, `direct_assessment`, `row_weights`; `judges` and `weights` take a
        list). `source` and `target` need no mapping if they have these names; all others
        do. Splits without the column of `row_weights` are noted.
    table_columns : mapping of str to str, default={}
        Column that features of kind `columns` read -> the file's, if it has another name.
    blind : sequence of str, default=()
        Splits without scores, whose tables need no label columns.
    kind : {'tsv', 'csv', 'jsonl', 'parquet', 'xlsx', 'xliff', 'tmx'} or None, default=None
        Tsv, csv, jsonl, parquet, xlsx, xliff or tmx; null: by the file's name.
    delimiter : str or None, default=None
        Of TSV and CSV: a character, tab, comma, semicolon or pipe; null: as the file shows.
    quoting : bool or None, default=None
        Whether double quotes delimit fields (RFC 4180); null: as the file shows.
    encoding : str or None, default=None
        Of TSV and CSV, such as cp1252; null: UTF-8, UTF-16 or cp1252, as the file shows.
    escape : str or None, default=None
        Of TSV and CSV: a character before quotes that are text, such as a backslash; null: they are doubled.
    decimal : {'.', ','} or None, default=None
        The decimal sign of numbers, a point or a comma; null: as the numbers show.
    sheet : str or None, default=None
        Of XLSX: its name or number; null: the first that is not hidden.
    header_row : int, default=1
        Of XLSX: the row that names the columns.
    tokenizer : {'moses', 'whitespace'}, default='moses'
        `moses`, or `whitespace` for text that is tokenised already.
    """

    label: Label
    source_language: str
    target_language: str
    splits: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    table_columns: Mapping[str, str] = field(default_factory=dict)
    blind: Sequence[str] = ()
    kind: Literal["tsv", "csv", "jsonl", "parquet", "xlsx", "xliff", "tmx"] | None = None
    delimiter: str | None = None
    quoting: bool | None = None
    encoding: str | None = None
    escape: str | None = None
    decimal: Literal[".", ","] | None = None
    sheet: str | None = None
    header_row: int = 1
    tokenizer: Literal["moses", "whitespace"] = "moses"

    @classmethod
    def recognises(cls, path: Path) -> bool:
        return path.is_file() and is_table(path)

    def check_options(self) -> None:
        label_scale(self.label)
        self.layout.check()
        known_keys(self.columns, COLUMNS, "dataset.columns")
        known_keys(dict.fromkeys(self.blind), tuple(self.splits) or ("train",), "dataset.blind")

    @property
    def layout(self) -> Layout:
        return Layout(
            self.kind,
            CsvOptions(self.delimiter, self.quoting, self.encoding, self.escape),
            self.decimal,
            FileOptions(location=SheetLocation(self.sheet or "", self.header_row)),
            (self.source_language, self.target_language),
        )

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        self.check_options()
        scale = label_scale(self.label)
        splits = reading.splits(self.split_files(path), partial(self._split, reading, scale))
        return self.dataset(reading, path, splits, scale)

    def _split(self, reading: Reading, scale: LabelScale, name: str, file: Path) -> Split:
        hter = self.label == "hter"
        mapped = self._mapped(reading, file, blind=name in self.blind)
        return make_split(
            reading,
            name,
            labelled_rows(
                reading, mapped, "scores" if "scores" in mapped or not hter else "post_edit", scale.classes
            ),
            scale,
            self.tokenizers,
            judge_range=(None, None) if hter else (scale.low, scale.high),
            compute_hter=hter,
        )

    def _mapped(self, reading: Reading, file: Path, blind: bool) -> dict[str, Column]:
        wanted = {"source": "source", "target": "target", **self.columns}
        table = read_table(reading, file, self.layout)
        mapped: dict[str, Column] = {}
        for ours, theirs in wanted.items():
            names = [theirs] if isinstance(theirs, str) else list(theirs)
            missing = [name for name in names if name not in table]
            if missing and blind and ours in LABEL_COLUMNS:
                continue
            if missing and ours == ROW_WEIGHTS:
                reading.note(file, 1, f"no column '{missing[0]}' of row weights")
                continue
            if missing:
                raise InputError(
                    f"no column '{missing[0]}' (wanted as {ours})",
                    location=f"{file}:1",
                    remedy=f"it has {', '.join(table)}; map it under `columns`",
                )
            cells = [table[name] for name in names]
            column = cells[0] if ours not in _SEVERAL else _joined(cells)
            mapped[ours] = reading.stripped(column)
        mapped |= self._further_columns(reading, file, table, mapped)
        needed = "post_edit" if self.label == "hter" else "scores"
        if "scores" not in mapped and needed not in mapped and not blind:
            raise InputError(
                f"no column is mapped to {needed}",
                location=file,
                remedy=f"name it under `columns: {{{needed}: ...}}`, or list the split under `blind`; "
                f"the table has {', '.join(table)}",
            )
        return mapped

    def _further_columns(
        self, reading: Reading, file: Path, table: Mapping[str, Column], mapped: Mapping[str, Column]
    ) -> dict[str, Column]:
        """The columns that features read by name."""
        named: dict[str, Column] = {}
        for name in reading.table_columns.keys() - mapped.keys():
            header = named_header(self.table_columns.get(name, name), table)
            if header:
                named[name] = reading.stripped(table[header])
            elif not reading.table_columns[name].optional:
                raise InputError(
                    f"no column '{name}', which features read",
                    location=f"{file}:1",
                    remedy=f"it has {', '.join(table)}; map it under `table_columns`, "
                    "or list it as `optional`",
                )
        return named


def _joined(columns: Sequence[Column]) -> Column:
    rows = zip(*(column.texts for column in columns), strict=True)
    texts = ["\t".join(cell.strip() or "missing" for cell in row) for row in rows]
    return Column(texts, columns[0].path, columns[0].lines, columns[0].unit)
