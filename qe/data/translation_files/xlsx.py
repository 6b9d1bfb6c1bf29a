"""XLSX: rows of a sheet below its header, and added columns."""

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from functools import cached_property, partial
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile

from features.basics.errors import InputError, quoted, unknown_name
from features.storage.files import MAX_LINE, is_input_file, rewindable
from qe.data.translation_files.segments import FileRow

NO_VALUE = "is a formula without its value: open the file in a spreadsheet, and save it"
MAX_BYTES: Final = 1 << 30  # that the parts of a file may unpack to
MAX_COLUMNS: Final = 16_384  # of a sheet (ECMA-376)
MAX_ROWS: Final = 1_048_576
MAX_TEXT: Final = 32_767  # characters of a cell, in Excel
MAX_CELLS: Final = 5_000_000  # of all sheets: openpyxl takes 0.4 KB for each
MAX_COVERED: Final = 200_000  # cells of all merged or linked areas: openpyxl makes cells of them
MAX_PARTS: Final = 20_000
MAX_ELEMENTS: Final = 15_000_000  # of all parts: 0.5 s for a million
MAX_OBJECTS: Final = 1_000_000  # styles, comments, rules, ...: openpyxl takes 0.02 ms for each
MAX_FORMULA: Final = 8_192  # characters of a formula, in Excel
MAX_SHARED: Final = 20_000_000  # characters of shared formulas: openpyxl writes them anew for each cell
_CELLS: Final = frozenset({"row", "c", "v", "f", "is", "t"})
_CELL: Final = re.compile(rb"<(?:\w{1,20}:)?c[\s/>]")  # parsing takes 2 s for a million of them
_STRINGS: Final = "sst"  # the root of the part of shared strings
_AREAS: Final = frozenset({"mergeCell", "hyperlink"})
_AREA: Final = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,9}):\$?([A-Z]{1,3})\$?(\d{1,9})", re.IGNORECASE)
# Errors of openpyxl, which does not check parts, and of zipfile for damaged files.
_DAMAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BadZipFile,
    EOFError,
    LookupError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    zlib.error,
)
_ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")  # ST_Xstring (ECMA-376, part 1, 22.9.2.19)
# Characters that XML cannot hold or would change, and an underscore that would begin an escape.
_ESCAPED = re.compile("[\0-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_DROPPED = re.compile(rb"(_x[0-9A-Fa-f]{4}_)|x005F(?=_)")
_SMALLER = "save the sheet alone, or split it"
_ENCRYPTED = b"\xd0\xcf\x11\xe0"  # of encrypted workbooks and of XLS, which are no ZIP files


class Sheet:
    """A sheet of a workbook; InputError for one that is damaged, larger than 1 GiB or without header."""

    unit = "row "

    def __init__(self, path: Path, name: str = "", header_row: int = 1) -> None:
        self.path, self.name, self.header_row = path, name, header_row
        values = _sheet(_book(path, rich_text=False), name, path)
        last = max((row for row, _ in values._cells), default=0)
        if last > MAX_ROWS:
            problem = f"has a cell in row {last:,}, but a sheet has {MAX_ROWS:,} rows"
            raise InputError(problem, location=path)
        characters = 0
        for (row, _), cell in values._cells.items():
            length = len(cell.value) if isinstance(cell.value, str) else 0
            characters += length
            if length > MAX_LINE:
                raise InputError("cell longer than 16 MiB", location=f"{path}:row {row}", remedy="split it")
            if characters > MAX_BYTES:  # a text that cells share is in the file once
                raise InputError("has texts of more than 1 GiB", location=path, remedy=_SMALLER)
        self._title, self._cells, self._errors = values.title, _by_row(values), _by_row(values, "e")
        self._merged = {
            (row, area.min_col): (area.min_row, area.min_col)
            for area in values.merged_cells.ranges
            if area.min_row > header_row
            for row in range(area.min_row + 1, area.max_row + 1)
        }
        self.header = self._names()

    def _names(self) -> list[str]:
        place = f"{self.path}:{self._title}:{self.header_row}"
        cells = self._cells.get(self.header_row, {})
        names = [_text(cells.get(column)) for column in range(1, max(cells, default=0) + 1)]
        while names and not names[-1]:
            names.pop()
        if not names:
            raise InputError(
                "the row of the header is empty", location=place, remedy="--header-row names another row"
            )
        twice = {name for name, times in Counter(names).items() if name and times > 1}
        if twice:
            raise InputError(
                f"the header names {sorted(twice)} more than once",
                location=place,
                remedy="rename one of them",
            )
        return names

    @cached_property
    def _sheet(self) -> Any:
        return _sheet(_book(self.path, rich_text=True), self.name, self.path)

    @cached_property
    def rows(self) -> Sequence[FileRow]:
        """The rows below the header that have a value under it."""
        formulas = _by_row(self._sheet, "f")
        numbers = {*self._cells, *formulas, *(row for row, _ in self._merged)}
        rows = []
        for number in sorted(number for number in numbers if number > self.header_row):
            texts, reasons = {}, {}
            for column, name in enumerate(self.header, start=1):
                row, first = self._merged.get((number, column), (number, column))
                value = self._cells.get(row, {}).get(first)
                if value is None and column in formulas.get(number, {}):
                    reasons[name] = f"{name} {NO_VALUE}"
                elif first in self._errors.get(row, {}):
                    reasons[name] = f"{name} is the error {value}"
                texts[name] = _text(value)
            rows.append(FileRow(texts, reasons, number))
        return [row for row in rows if row]

    def add(self, columns: Mapping[str, str], rows: Mapping[int, Mapping[str, Any]]) -> None:
        """Puts columns (name in a row -> header) behind the others, with the values of rows by number."""
        for header in columns.values():
            if header in self.header:
                raise InputError(
                    f"has a column '{header}' already",
                    location=self.path,
                    remedy="--suffix names ours otherwise",
                )
        used = (max(columns_of_row) for columns_of_row in _by_row(self._sheet).values())
        merged = (area.max_col for area in self._sheet.merged_cells.ranges)
        first = 1 + max([len(self.header), *used, *merged])
        if first + len(columns) - 1 > MAX_COLUMNS:
            raise InputError("has no room for more columns", location=self.path)
        for place, (name, header) in enumerate(columns.items(), start=first):
            _write(self._sheet, self.header_row, place, header)
            for number, row in rows.items():
                _write(self._sheet, number, place, row[name])
        self._widen_range(first + len(columns) - 1)

    def _widen_range(self, last: int) -> None:
        # Sorting moves the cells of a range alone. Of several, nobody can tell to which the columns belong.
        tables = [table for table in self._sheet.tables.values() if table.headerRowCount != 0]
        ranges = [each for each in (*tables, self._sheet.auto_filter) if each.ref]
        found = [each for each in ranges if _bounds(each.ref)[1] == self.header_row]
        if len(found) != 1 or _bounds(found[0].ref)[2] >= last:
            return
        if found[0] in tables:
            self._name_columns(found[0], last)
        filters = [found[0], getattr(found[0], "autoFilter", None)]
        for each in (*filters, *(each.sortState for each in filters if each)):
            if each is not None and each.ref:
                from openpyxl.utils.cell import get_column_letter

                left, top, _, bottom = _bounds(each.ref)
                each.ref = f"{get_column_letter(left)}{top}:{get_column_letter(last)}{bottom}"

    def _name_columns(self, table: Any, last: int) -> None:
        from openpyxl.worksheet.table import TableColumn

        for place in range(_bounds(table.ref)[2] + 1, last + 1):
            cell = self._sheet.cell(self.header_row, place)
            name = _text(cell.value) or f"Column{place}"
            if name.casefold() in {column.name.casefold() for column in table.tableColumns}:
                raise InputError(
                    f"its table has a column '{name}' already, in capitals or not",
                    location=self.path,
                    remedy="--suffix names ours otherwise",
                )
            if cell.data_type != "s":
                _write(self._sheet, self.header_row, place, name)
            number = 1 + max((column.id for column in table.tableColumns), default=0)
            table.tableColumns = [*table.tableColumns, TableColumn(id=number, name=name)]

    def save(self, path: Path) -> None:
        book = self._sheet.parent
        try:
            path.write_bytes(_content(book))
        except _DAMAGE as error:
            raise InputError(
                f"openpyxl cannot write it again ({_reason(error)})",
                location=self.path,
                remedy="score it into a table, such as scores.tsv",
            ) from None


def _write(sheet: Any, row: int, column: int, value: Any) -> None:
    cell = sheet.cell(row, column)
    cell.value = escaped(value) if isinstance(value, str) else value
    if isinstance(value, str):
        cell.data_type = "s"  # text that begins with = is no formula


def write_book(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """A workbook of one sheet: a header, which stays in sight and filters, and rows with the same keys.

    Raises InputError for more rows, and longer texts, than a sheet holds.
    """
    from openpyxl import Workbook

    longest = max((len(value) for row in rows for value in row.values() if isinstance(value, str)), default=0)
    if len(rows) >= MAX_ROWS or longest > MAX_TEXT:
        limits = f"a sheet holds {MAX_ROWS:,} rows and texts of {MAX_TEXT:,} characters"
        raise InputError(limits, location=path, remedy="write a table, such as scores.tsv")
    book = Workbook()
    table = [list(rows[0] if rows else ()), *(list(row.values()) for row in rows)]
    for number, values in enumerate(table, start=1):
        for column, value in enumerate(values, start=1):
            _write(book.active, number, column, value)
    book.active.freeze_panes, book.active.auto_filter.ref = "A2", book.active.dimensions
    path.write_bytes(_content(book))


def _book(path: Path, *, rich_text: bool) -> Any:
    from openpyxl.reader.excel import ExcelReader
    from openpyxl.utils.exceptions import InvalidFileException

    if not is_input_file(path):
        raise InputError("no such file", location=path)
    file = rewindable(path)
    with file.open("rb") as stream:
        if stream.read(4) == _ENCRYPTED:
            raise InputError(
                "is encrypted, or of the old kind XLS",
                location=path,
                remedy="save it as XLSX without a password",
            )
    try:
        if not rich_text:
            check_parts(path)
        with file.open("rb") as stream:  # the ending of the name does not count
            reader = ExcelReader(stream, data_only=not rich_text, rich_text=rich_text)
            reader.archive = _Parts(stream)
            reader.read()
            return reader.wb
    except InputError:
        raise
    except MemoryError:
        raise InputError("needs more memory than there is", location=path, remedy=_SMALLER) from None
    except (InvalidFileException, OSError, *_DAMAGE) as error:  # OSError: it has no main part
        raise InputError(f"not an XLSX file ({_reason(error)})", location=path) from None


class _Parts(ZipFile):
    def open(self, name: Any, *positional: Any, **keywords: Any) -> Any:
        part = super().open(name, *positional, **keywords)
        if not str(name).lower().endswith(".xml"):
            return part
        # openpyxl drops `x005F_`, in an escape or not: the same text is written otherwise.
        return BytesIO(_DROPPED.sub(_rewritten, part.read()))


def _rewritten(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    return b"_x0078_005F" if escape is None else escape.lower() if escape == b"_x005F_" else escape


def _content(book: Any) -> bytes:
    for sheet in book.worksheets:
        for cell in sheet._cells.values():
            value = cell.value
            if cell.data_type == "n" and value is not None and float(f"{value:.16g}") != value:
                cell.value, cell.data_type = repr(value), "n"  # openpyxl writes numbers with 16 digits
    content = BytesIO()  # openpyxl leaves an archive open that the disk has no room for
    book.save(content)
    return content.getvalue()


def _reason(error: Exception) -> str:
    return quoted((str(error) or type(error).__name__).splitlines()[0])


def _sheet(book: Any, name: str, path: Path) -> Any:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if name in sheets:
        return sheets[name]
    if name.isdecimal() and 0 < int(name) <= len(sheets):
        return book.worksheets[int(name) - 1]
    if name:
        raise unknown_name("sheet", name, sheets, location=path)
    seen = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
    if not seen:
        raise InputError("has no sheet that is not hidden", location=path, remedy="--sheet names one")
    return seen[0]


def _by_row(sheet: Any, kind: str = "") -> dict[int, dict[int, Any]]:
    rows: dict[int, dict[int, Any]] = {}
    for (row, column), cell in sheet._cells.items():
        if cell.value is not None and kind in ("", cell.data_type):
            rows.setdefault(row, {})[column] = cell.value
    return rows


def _bounds(area: str) -> tuple[int, int, int, int]:
    from openpyxl.utils.cell import range_boundaries

    left, top, right, bottom = range_boundaries(area)
    return left or 1, top or 1, right or MAX_COLUMNS, bottom or MAX_ROWS


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime | date | time):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    return unescaped(str(value)).strip()


def unescaped(text: str) -> str:
    """The text of a cell: each `_xHHHH_` is the UTF-16 code unit of this number.

    >>> unescaped("a_x0009_b"), unescaped("_x005F_x000D_"), unescaped("_xD83D__xDE00_")
    ('a\\tb', '_x000D_', '😀')
    """
    if "_x" not in text:
        return text
    units = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), text)
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def escaped(text: str) -> str:
    """The text as a cell holds it, so that `unescaped` gives it back.

    >>> escaped("a\\r\\n_x000D_")
    'a_x000D_\\n_x005F_x000D_'
    """
    return _ESCAPED.sub(lambda character: f"_x{ord(character[0]):04X}_", text)


def check_parts(path: Path) -> None:
    """Raises InputError for a part with entities, or larger than a budget of bytes, elements, cells, ...

    Every part is read: openpyxl takes parts by relations, not by names.
    """
    with ZipFile(rewindable(path)) as parts:
        if sum(part.file_size for part in parts.infolist()) > MAX_BYTES:
            raise InputError("unpacks to more than 1 GiB", location=path, remedy="split it")
        if len(parts.infolist()) > MAX_PARTS:
            raise InputError(f"has more than {MAX_PARTS:,} parts", location=path, remedy=_SMALLER)
        counts = _Counts(path)
        for name in parts.namelist():
            counts.count(parts, name)


class _Counts:
    def __init__(self, path: Path) -> None:
        self.path, self.part, self.root, self.element = path, "", "", ""
        self.elements, self.objects, self.cells, self.in_row, self.covered = 0, 0, 0, 0, 0
        self.characters, self.shared, self.formula = 0, 0, ""
        self.formulas: dict[str, int] = {}  # name of a shared formula -> its characters

    def count(self, parts: ZipFile, name: str) -> None:
        self.part, self.root, self.formula, self.formulas = name, "", "", {}
        with parts.open(name) as stream:
            blocks = iter(partial(stream.read, 1 << 20), b"")
            if sum(len(_CELL.findall(block)) for block in blocks) > MAX_CELLS:
                raise self._error(f"has more than {MAX_CELLS:,} cells")
        parser = expat.ParserCreate(None, " ")
        parser.buffer_text = True
        if not name.lower().endswith(".svg"):  # pictures may have one; their entities count as elements
            parser.StartDoctypeDeclHandler = self._refuse_entities
        parser.StartElementHandler = self._add
        parser.CharacterDataHandler = self._add_text
        with parts.open(name) as stream:
            try:
                parser.ParseFile(stream)
            except expat.ExpatError:
                return

    def _refuse_entities(self, *_: object) -> None:
        raise self._error("has a document type, which may declare entities: none are expanded")

    def _add(self, name: str, attributes: Mapping[str, str]) -> None:
        local = name.rpartition(" ")[2]
        self.root, self.element, self.characters = self.root or local, local, 0
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            raise self._error(f"has more than {MAX_ELEMENTS:,} elements")
        if local not in _CELLS and self.root != _STRINGS:
            self.objects += 1 + attributes.get("sqref", "").count(" ")
            if self.objects > MAX_OBJECTS:
                raise self._error(f"has more than {MAX_OBJECTS:,} styles, comments, rules and other objects")
        self.formula = attributes.get("si", "") if local == "f" else ""
        if self.formula in self.formulas:
            self.shared += self.formulas[self.formula]
            if self.shared > MAX_SHARED:
                raise self._error(f"shared formulas have more than {MAX_SHARED:,} characters in their cells")
        if local == "c":
            self.cells, self.in_row = self.cells + 1, self.in_row + 1
            if self.in_row > MAX_COLUMNS:
                raise self._error(f"a row has more than {MAX_COLUMNS:,} cells, the maximum of a sheet")
            if self.cells > MAX_CELLS:
                raise self._error(f"has more than {MAX_CELLS:,} cells")
        elif local == "row":
            self.in_row = 0
        elif local in _AREAS:
            self._cover(attributes.get("ref", ""))

    def _add_text(self, text: str) -> None:
        self.characters += len(text)
        if self.characters > MAX_LINE:
            raise self._error("cell longer than 16 MiB")
        if self.element == "f":
            if self.characters > MAX_FORMULA:
                raise self._error(
                    f"a formula has more than {MAX_FORMULA:,} characters, the maximum of a sheet"
                )
            if self.formula:
                self.formulas[self.formula] = self.characters

    def _cover(self, area: str) -> None:
        match = _AREA.fullmatch(area)
        if match is None:
            return
        from openpyxl.utils.cell import column_index_from_string

        left, right = column_index_from_string(match[1]), column_index_from_string(match[3])
        top, bottom = int(match[2]), int(match[4])
        self.covered += (abs(right - left) + 1) * (abs(bottom - top) + 1)
        if self.covered > MAX_COVERED:
            raise self._error(
                f"areas that are merged or linked have more than {MAX_COVERED:,} cells, the last {area}"
            )

    def _error(self, problem: str) -> InputError:
        return InputError(problem, location=f"{self.path}:{self.part}", remedy=_SMALLER)
