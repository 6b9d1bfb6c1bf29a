"""Tables: TSV, CSV, JSONL or Parquet, plain or gzip, with a column mapping."""

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

from features.basics.errors import InputError, unknown_name
from features.text.tokenizer import Tokenizer
from qe.data.columns import COLUMNS, LABEL_COLUMNS, Label, label_scale, make_split
from qe.data.dataset import Dataset, LabelScale, Split
from qe.data.format import Example, Format
from qe.data.formats._delimited import delimited_rows
from qe.data.reading import Column, Reading, known_keys

_HALF = re.compile("[\ud800-\udfff]")
_SEVERAL = ("judges", "weights")
KINDS = {"tsv": "tsv", "csv": "csv", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet"}


@dataclass(frozen=True)
class Table(Format):
    """One table per split, or one file that is the only split, `train`.

    label      {name, low, high, higher_is_better}, or `hter`: computed from target and post_edit where no
               column is mapped to the scores
    splits     split -> file under `path`; without it, `path` itself is the file
    columns    our column -> the file's. Ours are those of Segments (`source`, `target`, `id`, `doc_id`,
               `pseudo_reference`, ...) and of Split (`scores`, `post_edit`, `reference`, `annotators`,
               `word_tags`, `source_tags`, `direct_assessment`; `judges` and `weights` take a list). `source`
               and `target` stand for themselves where they are not mapped; nothing else is read without
               being mapped.
    blind      splits without scores, whose tables need no label columns
    quoting    whether double quotes delimit fields (RFC 4180); null: CSV yes, TSV no
    kind       tsv, csv, jsonl or parquet; null: by the file's name
    tokenizer  `moses`, or `whitespace` for text that is tokenised already
    """

    example: ClassVar[Example] = Example(
        section="""dataset:
  format: table
  path: mine
  splits: {train: train.tsv, test: new.tsv}
  blind: [test]
  source_language: en
  target_language: de
  label: {name: da, low: 0, high: 100, higher_is_better: true}
  columns: {source: original, target: mt, scores: mean}
""",
        files={
            "mine/train.tsv": "original\tmt\tmean\nred house\trotes Haus\t96.5\nit rains\ter regnet\t41\n",
            "mine/new.tsv": "original\tmt\nthe dog sleeps\tder Hund schläft\n",
        },
    )

    label: Label
    source_language: str
    target_language: str
    splits: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    blind: Sequence[str] = ()
    quoting: bool | None = None
    kind: Literal["tsv", "csv", "jsonl", "parquet"] | None = None
    tokenizer: Literal["moses", "whitespace"] = "moses"

    @classmethod
    def recognises(cls, path: Path) -> bool:
        return path.is_file() and path.name.removesuffix(".gz").rpartition(".")[2].lower() in KINDS

    def check_options(self) -> None:
        label_scale(self.label)
        known_keys(self.columns, COLUMNS, "dataset.columns")
        known_keys(dict.fromkeys(self.blind), tuple(self.splits) or ("train",), "dataset.blind")

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        self.check_options()
        scale = label_scale(self.label)
        files = {name: path / file for name, file in self.splits.items()} or {"train": path}
        splits = {}
        for name, file in files.items():
            split = reading.attempt(partial(self._split, reading, name, file, scale))
            if split is not None:
                splits[name] = split
        return Dataset(path.resolve().name, splits, scale, reading.provenance, tuple(reading.notes))

    def _split(self, reading: Reading, name: str, file: Path, scale: LabelScale) -> Split:
        tokenizers = (
            Tokenizer(self.source_language, self.tokenizer),
            Tokenizer(self.target_language, self.tokenizer),
        )
        hter = self.label == "hter"
        return make_split(
            reading,
            name,
            self._mapped(reading, file, blind=name in self.blind),
            scale,
            tokenizers,
            judge_range=(None, None) if hter else (scale.low, scale.high),
            compute_hter=hter,
        )

    def _mapped(self, reading: Reading, file: Path, blind: bool) -> dict[str, Column]:
        """Our columns of one file."""
        wanted = {"source": "source", "target": "target", **self.columns}
        table = read_table(reading, file, self.kind, self.quoting)
        mapped: dict[str, Column] = {}
        for ours, theirs in wanted.items():
            names = [theirs] if isinstance(theirs, str) else list(theirs)
            missing = [name for name in names if name not in table]
            if missing and blind and ours in LABEL_COLUMNS:
                continue
            if missing:
                raise InputError(
                    f"no column '{missing[0]}' (wanted as {ours})",
                    where=f"{file}:1",
                    remedy=f"it has {', '.join(table)}; map it under `columns`",
                )
            cells = [table[name] for name in names]
            column = cells[0] if ours not in _SEVERAL else _joined(cells)
            mapped[ours] = reading.stripped(column)
        needed = "post_edit" if self.label == "hter" else "scores"
        if "scores" not in mapped and needed not in mapped and not blind:
            raise InputError(
                f"no column is mapped to {needed}",
                where=file,
                remedy=f"name it under `columns: {{{needed}: ...}}`, or list the split under `blind`; "
                f"the table has {', '.join(table)}",
            )
        return mapped


def read_table(
    reading: Reading, path: Path, kind: str | None = None, quoting: bool | None = None
) -> dict[str, Column]:
    """The columns of a table by name, every cell as text; an absent value (null) is empty text.

    Raises InputError for an unknown kind, rows that do not fit, and quoting that is evidently wrong.
    """
    kind = kind or _kind(path)
    readers: dict[str, Callable[[], dict[str, Column]]] = {
        "tsv": lambda: _delimited(reading, path, "\t", bool(quoting)),
        "csv": lambda: _delimited(reading, path, ",", quoting is not False),
        "jsonl": lambda: _json_lines(reading, path),
        "parquet": lambda: _parquet(reading, path),
    }
    if kind not in readers:
        raise unknown_name("kind of table", kind, readers, where=path)
    table = readers[kind]()
    if not table or not len(next(iter(table.values()))):
        raise InputError("the table has no rows", where=path)
    return table


def _kind(path: Path) -> str:
    suffixes = [suffix.lstrip(".").lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    if suffixes and suffixes[-1] in KINDS:
        return KINDS[suffixes[-1]]
    raise InputError(
        "the name does not tell what kind of table this is",
        where=path,
        remedy=f"set `kind` to one of {', '.join(dict.fromkeys(KINDS.values()))}",
    )


def _joined(columns: Sequence[Column]) -> Column:
    """Several columns as one of tab-separated numbers; an absent number stays visible as such."""
    rows = zip(*(column.texts for column in columns), strict=True)
    texts = ["\t".join(cell.strip() or "missing" for cell in row) for row in rows]
    return Column(texts, columns[0].path, columns[0].lines, columns[0].unit)


def _delimited(reading: Reading, path: Path, delimiter: str, quoting: bool) -> dict[str, Column]:
    parsed = delimited_rows(reading.text(path), path, delimiter, quoting)
    _, header = next(parsed)
    _refuse_repeated(header, path)
    lines: list[int] = []
    cells: list[list[str]] = []
    for line, fields in parsed:
        lines.append(line)
        cells.append(fields)
    return {name: Column([row[i] for row in cells], path, lines) for i, name in enumerate(header)}


def _refuse_repeated(header: Sequence[str], path: Path) -> None:
    repeated = [name for name in header if list(header).count(name) > 1]
    if repeated:
        raise InputError(f"the column '{repeated[0]}' occurs twice in the header", where=f"{path}:1")


def _json_lines(reading: Reading, path: Path) -> dict[str, Column]:
    records: list[dict[str, Any]] = []
    for number, line in enumerate(reading.text(path).split("\n")[:-1], start=1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"not JSON ({error.msg})", where=f"{path}:{number}") from None
        except (ValueError, RecursionError):  # Python reads whole numbers of up to 4,300 digits
            what = "JSON that is nested too deeply, or has a number of too many digits"
            raise InputError(what, where=f"{path}:{number}") from None
        if not isinstance(record, dict):
            raise InputError("must be a JSON object", where=f"{path}:{number}", remedy="one object per line")
        if records and record.keys() != records[0].keys():
            odd = sorted(record.keys() ^ records[0].keys())
            raise InputError(
                f"the keys differ from those of line 1: {', '.join(odd)}",
                where=f"{path}:{number}",
                remedy="give every line the same keys (null if there is no value)",
            )
        records.append(record)
    lines = range(1, len(records) + 1)
    return {name: _column([record[name] for record in records], path, lines) for name in records[0]}


def _parquet(reading: Reading, path: Path) -> dict[str, Column]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(reading.content(path)))
        _refuse_repeated(table.column_names, path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last: names of columns
        reason = str(error).partition("\n")[0]
        raise InputError(f"not a Parquet file, or a damaged one ({reason})", where=path) from None
    rows = range(1, table.num_rows + 1)
    return {
        name: _column(_python_values(table[name], name, path), path, rows, "row ")
        for name in table.column_names
    }


def _python_values(column: Any, name: str, path: Path) -> list[Any]:
    """Raises InputError for values that Python has no text or date for."""
    try:
        return cast(list[Any], column.to_pylist())
    except (ValueError, OverflowError) as error:
        raise InputError(f"the column '{name}' holds no UTF-8, or no dates ({error})", where=path) from None


def _column(values: Sequence[Any], path: Path, lines: Sequence[int], unit: str = "") -> Column:
    absent = frozenset(row for row, value in enumerate(values) if value is None)
    texts = [_cell(value) for value in values]
    for row, text in enumerate(texts):
        if _HALF.search(text):  # JSON can write it; no text has it
            raise InputError(
                "half a surrogate pair", where=f"{path}:{unit}{lines[row]}", remedy="repair the text"
            )
    return Column(texts, path, lines, unit, absent)


def _cell(value: Any) -> str:
    """A value as text: strings as they are, null as empty text, lists as JSON, numbers exactly."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, list | dict) else str(value)
