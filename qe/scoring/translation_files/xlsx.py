"""XLSX: columns beside those of the first sheet, whose first row is its header."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from features.basics.errors import InputError

_LONGEST = 1 << 30  # bytes that the parts of a file may unpack to


class Sheet:
    """The first sheet of a workbook.

    Raises InputError for a file that is no workbook, has no header, or unpacks to more than 1 GiB.
    """

    def __init__(self, path: Path) -> None:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException

        if not path.is_file():
            raise InputError("no such file", where=path)
        try:
            with ZipFile(path) as parts:
                if sum(part.file_size for part in parts.infolist()) > _LONGEST:
                    raise InputError("unpacks to more than 1 GiB", where=path, remedy="split it")
            self.book = load_workbook(path)
        except (BadZipFile, InvalidFileException, KeyError, ValueError, SyntaxError) as error:
            raise InputError(f"not an XLSX file ({error})", where=path) from None
        self.sheet: Any = self.book.worksheets[0]
        self.header = [str(cell.value or "").strip() for cell in self.sheet[1]]
        if not any(self.header):
            raise InputError("the first sheet has no header in its first row", where=path)

    def rows(self) -> list[dict[str, str]]:
        """One per row below the header: header -> text."""
        return [
            {
                name: "" if value is None else str(value)
                for name, value in zip(self.header, values, strict=False)
            }
            for values in self.sheet.iter_rows(min_row=2, values_only=True)
        ]

    def add(self, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
        """Puts columns behind the others; one that is there already is written anew."""
        for name in columns:
            place = self.header.index(name) + 1 if name in self.header else len(self.header) + 1
            if place > len(self.header):
                self.header.append(name)
            self.sheet.cell(1, place).value = name
            for number, row in enumerate(rows, start=2):
                cell = self.sheet.cell(number, place)
                cell.value = row[name]
                if isinstance(row[name], str):
                    cell.data_type = "s"  # text that begins with = is no formula

    def save(self, path: Path) -> None:
        self.book.save(path)
