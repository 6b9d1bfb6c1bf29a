"""Files with one record per line, in any order: submissions to shared tasks, and what programs print."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from features.basics.array_types import IntArray
from features.basics.errors import InputError
from features.basics.numerals import natural
from features.storage.files import read_lines

HEADERS = 3  # lines before the records: bytes on disk, parameters, models of an ensemble; one number each
MAX_NUMBER = 10**9
Forms = Sequence[Sequence[str]]
Fields = Mapping[str, str]


@dataclass(frozen=True)
class Record:
    """A line about a segment of a system, or about one of its words, gaps or source words (`kind`)."""

    system: str
    segment: int
    value: float
    line: int
    kind: str = ""
    index: int = 0


SKIPPED = Record("", 0, 0.0, 0)  # instead of a record: the line has none


def fields_of(line: str) -> list[str]:
    return [field.strip() for field in line.split("\t")] if "\t" in line else line.split()


def named_fields(line: str, forms: Forms) -> Fields | None:
    """The fields of a line by name, by the first form with as many fields and whole `segment` and `index`."""
    fields = fields_of(line)
    for form in forms:
        record = dict(zip(form, fields, strict=False))
        numbers = [record[name] for name in ("segment", "index") if name in record]
        if len(form) == len(fields) and None not in map(natural, numbers):
            return record
    return None


def first_record_line(path: Path) -> str:
    return next((line for line in islice(read_lines(path), HEADERS + 1) if len(fields_of(line)) > 1), "")


def read_records(
    path: Path, parse: Callable[[str, int], Record | None], expected: str, remedy: str
) -> Iterator[Record]:
    """The records of the lines that are neither empty nor headers."""
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip() or (number <= HEADERS and len(fields_of(line)) == 1):
            continue
        record = parse(line, number)
        if record is None:
            raise InputError(f"expected {expected}", location=f"{path}:{number}", remedy=remedy)
        if record is not SKIPPED:
            yield record


def check_one_system(names: Mapping[str, object] | Sequence[str], path: Path) -> None:
    distinct = dict.fromkeys(names)
    if len(distinct) != 1:
        raise InputError(
            f"records of {len(distinct)} systems ({', '.join(distinct)})",
            location=path,
            remedy="give one file per system",
        )


def places(
    numbers: Sequence[int], lines: Sequence[int], noun: str, path: Path, starts: Sequence[int] = (0, 1)
) -> IntArray:
    """(n,) places from 0 of records whose numbers count from 0 or from 1, in any order.

    Raises InputError, with file and line, for a number given twice or out of range, so that one is missing.

    >>> places([3, 1, 2], [1, 2, 3], "segment", Path("a")).tolist()
    [2, 0, 1]
    """
    start = min(numbers, default=0)
    start = start if start in starts else starts[-1]
    first_lines: dict[int, int] = {}
    for number, line in zip(numbers, lines, strict=True):
        if number in first_lines:
            raise InputError(
                f"{noun} {number} is given twice, first in line {first_lines[number]}",
                location=f"{path}:{line}",
            )
        if not start <= number < start + len(numbers):
            missing = next(n for n in range(start, start + len(numbers)) if n not in set(numbers))
            raise InputError(
                f"{noun} {number} is there, but {missing} is missing, among {len(numbers)}",
                location=f"{path}:{line}",
                remedy=f"numbers count from {' or from '.join(map(str, starts))}, none missing",
            )
        first_lines[number] = line
    return np.asarray(numbers, np.int64) - start
