"""Reading: opens the files of a dataset and collects notes, checksums and defects; tables as text columns."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.numerals import MAX_VALUE
from features.core.extractor import TableColumns
from features.storage.files import DAMAGED_GZIP, byte_lines, check_line_ends, damage_of, open_binary, sha256
from qe.data.delimited import dialect_of, is_sgm, segments, wrong_encoding
from qe.data.headers import header_of, numbers_of, rows_of_pair
from qe.data.split import LabelScale
from qe.data.table_rows import (
    HALF_SURROGATE,
    FileInput,
    Layout,
    ParquetInput,
    Row,
    cell_text,
    check_header,
    is_structure,
    is_table,
    json_rows,
    kind_of,
)
from qe.data.translation_files.xlsx import Sheet

T = TypeVar("T")
P = TypeVar("P")

BOM = b"\xef\xbb\xbf"
BLANKS = " \t"
# Characters that other tools take for line ends (or for the end of a string); here they are text.
EXOTIC = re.compile("[\x00\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_COMMA_NUMBER = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d*)(,\d+)?([eE][+-]?\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?(0*,\d+|\d*,(\d{1,2}|\d{4,}))([eE][+-]?\d+)?", re.ASCII)  # no thousands
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Column:
    """The cells of one column as text, with places, absent rows (null) and rows of lists or objects."""

    texts: list[str]
    path: Path
    lines: Sequence[int]
    unit: str = ""  # what `lines` counts if not lines: "row " for Parquet
    absent: frozenset[int] = frozenset()
    decimal: str | None = None  # the sign before decimals; None: as the numbers show
    structured: frozenset[int] = frozenset()

    @classmethod
    def of_values(cls, values: Sequence[Any], path: Path, unit: str = "") -> Self:
        texts = [cell_text(value) for value in values]
        absent = frozenset(row for row, text in enumerate(texts) if text is None)
        structured = frozenset(row for row, value in enumerate(values) if is_structure(value))
        numbers = range(1, len(texts) + 1)
        column = cls([text or "" for text in texts], path, numbers, unit, absent, structured=structured)
        for row, text in enumerate(column.texts):
            if HALF_SURROGATE.search(text):
                raise InputError(
                    "half a surrogate pair", location=column.location(row), remedy="repair the text"
                )
        return column

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Sequence[int]) -> "Column":
        absent, structured = (
            frozenset(i for i, row in enumerate(rows) if row in marked)
            for marked in (self.absent, self.structured)
        )
        texts, lines = [self.texts[row] for row in rows], [self.lines[row] for row in rows]
        return replace(self, texts=texts, lines=lines, absent=absent, structured=structured)

    def location(self, row: int) -> str:
        return f"{self.path}:{self.unit}{self.lines[row]}"


@dataclass(eq=False)
class Reading:
    """One pass over a dataset: access to its files, notes, provenance and defects.

    A defect raises InputError. With `tolerant`, defects are collected (a bad label becomes NaN), and errors
    of whole files or splits in `unreadable`. `table_columns` are those that features read by name.
    """

    root: Path
    tolerant: bool = False
    notes: list[str] = field(default_factory=list)
    provenance: dict[str, str] = field(default_factory=dict)
    defects: list[InputError] = field(default_factory=list)
    table_columns: TableColumns = field(default_factory=dict)
    unreadable: list[InputError] = field(default_factory=list)

    def attempt(self, read: Callable[[], T]) -> T | None:
        if not self.tolerant:
            return read()
        try:
            return read()
        except InputError as error:
            self.unreadable.append(error)
            return None

    def splits(self, files: Mapping[str, P], read: Callable[[str, P], T | None]) -> dict[str, T]:
        results = {name: self.attempt(partial(read, name, file)) for name, file in files.items()}
        return {name: split for name, split in results.items() if split is not None}

    def defect(self, problem: str, *, location: object = None, remedy: str = "") -> None:
        error = InputError(problem, location=location, remedy=remedy)
        if not self.tolerant:
            raise error
        self.defects.append(error)

    def note(self, path: Path, count: int, text: str) -> None:
        note = f"{self.name(path)}: {text.replace('{n}', str(count))}"
        if count and note not in self.notes:
            self.notes.append(note)

    def name(self, path: Path) -> str:
        inside = path.is_relative_to(self.root) and path != self.root
        return path.relative_to(self.root).as_posix() if inside else path.as_posix()

    def content(self, path: Path, *, in_lines: bool = False) -> bytes:
        """The bytes of a plain or gzip file; adds its checksum to the provenance.

        Raises InputError if it is absent, damaged or empty, or `in_lines` and a line is longer than 16 MiB.
        """
        try:
            with open_binary(path) as stream:
                content = b"".join(byte_lines(stream, path)) if in_lines else stream.read()
        except DAMAGED_GZIP as error:
            raise InputError(damage_of(error), location=path) from None
        if content in (b"", BOM):
            raise InputError("the file is empty", location=path, remedy="give one segment per line")
        self.provenance[self.name(path)] = sha256(path)
        return content

    def json(self, path: Path) -> Any:
        try:
            return json.loads(self._text(path, self.content(path)))
        except (ValueError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"not JSON ({error})", location=path) from None

    def text(self, path: Path, encoding: str = "utf-8") -> str:
        """The text of a file: byte-order mark dropped, CRLF turned into LF, LF after the last line."""
        return self._text(path, self.content(path, in_lines=True), encoding)

    def _text(self, path: Path, content: bytes, encoding: str = "utf-8") -> str:
        if encoding != "utf-8":
            try:
                text = content.decode(encoding).removeprefix("\ufeff")
            except UnicodeError as error:
                raise wrong_encoding(encoding, error, path) from None
            return self._lines_alike(path, text)
        if content.startswith(BOM):
            self.note(path, 1, "starts with a byte-order mark (dropped)")
            content = content[len(BOM) :]
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            column = error.start - (content.rfind(b"\n", 0, error.start) + 1) + 1
            raise InputError(
                f"not UTF-8 (byte 0x{content[error.start]:02x} at position {column})",
                location=f"{path}:{line}",
                remedy="convert the file, for example with iconv -t UTF-8",
            ) from None
        return self._lines_alike(path, text)

    def _lines_alike(self, path: Path, text: str) -> str:
        check_line_ends(text.partition("\n")[0].encode() + b"\n" * ("\n" in text), path)
        if not text.endswith("\n"):
            self.note(path, 1, "no line end after the last line")
            text += "\n"
        crlf = text.count("\r\n")
        self.note(path, crlf, "{n} lines end with CRLF (read as LF)")
        text = text.replace("\r\n", "\n") if crlf else text
        self.note(path, text.count("\r"), "{n} carriage returns inside lines (kept)")
        exotic = len(EXOTIC.findall(text))
        self.note(
            path, exotic, "{n} unusual separators (NUL, form feed, U+0085, U+2028, ...) in lines (kept)"
        )
        return text

    def lines(self, path: Path) -> Column:
        """One cell per line (ended by LF alone), or per segment of an SGM file."""
        if is_sgm(path):
            self.content(path)  # what is read has its checksum
            found = segments(path)
            return self.stripped(Column([one.text for one in found], path, [one.line for one in found]))
        texts = self.text(path).split("\n")[:-1]
        return self.stripped(Column(texts, path, range(1, len(texts) + 1)))

    def stripped(self, column: Column) -> Column:
        texts = [text.rstrip(BLANKS) for text in column.texts]
        changed = sum(map(str.__ne__, texts, column.texts))
        self.note(column.path, changed, "{n} lines with trailing blanks (removed)")
        return replace(column, texts=texts) if changed else column

    def numbers(self, column: Column, noun: str, low: float | None, high: float | None) -> FloatArray:
        """(n,) numbers; missing cells, no numbers, NaN and values out of range are defects."""
        values = np.full(len(column), np.nan)
        texts = with_points(column.texts, column.decimal)
        commas = texts is not column.texts
        self.note(column.path, int(commas), f"decimal commas of the {noun} are read as points")
        for i, text in enumerate(texts):
            found = number_problem(text, low, high)
            if found is None:
                values[i] = number_in(text)
            else:
                problem, remedy = found
                self.defect(f"the {noun} {problem}", location=column.location(i), remedy=remedy)
        return values

    def labels(self, column: Column, scale: LabelScale) -> FloatArray:
        if scale.classes is not None:
            column = replace(column, texts=numbers_of(column.texts, scale.classes))
        return self.numbers(column, f"label '{scale.name}'", scale.low, scale.high)

    def numbers_as_text(self, column: Column, name: str) -> Column:
        """The cells of a column with decimal points; those that are neither empty nor numbers are defects."""
        texts = with_points(column.texts, column.decimal)
        for row, text in enumerate(texts):
            if text.strip() and (found := number_problem(text, None, None)) is not None:
                remedy = found[1] if "," in text else "leave the cell empty if the number is missing"
                self.defect(f"the {name} {found[0]}", location=column.location(row), remedy=remedy)
        return replace(column, texts=texts)

    def matrix(self, column: Column, noun: str, low: float | None, high: float | None) -> FloatArray:
        """(n, j) numbers, separated by tabs or spaces in each cell; rows of another width are defects."""
        rows = [text.split() for text in column.texts]
        width = len(rows[0])
        values = np.full((len(rows), width), np.nan)
        for i, row in enumerate(rows):
            if len(row) != width:
                self.defect(
                    f"expected {width} {noun}s as in the first line, found {len(row)}",
                    location=column.location(i),
                )
                continue
            cells = Column(row, column.path, [column.lines[i]] * width, column.unit, decimal=column.decimal)
            values[i] = self.numbers(cells, noun, low, high)
        return values


def with_points(texts: list[str], decimal: str | None) -> list[str]:
    """Numbers with decimal points; by default, commas are decimal unless they may separate thousands."""
    if decimal is None:
        commas = [text for text in texts if "," in text]
        shown = any(_DECIMAL_COMMA.fullmatch(text.strip()) for text in commas)
        alike = all(_COMMA_NUMBER.fullmatch(text.strip()) for text in commas)
        decimal = "," if shown and alike and not any("." in text for text in texts) else "."
    if decimal == ".":
        return texts
    return [
        text.replace(".", "").replace(",", ".") if _COMMA_NUMBER.fullmatch(text.strip()) else text
        for text in texts
    ]


def number_problem(text: str, low: float | None, high: float | None) -> tuple[str, str] | None:
    """(what is wrong with a number on the range, the remedy), or None."""
    cell = text.strip()
    if not cell:
        return "is missing", "give every segment a label, or leave the label file out for blind data"
    if cell.lower() in ("nan", "na", "n/a", "null", "none"):
        return f"is not a number ('{cell}')", "leave out the segments that have no label"
    if not _NUMBER.fullmatch(cell):
        comma = "," in cell and _NUMBER.fullmatch(cell.replace(",", "."))
        return f"is not a number ('{cell[:40]}')", "use a decimal point" if comma else ""
    value = number_in(text)
    if not np.isfinite(value) or (low is not None and value < low) or (high is not None and value > high):
        bottom, top = ("-inf" if low is None else f"{low:g}"), ("inf" if high is None else f"{high:g}")
        return f"is {cell}, off the declared scale [{bottom}, {top}]", ""
    if abs(value) > MAX_VALUE:
        return f"is {cell}, too large (more than {MAX_VALUE:g})", "give it in another unit"
    return None


def number_in(text: str) -> float:
    """The number in a text that `number_problem` accepts; `float` alone does not strip U+001C .. U+001F."""
    return float(text.strip())


def equal_lengths(columns: Mapping[str, Column]) -> None:
    (_, first), *others = columns.items()
    for _, column in others:
        if len(column) != len(first):
            short, long = sorted((first, column), key=len)
            raise InputError(
                f"ends after {len(short)} lines, but {long.path} has {len(long)}",
                location=f"{short.path}:{len(short)}",
                remedy="line i of all files of a split must be the same segment",
            )


def known_keys(names: Mapping[str, Any], known_names: Sequence[str], location: str) -> None:
    unknown = [key for key in names if key not in known_names]
    if unknown:
        raise InputError(
            f"unknown key '{unknown[0]}'", location=location, remedy=f"known: {', '.join(known_names)}"
        )


def read_table(reading: Reading, path: Path, layout: Layout | None = None) -> dict[str, Column]:
    """The columns of a table by name, every cell as text; an absent value (null) is empty text."""
    layout = layout or Layout()
    layout.check()
    kind = layout.kind or kind_of(path)
    if kind == "jsonl":
        table = _collected(json_rows(reading.text(path).split("\n")[:-1]), path)
    elif kind == "parquet":
        reading.content(path)  # its checksum goes to the provenance
        table = _collected(ParquetInput(path).rows(strict=True), path, "row ")
    elif kind in ("tsv", "csv"):
        table = _delimited(reading, path, kind, layout)
    else:
        table = _of_translators(reading, path, kind, layout)
    if not table or not len(next(iter(table.values()))):
        raise InputError("the table has no rows", location=path)
    if layout.languages is not None and kind not in ("xliff", "tmx"):
        return columns_of_pair(reading, table, layout.languages, path)
    return table


def columns_of_pair(
    reading: Reading, table: Mapping[str, Column], languages: tuple[str, str], path: Path
) -> dict[str, Column]:
    texts = {name: column.texts for name, column in table.items()}
    rows, note = rows_of_pair(texts, languages, path)
    reading.note(path, len(note), note)
    return {name: column.take(rows) if note and rows else column for name, column in table.items()}


def texts_of(reading: Reading, path: Path, role: str) -> Column:
    if not is_table(path):
        return reading.lines(path)
    table = read_table(reading, path)
    header = role if role in table else header_of(role, list(table), path)
    if not header:
        raise InputError(
            f"no column is known as the {role}",
            location=path,
            remedy=f"it has {', '.join(table)}; name it {role}, or give a file with one text per line",
        )
    return reading.stripped(table[header])


def _delimited(reading: Reading, path: Path, kind: str, layout: Layout) -> dict[str, Column]:
    dialect = dialect_of(path, kind, layout.csv)
    reading.note(path, 1 if dialect.differences else 0, f"read with {dialect.differences}")
    records = dialect.records(reading.text(path, dialect.encoding).split("\n")[:-1], path)
    _, header = next(records)
    check_header(header, f"{path}:{dialect.preamble + 1}")
    lines: list[int] = []
    cells: list[list[str]] = []
    for line, fields in records:
        if len(fields) != len(header):
            raise InputError(
                f"expected {len(header)} fields as in the header, found {len(fields)}",
                location=f"{path}:{line}",
                remedy=dialect.remedy(fields),
            )
        lines.append(line)
        cells.append(fields)
    return {
        name: Column([row[i] for row in cells], path, lines, decimal=layout.decimal)
        for i, name in enumerate(header)
    }


def _of_translators(reading: Reading, path: Path, kind: str, layout: Layout) -> dict[str, Column]:
    source = FileInput(path, replace(layout, kind=kind))
    reading.content(path)
    header, file = source.columns, source.file
    unit = "row " if isinstance(file, Sheet) else "segment "
    numbered = [(row.number or number, row) for number, row in enumerate(file.rows, start=1)]
    if isinstance(file, Sheet):
        for line, row in numbered:
            for reason in row.reasons.values():
                reading.defect(reason, location=f"{path}:{unit}{line}")
    else:
        there = [(number, row) for number, row in numbered if not row.reasons]
        reading.note(path, len(numbered) - len(there), "{n} segments without a translation are left out")
        numbered = there
    lines, rows = [number for number, _ in numbered], [row for _, row in numbered]
    return {
        name: Column([row.texts.get(name, "") for row in rows], path, lines, unit, decimal=layout.decimal)
        for name in header
    }


def _collected(rows: Iterable[Row], path: Path, unit: str = "") -> dict[str, Column]:
    records: list[dict[str, Any]] = []
    for number, (record, reason) in enumerate(rows, start=1):
        if reason:
            raise InputError(reason, location=f"{path}:{unit}{number}")
        if records and record.keys() != records[0].keys():
            odd = sorted(record.keys() ^ records[0].keys())
            raise InputError(
                f"the keys differ from those of line 1: {', '.join(odd)}",
                location=f"{path}:{unit}{number}",
                remedy="give every line the same keys (null if there is no value)",
            )
        records.append(record)
    names = records[0] if records else ()
    return {name: Column.of_values([record[name] for record in records], path, unit) for name in names}
