"""Reading: opens the files of a dataset and collects notes, checksums and defects; tables as text columns."""

import codecs
import json
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name
from features.basics.numerals import MAX_VALUE
from features.core.extractor import TableColumns
from features.storage.files import DAMAGED_GZIP, byte_lines, check_line_ends, damage_of, open_binary, sha256
from qe.data.delimited import Layout, is_sgm, segments, text_lines
from qe.data.headers import header_of, numbers_of, rows_of_pair
from qe.data.split import LabelScale
from qe.data.table_rows import (
    HALF_SURROGATE,
    DelimitedInput,
    FileInput,
    Input,
    JsonInput,
    ParquetInput,
    Unreadable,
    cell_text,
    is_structure,
    is_table,
    open_input,
)

T = TypeVar("T")
P = TypeVar("P")

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
    def of_values(
        cls,
        values: Sequence[Any],
        path: Path,
        unit: str = "",
        lines: Sequence[int] | None = None,
        decimal: str | None = None,
    ) -> Self:
        texts = [cell_text(value) for value in values]
        absent = frozenset(row for row, text in enumerate(texts) if text is None)
        structured = frozenset(row for row, value in enumerate(values) if is_structure(value))
        lines = range(1, len(texts) + 1) if lines is None else lines
        column = cls([text or "" for text in texts], path, lines, unit, absent, decimal, structured)
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
        if content in (b"", codecs.BOM_UTF8):
            raise InputError("the file is empty", location=path, remedy="give one segment per line")
        self.provenance[self.name(path)] = sha256(path)
        return content

    def json(self, path: Path) -> Any:
        try:
            return json.loads(self.text(path, in_lines=False))
        except (ValueError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"not JSON ({error})", location=path) from None

    def text(self, path: Path, encoding: str = "utf-8", *, in_lines: bool = True) -> str:
        """The text of a file: byte-order mark dropped, CRLF turned into LF, LF after the last line."""
        try:
            text = self.content(path, in_lines=in_lines).decode(encoding)
        except UnicodeError:
            deque(text_lines(path, encoding), maxlen=0)  # raises InputError with the line
            raise
        self.note(path, int(text.startswith("\ufeff")), "starts with a byte-order mark (dropped)")
        text = text.removeprefix("\ufeff")
        first, end, _ = text.partition("\n")
        check_line_ends((first + end).encode("utf-8", "replace"), path)
        if not text.endswith("\n"):
            self.note(path, 1, "no line end after the last line")
            text += "\n"
        self.note(path, text.count("\r\n"), "{n} lines end with CRLF (read as LF)")
        text = text.replace("\r\n", "\n")
        self.note(path, text.count("\r"), "{n} carriage returns inside lines (kept)")
        separators = "{n} unusual separators (NUL, form feed, U+0085, U+2028, ...) in lines (kept)"
        self.note(path, len(EXOTIC.findall(text)), separators)
        return text

    def text_lines(self, path: Path, encoding: str = "utf-8") -> list[str]:
        return self.text(path, encoding).split("\n")[:-1]

    def lines(self, path: Path) -> Column:
        """One cell per line (ended by LF alone), or per segment of an SGM file."""
        if is_sgm(path):
            self.content(path)  # what is read has its checksum
            found = segments(path)
            return self.stripped(Column([one.text for one in found], path, [one.line for one in found]))
        texts = self.text_lines(path)
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
                self.defect(f"the {noun} {found[0]}", location=column.location(i), remedy=found[1])
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


# Remedies of numbers that are missing: of an empty cell, and of NaN.
OF_MISSING = (
    "give every segment one, or leave out its file or column",
    "leave out the segments that have none",
)


def number_problem(text: str, low: float | None, high: float | None) -> tuple[str, str] | None:
    """(what is wrong with a number on the range, the remedy), or None."""
    cell = text.strip()
    if not cell:
        return "is missing", OF_MISSING[0]
    if cell.lower() in ("nan", "na", "n/a", "null", "none"):
        return f"is not a number ('{cell}')", OF_MISSING[1]
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
    for key in names:
        known_name("key", key, known_names, location=location)


def read_table(reading: Reading, path: Path, layout: Layout | None = None) -> dict[str, Column]:
    """The columns of a table by name, every cell as text; an absent value (null) is empty text."""
    layout = layout or Layout()
    layout.check()
    table = open_input([path], layout, reading.text_lines)
    for note in table.notes:
        reading.note(path, 1, note)
    if isinstance(table, ParquetInput | FileInput):
        reading.content(path)  # its checksum goes to the provenance
    columns, numbers = _collected(reading, table)
    if not numbers:
        raise InputError("the table has no rows", location=path)
    decimal = None if isinstance(table, JsonInput | ParquetInput) else layout.decimal
    found = {
        name: Column.of_values(values, path, table.unit, numbers, decimal) for name, values in columns.items()
    }
    if layout.languages is None or table.unit == "segment ":  # segments are read in the languages
        return found
    return columns_of_pair(reading, found, layout.languages, path)


def _collected(reading: Reading, table: Input) -> tuple[dict[str, list[Any]], list[int]]:
    """The values of each column, and the numbers of the rows."""
    columns: dict[str, list[Any]] = {}
    numbers: list[int] = []
    untranslated = 0
    for number, (row, reason) in table.numbered(strict=True):
        location = f"{table.path}:{table.unit}{number}"
        if reason and not isinstance(table, FileInput):  # segments that need no score have labels, too
            remedy = table.dialect.remedy([*row.values()]) if isinstance(table, DelimitedInput) else ""
            raise InputError(reason, location=location, remedy=remedy)
        unreadable = [value.reason for value in row.values() if isinstance(value, Unreadable)]
        if unreadable and table.unit == "segment ":
            untranslated += 1
            continue
        for problem in unreadable:
            reading.defect(problem, location=location)
        columns = columns or {name: [] for name in row}
        if row.keys() != columns.keys():
            raise InputError(
                f"the keys differ from those of line 1: {', '.join(sorted(row.keys() ^ columns.keys()))}",
                location=location,
                remedy="give every line the same keys (null if there is no value)",
            )
        for name, value in row.items():
            columns[name].append("" if isinstance(value, Unreadable) else value)
        numbers.append(number)
    reading.note(table.path, untranslated, "{n} segments without a translation are left out")
    return columns, numbers


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
