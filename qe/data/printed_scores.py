"""Scores as other programs write them: WMT QE submissions since 2020, and `comet-score`."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.numerals import real
from features.storage.files import read_lines

_HEADERS = 3  # bytes on disk, parameters, models of an ensemble: one number a line
_PAIR = re.compile(r"[A-Za-z]{2,3}-[A-Za-z]{2,3}|multilingual", re.IGNORECASE)
# The name of the file since version 1.1, the variance with --mc_dropout.
_COMET = re.compile(r"((?P<name>[^\t]*)\t)?Segment (?P<segment>\d+)\tscore: (?P<score>\S+)(\tvariance: \S+)?")
_COMET_TOTAL = re.compile(r"[^\t]*\t(system-)?score: \S+|System score: \S+|Predictions saved in: .+")


@dataclass(frozen=True)
class _Row:
    name: str
    segment: int
    score: str
    line: int


def is_printed(path: Path) -> bool:
    """Whether the name or the beginning of a file looks like one of these."""
    lines = list(islice(read_lines(path), _HEADERS + 1))
    first = next((line for line in lines if len(_fields(line)) > 1), "")
    return is_comet(path) or _is_task_line(first)


def is_comet(path: Path) -> bool:
    """Whether a file is what `comet-score` prints, or what it writes with `--to_json` (.json)."""
    if _is_json(path):
        return True
    return any(_COMET.fullmatch(line) for line in islice(read_lines(path), 1))


def read_comet(path: Path) -> tuple[str, dict[str, FloatArray]]:
    """The metric (empty if the file does not name it), and system -> (n,) scores in order.

    Raises InputError, with the place, for another form and scores that are no finite numbers.
    """
    if _is_json(path):
        return _of_json(path)
    rows = _rows(path)
    names = dict.fromkeys(row.name for row in rows)
    return "", {name: _in_order([row for row in rows if row.name == name], path) for name in names}


def _is_json(path: Path) -> bool:
    return path.name.removesuffix(".gz").lower().endswith(".json")


def _of_json(path: Path) -> tuple[str, dict[str, FloatArray]]:
    try:
        content = json.loads("\n".join(read_lines(path)))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON ({error})", location=path) from None
    systems = content if isinstance(content, dict) else {path.stem: content}
    if not systems or not all(isinstance(rows, list) and rows for rows in systems.values()):
        raise InputError(
            "is no JSON of comet-score",
            location=path,
            remedy="it holds a list of scored segments for each system",
        )
    metric = _metric_of(systems, path)
    return metric, {
        Path(name).name.replace(" ", "_"): np.array(
            [_finite(row.get(metric), f"{path}:{name}:{place}") for place, row in enumerate(rows)]
        )
        for name, rows in systems.items()
    }


def _metric_of(systems: Mapping[str, Sequence[Any]], path: Path) -> str:
    for name, segments in systems.items():
        for place, segment in enumerate(segments):
            if not isinstance(segment, dict):
                raise InputError("must be a JSON object", location=f"{path}:{name}:{place}")
    rows: list[dict[str, Any]] = [segment for segments in systems.values() for segment in segments]
    numbers = [key for key, value in rows[0].items() if _is_number(value) and key != "variance"]
    names = [key for key in numbers if all(key in row for row in rows)]
    if len(names) != 1:
        raise InputError(
            f"{len(names)} scores of a segment ({', '.join(names) or 'none'})",
            location=path,
            remedy="each segment has one, such as COMET",
        )
    return names[0]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _finite(value: object, location: str) -> float:
    if isinstance(value, int | float) and _is_number(value) and np.isfinite(float(value)):
        return float(value)
    raise InputError(f"the score is {value!r}, not a finite number", location=location)


def read_printed(path: Path) -> tuple[str, FloatArray]:
    """The name of the system and its (n,) scores in the order of the segments.

    Segments count from 0 or from 1.

    A submission is `PAIR METHOD SEGMENT SCORE` on each line, after up to three header lines. `read_comet`
    says what comet-score writes.

    Raises InputError, with file and line, for lines of another form, scores that are no finite numbers, a
    second system or pair, and segments that are missing or given twice.
    """
    if _is_json(path):
        _, systems = _of_json(path)
        _check_alone(systems, path)
        return next(iter(systems.items()))
    rows = _rows(path)
    _check_alone(dict.fromkeys(row.name for row in rows), path)
    return rows[0].name.rpartition(" ")[2], _in_order(rows, path)


def _rows(path: Path) -> list[_Row]:
    return [row for number, line in enumerate(read_lines(path), start=1) if (row := _row(line, number, path))]


def _check_alone(names: Mapping[str, object], path: Path) -> None:
    if len(names) != 1:
        raise InputError(
            f"scores of {len(names)} systems ({', '.join(names)})",
            location=path,
            remedy="give one file for each",
        )


def _fields(line: str) -> Sequence[str]:
    return line.split("\t") if "\t" in line else line.split()


def _is_task_line(line: str) -> bool:
    fields = _fields(line)
    return len(fields) == 4 and bool(_PAIR.fullmatch(fields[0].strip())) and fields[2].strip().isdigit()


def _row(line: str, number: int, path: Path) -> _Row | None:
    comet = _COMET.fullmatch(line)
    if comet:
        name = Path(comet["name"] or path.stem).name.replace(" ", "_")
        return _Row(name, int(comet["segment"]), comet["score"], number)
    if _is_task_line(line):
        pair, method, segment, score = (field.strip() for field in _fields(line))
        return _Row(f"{pair} {method.replace(' ', '_')}", int(segment), score, number)
    if not line.strip() or _COMET_TOTAL.fullmatch(line) or (number <= _HEADERS and len(_fields(line)) == 1):
        return None
    raise InputError(
        "expected PAIR, METHOD, SEGMENT, SCORE, or a line of comet-score",
        location=f"{path}:{number}",
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
                location=f"{path}:{row.line}",
            )
        if first > 1 or place >= len(rows):
            raise InputError(
                f"segment {row.segment} in a file of {len(rows)} segments",
                location=f"{path}:{row.line}",
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
        raise InputError(f"the score is {row.score!r}, not a finite number", location=f"{path}:{row.line}")
    return value
