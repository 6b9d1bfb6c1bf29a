"""Checks the parts of a workbook before they are used: entities, and too much content."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from xml.parsers import expat
from zipfile import ZipFile

from features.basics.errors import InputError
from features.storage.pipes import rewindable

LONGEST: Final = 1 << 30  # bytes that the parts of a file may unpack to
WIDEST: Final = 16_384  # columns of a sheet (ECMA-376)
TALLEST: Final = 1_048_576  # and rows
_MOST_CELLS = 5_000_000  # of all sheets: openpyxl takes 0.4 KB for each
_MOST_COVERED = 200_000  # cells of all areas that openpyxl makes cells of
_AREAS: Final = frozenset({"mergeCell", "hyperlink"})
_AREA: Final = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,9}):\$?([A-Z]{1,3})\$?(\d{1,9})", re.IGNORECASE)


def check_parts(path: Path) -> None:
    """Raises InputError, with the part, for entities or too many bytes, cells or columns."""
    with ZipFile(rewindable(path)) as parts:
        if sum(part.file_size for part in parts.infolist()) > LONGEST:
            raise InputError("unpacks to more than 1 GiB", location=path, remedy="split it")
        counts = _Counts(path)
        for name in parts.namelist():
            if name.lower().endswith((".xml", ".rels")):
                counts.look_over(parts, name)


class _Counts:
    def __init__(self, path: Path) -> None:
        self.path, self.part, self.cells, self.in_row, self.covered = path, "", 0, 0, 0

    def look_over(self, parts: ZipFile, name: str) -> None:
        self.part = name
        parser = expat.ParserCreate(None, " ")
        parser.StartDoctypeDeclHandler = self._refuse_entities
        parser.StartElementHandler = self._count
        with parts.open(name) as stream:
            try:
                parser.ParseFile(stream)
            except expat.ExpatError:
                return

    def _refuse_entities(self, *_: object) -> None:
        raise self._error("has a document type, which may declare entities: none are expanded")

    def _count(self, name: str, attributes: Mapping[str, str]) -> None:
        local = name.rpartition(" ")[2]
        if local == "c":
            self.cells, self.in_row = self.cells + 1, self.in_row + 1
            if self.in_row > WIDEST:
                raise self._error(f"a row has more than {WIDEST:,} cells, which is more than a sheet has")
            if self.cells > _MOST_CELLS:
                raise self._error(f"has more than {_MOST_CELLS:,} cells")
        elif local == "row":
            self.in_row = 0
        elif local in _AREAS:
            self._cover(attributes.get("ref", ""))

    def _cover(self, area: str) -> None:
        found = _AREA.fullmatch(area)
        if found is None:
            return
        left, top, right, bottom = _column(found[1]), int(found[2]), _column(found[3]), int(found[4])
        self.covered += (abs(right - left) + 1) * (abs(bottom - top) + 1)
        if self.covered > _MOST_COVERED:
            raise self._error(
                f"areas that are merged or linked have more than {_MOST_COVERED:,} cells, the last {area}"
            )

    def _error(self, what: str) -> InputError:
        return InputError(
            what, location=f"{self.path}:{self.part}", remedy="save the sheet alone, or split it"
        )


def _column(letters: str) -> int:
    """The number of a column.

    >>> _column("A"), _column("XFD")
    (1, 16384)
    """
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
