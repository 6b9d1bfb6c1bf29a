"""Formats of human judgements, and reading files of them by language pair."""

import csv
import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from features.basics.catalogue import Catalogue
from features.basics.errors import InputError
from features.basics.numerals import integer
from features.basics.progress import Progress, silent
from features.storage.files import read_lines
from qe.data.headers import key_of
from qe.data.score_files import is_comet
from qe.data.score_tables import SEGMENT, SYSTEM
from qe_human.judgements.collection import Collection, JudgedPair

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
        """Adds the judgements of a plain or gzip file; raises InputError, with the line, for invalid rows."""


JUDGEMENT_FORMATS: Catalogue[JudgementFormat] = Catalogue(
    "qe_human.judgements.formats", JudgementFormat, "format of judgements"
)


def rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) of a table, the header first; raises InputError for broken quoting of CSV."""
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
    return next(read_lines(path), "")


def check_width(cells: list[str], width: int, location: str) -> None:
    if len(cells) != width:
        raise InputError(f"expected {width} columns as in the header, found {len(cells)}", location=location)


def check_system(name: str, location: str) -> None:
    if not name.strip():
        raise InputError(
            "a system without a name", location=location, remedy="name it, or leave the task out"
        )


def rank_of(text: str, location: str) -> int:
    """The rank 1 .. 5, or -1 for one left blank; raises InputError for anything else."""
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
    return "\t" if "\t" in first_line else ","


def read_judgements(paths: Sequence[Path], progress: Progress = silent) -> dict[str, JudgedPair]:
    """Language pair (`Czech-English`) -> its judgements from all files together.

    Judges and segments of the same name are the same, in every file. Raises InputError for a file of no known
    format, and for rows that cannot be read.
    """
    collection = Collection()
    for done, path in enumerate(paths):
        progress("reading", done, len(paths))
        format_of(path).read(path, collection)
    return collection.judged_pairs()


def format_of(path: Path) -> JudgementFormat:
    """The format that recognises the file's first line; raises InputError if none does."""
    first_line = first_line_of(path)
    if not first_line:
        raise InputError("is empty, or begins with an empty line", location=path)
    known = [JUDGEMENT_FORMATS.get(name)() for name in JUDGEMENT_FORMATS.names]
    for entry in known:
        if entry.recognises(first_line):
            return entry
    remedy = f"first lines: {'; '.join(entry.example for entry in known)}"
    columns = {key_of(name) for name in first_line.split(delimiter_of(first_line))}
    if (columns & {*SYSTEM} and columns & {*SEGMENT}) or is_comet(path):
        remedy = "systems are compared by scores with `qe compare --scores FILE`"
    raise InputError("begins like no known file of judgements", location=f"{path}:1", remedy=remedy)


def chosen_pairs(judged: dict[str, JudgedPair], names: Sequence[str]) -> dict[str, JudgedPair]:
    """The requested pairs, or all; raises InputError for unknown pairs, or those without comparisons."""
    if not judged:
        raise InputError("the files hold no judgements")
    for name in names:
        if name not in judged:
            near = difflib.get_close_matches(name, judged, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise InputError(f"no judgements of '{name}'", remedy=f"there are {', '.join(judged)}{hint}")
    chosen = {name: judged[name] for name in names or judged}
    for name, pair in chosen.items():
        if pair.counts.total == 0:
            raise InputError(
                f"no two systems of {name} are compared", remedy="choose other pairs with --pair"
            )
    return chosen
