"""Format of human judgements: a file -> tasks or counts."""

import csv
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from features.basics.catalogue import Catalogue
from features.basics.errors import InputError
from features.basics.numerals import integer
from features.storage.files import read_lines
from qe_human.judgements.collection import Collection

BLANK = -1
WORST = 5


class JudgementFormat(ABC):
    """Recognises a file by its first line, and adds what it holds to a collection."""

    example: ClassVar[str]  # the first line of such a file, for messages

    @abstractmethod
    def recognises(self, first_line: str) -> bool:
        """Whether a file that begins so is of this format."""

    @abstractmethod
    def read(self, path: Path, collection: Collection) -> None:
        """Adds the judgements of a plain or gzip file. Raises InputError, with file and line, for a row that
        cannot be read.
        """


JUDGEMENT_FORMATS: Catalogue[JudgementFormat] = Catalogue(
    "qe_human.judgements.formats", JudgementFormat, "format of judgements"
)


def rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) of a table, the header first; CSV (comma) is quoted, other tables are not. Raises
    InputError for broken quoting.
    """
    lines = (line + "\n" for line in read_lines(path))
    if delimiter == ",":
        reader = csv.reader(lines, strict=True)
    else:
        reader = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
    before = 0
    try:
        for cells in reader:
            yield before + 1, cells
            before = reader.line_num
    except csv.Error as error:
        raise InputError(f"broken CSV ({error})", location=f"{path}:{before + 1}") from None


def first_line_of(path: Path) -> str:
    """The first line; empty for an empty file."""
    return next(read_lines(path), "")


def check_width(cells: list[str], width: int, location: str) -> None:
    """Raises InputError for a row that has not as many cells as the header."""
    if len(cells) != width:
        raise InputError(f"expected {width} columns as in the header, found {len(cells)}", location=location)


def check_system(name: str, location: str) -> None:
    """Raises InputError for a system without a name."""
    if not name.strip():
        raise InputError(
            "a system without a name", location=location, remedy="name it, or leave the task out"
        )


def rank_of(text: str, location: str) -> int:
    """The rank 1 .. 5, or -1 for one left blank. Raises InputError for anything else."""
    try:
        rank = integer(text)
    except ValueError:
        rank = 0
    if rank != BLANK and not 1 <= rank <= WORST:
        raise InputError(
            f"the rank is '{text}', not one of 1 .. {WORST}",
            location=location,
            remedy=f"{BLANK} means a blank",
        )
    return rank


def delimiter_of(first_line: str) -> str:
    """Tab if there is one, otherwise comma."""
    return "\t" if "\t" in first_line else ","
