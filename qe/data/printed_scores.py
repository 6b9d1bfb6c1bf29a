"""Scores as other programs write them: submissions to the WMT QE tasks since 2020, and `comet-score`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.numerals import real
from features.storage.files import read_lines

_HEADERS = 3  # bytes on disk, parameters, models of an ensemble: one number a line
_PAIR = re.compile(r"[A-Za-z]{2,3}-[A-Za-z]{2,3}|multilingual", re.IGNORECASE)
_COMET = re.compile(r"(?P<name>[^\t]*)\tSegment (?P<segment>\d+)\tscore: (?P<score>\S+)")
_COMET_TOTAL = re.compile(r"[^\t]*\t(system-)?score: \S+")


@dataclass(frozen=True)
class _Row:
    """A line: which system, which segment, which score as it is written."""

    name: str
    segment: int
    score: str
    line: int


def is_printed(path: Path) -> bool:
    """Whether the beginning of a file looks like one of these."""
    lines = list(islice(read_lines(path), _HEADERS + 1))
    first = next((line for line in lines if len(_fields(line)) > 1), "")
    return bool(_COMET.fullmatch(first)) or _is_task_line(first)


def read_printed(path: Path) -> tuple[str, FloatArray]:
    """The name of the system, and its scores (n,) in the order of the segments, which count from 0 or from 1.

    A submission is `PAIR METHOD SEGMENT SCORE` on each line, after up to three header lines.

    Raises InputError, with file and line, for lines of another form, scores that are no finite numbers, a
    second system or pair, and segments that are missing or given twice.
    """
    rows = [row for number, line in enumerate(read_lines(path), start=1) if (row := _row(line, number, path))]
    names = dict.fromkeys(row.name for row in rows)
    if len(names) != 1:
        raise InputError(
            f"scores of {len(names)} systems ({', '.join(names)})",
            where=path,
            remedy="give one file for each",
        )
    return rows[0].name.rpartition(" ")[2], _in_order(rows, path)


def _fields(line: str) -> Sequence[str]:
    return line.split("\t") if "\t" in line else line.split()


def _is_task_line(line: str) -> bool:
    fields = _fields(line)
    return len(fields) == 4 and bool(_PAIR.fullmatch(fields[0].strip())) and fields[2].strip().isdigit()


def _row(line: str, number: int, path: Path) -> _Row | None:
    """None for a header, an empty line and the score of a whole system."""
    comet = _COMET.fullmatch(line)
    if comet:
        return _Row(Path(comet["name"]).name.replace(" ", "_"), int(comet["segment"]), comet["score"], number)
    if _is_task_line(line):
        pair, method, segment, score = (field.strip() for field in _fields(line))
        return _Row(f"{pair} {method.replace(' ', '_')}", int(segment), score, number)
    if not line.strip() or _COMET_TOTAL.fullmatch(line) or (number <= _HEADERS and len(_fields(line)) == 1):
        return None
    raise InputError(
        "expected PAIR, METHOD, SEGMENT, SCORE, or a line of comet-score",
        where=f"{path}:{number}",
        remedy="separate fields by one tab",
    )


def _in_order(rows: Sequence[_Row], path: Path) -> FloatArray:
    first = min(row.segment for row in rows)
    lines: dict[int, int] = {}
    scores = np.full(len(rows), np.nan)
    for row in rows:
        place = row.segment - first
        if row.segment in lines:
            raise InputError(
                f"segment {row.segment} is given twice, first in line {lines[row.segment]}",
                where=f"{path}:{row.line}",
            )
        if first > 1 or place >= len(rows):
            raise InputError(
                f"segment {row.segment} in a file of {len(rows)} segments",
                where=f"{path}:{row.line}",
                remedy="segments count from 0 or from 1, none missing",
            )
        lines[row.segment], scores[place] = row.line, _number(row, path)
    return scores


def _number(row: _Row, path: Path) -> float:
    try:
        value = real(row.score)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise InputError(f"the score is {row.score!r}, not a finite number", where=f"{path}:{row.line}")
    return value
