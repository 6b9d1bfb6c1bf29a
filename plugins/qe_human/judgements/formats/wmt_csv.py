"""The ranking files of WMT 2010 to 2012: one task per row, several systems side by side."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np

from features.basics.errors import InputError
from qe_human.judgements.collection import Collection
from qe_human.judgements.format import (
    BLANK,
    WORST,
    JudgementFormat,
    check_system,
    check_width,
    delimiter_of,
    first_line_of,
    rank_of,
    rows,
)

_CHUNK = 50_000  # rows held as text at a time
_RANKS = {str(rank): rank for rank in (BLANK, *range(1, WORST + 1))}
_KEYS = ("srclang", "trglang", "srcIndex", "judgeId")
Rows = list[tuple[int, list[str]]]


class WmtCsv(JudgementFormat):
    """CSV of WMT rankings: srclang, trglang, srcIndex, judgeId, systemKId, systemKrank. The place K counts
    from 1; the last two columns come once for each place.

    Ranks are 1 .. 5, lower is better, ties allowed, -1 for blank. A place named `blank` with number 0 is
    empty. Other columns are not read: documentId and segmentId are redundant.
    """

    example: ClassVar[str] = (
        "srclang,trglang,srcIndex,...,judgeId,system1Number,system1Id,...,system1rank,..."
    )

    def recognises(self, first_line: str) -> bool:
        return {"srclang", "trglang", "system1Id"} <= set(first_line.split(delimiter_of(first_line)))

    def read(self, path: Path, collection: Collection) -> None:
        beginning = first_line_of(path)
        table = rows(path, delimiter_of(beginning))
        layout = _layout(next(table)[1], path)
        while chunk := list(islice(table, _CHUNK)):
            _add(chunk, layout, path, collection)


@dataclass(frozen=True)
class _Layout:
    width: int
    keys: tuple[int, ...]
    names: tuple[int, ...]
    numbers: tuple[int, ...] | None
    ranks: tuple[int, ...]


def _layout(header: list[str], path: Path) -> _Layout:
    places = sum(f"system{k}Id" in header for k in range(1, len(header)))
    if places < 2:
        raise InputError("has columns for fewer than two systems", location=f"{path}:1")
    names, ranks, numbers = (
        [f"system{k}{what}" for k in range(1, places + 1)] for what in ("Id", "rank", "Number")
    )
    missing = [column for column in (*_KEYS, *names, *ranks) if column not in header]
    if missing:
        raise InputError(f"no column '{missing[0]}'", location=f"{path}:1")
    location = {column: i for i, column in enumerate(header)}
    known = [column for column in numbers if column in location]
    return _Layout(
        len(header),
        tuple(location[column] for column in _KEYS),
        tuple(location[column] for column in names),
        tuple(location[column] for column in numbers) if len(known) == places else None,
        tuple(location[column] for column in ranks),
    )


def _add(chunk: Rows, layout: _Layout, path: Path, collection: Collection) -> None:
    for line, cells in chunk:
        if len(cells) != layout.width:
            check_width(cells, layout.width, f"{path}:{line}")
    columns = list(zip(*(cells for _, cells in chunk), strict=True))
    source, target, segments, judges = (columns[i] for i in layout.keys)
    try:
        ranks = np.array([[_RANKS[text] for text in columns[i]] for i in layout.ranks], np.int16).T
    except KeyError:
        ranks = np.array([_checked_ranks(row, layout, path) for row in chunk], np.int16)
    names = list(_names(columns, layout, chunk, path))
    pairs = [f"{a}-{b}" for a, b in zip(source, target, strict=True)]
    collection.add_tasks(pairs, segments, judges, names, ranks)


def _checked_ranks(row: tuple[int, list[str]], layout: _Layout, path: Path) -> list[int]:
    line, cells = row
    return [rank_of(cells[i], f"{path}:{line}") for i in layout.ranks]


def _names(
    columns: list[tuple[str, ...]], layout: _Layout, chunk: Rows, path: Path
) -> Iterator[list[str | None]]:
    for k, place in enumerate(layout.names):
        names: list[str | None] = list(columns[place])
        if not all(map(str.strip, columns[place])):
            for (line, _), name in zip(chunk, columns[place], strict=True):
                check_system(name, f"{path}:{line}")
        if layout.numbers is not None and "blank" in names:
            numbers = columns[layout.numbers[k]]
            names = [
                None if name == "blank" and number == "0" else name
                for name, number in zip(names, numbers, strict=True)
            ]
        yield names
