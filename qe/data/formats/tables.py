"""Data of users: parallel text, tables, several language pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from features.basics.errors import InputError
from features.core.segments import Segments
from features.text.languages import MULTIPLE
from features.text.tokenizer import Tokenizer
from qe.data.columns import COLUMNS, LABEL_COLUMNS, ROW_WEIGHTS, Label, label_scale, labelled_rows
from qe.data.dataset import Dataset, LabelScale, Split, concatenate
from qe.data.delimited import TABLE_SETTINGS, Layout, is_sgm, segments
from qe.data.format import FORMATS, Format, make_format, option_errors
from qe.data.headers import named_header, no_column
from qe.data.reading import Column, Reading, known_keys, read_table
from qe.data.table_rows import is_table


@FORMATS.register("parallel_text")
@dataclass(frozen=True)
class ParallelText(Format):
    """Text files under `path`, one per column: plain text or SGM (`.sgm`).

    The source's SGM file tells the documents.

    Parameters
    ----------
    splits : mapping of str to mapping of str to str
        Split -> column -> file; columns are those of Segments (`source`, `target`, `id`, `doc_id`,
        `pseudo_reference`, `alignment`, ...) and of Split (`scores`, `post_edit`, `reference`,
        `annotators`, `word_tags`, `source_tags`, `direct_assessment`, `row_weights`; `judges`, on the
        label's scale, and `weights` hold several numbers a line). A split without `scores` is blind.
    label : Label
        {name, low, high, higher_is_better}, or `hter`: computed from target and post_edit where there are
        no `scores`.
    tokenizer : {'moses', 'whitespace'}, default='moses'
        `moses`, or `whitespace` for text that is tokenised already.
    """

    splits: Mapping[str, Mapping[str, str]]
    label: Label
    source_language: str
    target_language: str
    tokenizer: Literal["moses", "whitespace"] = "moses"

    def check_options(self) -> None:
        label_scale(self.label)
        if not self.splits:
            raise InputError("no split is declared", location="dataset.splits")
        for name, files in self.splits.items():
            known_keys(files, COLUMNS, f"dataset.splits.{name}")

    def split_files(self, path: Path) -> Mapping[str, Mapping[str, Path]]:
        return {
            name: {column: path / file for column, file in files.items()}
            for name, files in self.splits.items()
        }

    def read_split(self, reading: Reading, name: str, files: Mapping[str, Path]) -> Split | None:
        read = {column: reading.attempt(partial(reading.lines, file)) for column, file in files.items()}
        columns = {column: lines for column, lines in read.items() if lines is not None}
        if len(columns) < len(files):
            return None
        if "doc_id" not in columns and "source" in files and is_sgm(files["source"]):
            found = segments(files["source"])
            documents = [one.document for one in found]
            if all(documents):
                columns["doc_id"] = Column(documents, files["source"], [one.line for one in found])
        return self.split(reading, name, columns)


_SEVERAL = ("judges", "weights")


@FORMATS.register("table")
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
        settings = {name: getattr(self, name) for name in ("kind", *TABLE_SETTINGS)}
        return Layout(**settings, languages=(self.source_language, self.target_language))

    def read_split(self, reading: Reading, name: str, file: Path) -> Split:
        mapped = self._mapped(reading, file, blind=name in self.blind)
        label = "post_edit" if self.label == "hter" and "scores" not in mapped else "scores"
        return self.split(reading, name, labelled_rows(reading, mapped, label, self.scale.classes))

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
                remedy = "; map it under `columns`"
                raise no_column(missing[0], table, f"{file}:1", f" (wanted as {ours})", remedy)
            cells = [table[name] for name in names]
            column = cells[0] if ours not in _SEVERAL else _joined(cells)
            mapped[ours] = reading.stripped(column)
        for name in reading.table_columns.keys() - mapped.keys():
            header = named_header(self.table_columns.get(name, name), table)
            if header:
                mapped[name] = reading.stripped(table[header])
            elif not reading.table_columns[name].optional:
                remedy = "; map it under `table_columns`, or list it as `optional`"
                raise no_column(name, table, f"{file}:1", ", which features read", remedy)
        needed = "post_edit" if self.label == "hter" else "scores"
        if "scores" not in mapped and needed not in mapped and not blind:
            raise InputError(
                f"no column is mapped to {needed}",
                location=file,
                remedy=f"name it under `columns: {{{needed}: ...}}`, or list the split under `blind`; "
                f"the table has {', '.join(table)}",
            )
        return mapped


def _joined(columns: Sequence[Column]) -> Column:
    rows = zip(*(column.texts for column in columns), strict=True)
    texts = ["\t".join(cell.strip() or "missing" for cell in row) for row in rows]
    return Column(texts, columns[0].path, columns[0].lines, columns[0].unit)


_FORMAT, _PATH = "format", "path"  # keys of a pair
# What segments of several pairs have: an empty text where a pair has none.
_OPTIONAL = ("subwords", "token_log_probabilities")


@FORMATS.register("language_pairs")
@dataclass(frozen=True)
class LanguagePairs(Format):
    """Datasets of several language pairs, read as one with the column `language_pair`.

    The splits `train` are joined to one; of the others, those with labels stay apart, named after the pair
    (`dev-ro-en`), so that reports have figures for every pair. Texts have the tokenizers of `mul` (several
    languages). Segments keep source, target and the decoder's log-probabilities, which are empty in pairs
    that have none. With `split: {by: language_pair}` each fold holds out whole pairs.

    Parameters
    ----------
    pairs : mapping of str to mapping of str to Any
        Pair, such as `ro-en` -> `format` and `path` (below `path` of the dataset), and the format's keys.
    scaling : {'standard', 'none'}, default='standard'
        `standard`: labels of each pair have mean 0 and deviation 1 in its split `train`; `none`: unchanged.
    """

    pairs: Mapping[str, Mapping[str, Any]]
    scaling: Literal["standard", "none"] = "standard"

    def check_options(self) -> None:
        if not self.pairs:
            raise InputError("no language pair is given", location="dataset.pairs")
        for pair, settings in self.pairs.items():
            for key in (_FORMAT, _PATH):
                if key not in settings:
                    raise InputError(f"the key '{key}' is missing", location=f"dataset.pairs.{pair}")
            for error in option_errors(settings[_FORMAT], _options(settings)):
                raise InputError(error.problem, location=f"dataset.pairs.{pair}", remedy=error.remedy)

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        self.check_options()
        datasets = reading.splits(self.pairs, lambda pair, settings: self._read(reading, path, pair))
        scales = {pair: dataset.scale for pair, dataset in datasets.items()}
        if len(set(scales.values())) > 1:
            raise InputError(
                "the pairs have labels of different names, limits or directions: "
                + ", ".join(f"{pair} {scale.name}" for pair, scale in scales.items()),
                location="dataset.pairs",
            )
        scale = next(iter(scales.values()))
        if self.scaling == "standard":
            scale = LabelScale(scale.name, None, None, scale.higher_is_better)
        splits = {"train": concatenate([each.split("train") for each in datasets.values()])}
        for pair, dataset in datasets.items():
            others = {name: split for name, split in dataset.splits.items() if name != "train"}
            splits |= {f"{name}-{pair}": split for name, split in others.items() if split.scores is not None}
        return self.dataset(reading, path, splits, scale)

    def _read(self, reading: Reading, path: Path, pair: str) -> Dataset:
        settings = self.pairs[pair]
        dataset = make_format(settings[_FORMAT], _options(settings)).read_with(
            reading, path / settings[_PATH]
        )
        train = dataset.split("train")
        if train.scores is None or not np.isfinite(train.scores).all():
            raise InputError("training segments without labels", location=f"dataset.pairs.{pair}")
        mean, deviation = float(train.scores.mean()), float(train.scores.std()) or 1.0
        if self.scaling == "none":
            mean, deviation = 0.0, 1.0
        return replace(
            dataset,
            splits={
                name: _of_pair(split, name, pair, mean, deviation) for name, split in dataset.splits.items()
            },
        )


def _options(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in (_FORMAT, _PATH)}


def _of_pair(split: Split, name: str, pair: str, mean: float, deviation: float) -> Split:
    own, n = split.segments, len(split)
    columns = {column: getattr(own, column) or ("",) * n for column in _OPTIONAL}
    columns |= {"source": own.source, "target": own.target, "language_pair": (pair,) * n}
    columns["id"] = tuple(f"{pair}/{each}" for each in own.id)
    tokenizer = Tokenizer(MULTIPLE)
    segments = Segments.from_columns(columns, tokenizer, tokenizer)
    scores = None if split.scores is None else (split.scores - mean) / deviation
    return Split(segments, scores=scores)
