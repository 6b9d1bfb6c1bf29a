"""A table with one rank per row."""

from pathlib import Path
from typing import ClassVar

import numpy as np

from qe_human.judgements.collection import Codes, Collection
from qe_human.judgements.format import (
    JudgementFormat,
    check_system,
    check_width,
    delimiter_of,
    first_line_of,
    rank_of,
    rows,
)

COLUMNS = ("source_language", "target_language", "segment", "judge", "system", "rank")
Key = tuple[str, str, str, str, str]


class RankTable(JudgementFormat):
    """TSV or CSV: source_language, target_language, segment, judge, system, rank.

    Ranks are 1 .. 5, lower is better, ties allowed, -1 for blank. A task is what one judge said about one
    segment, wherever its rows stand; where a judge ranked a segment more than once, a further column `task`
    tells the tasks apart. Other columns are not read.
    """

    example: ClassVar[str] = ",".join(COLUMNS)

    def recognises(self, first_line: str) -> bool:
        return set(COLUMNS) <= set(first_line.split(delimiter_of(first_line)))

    def read(self, path: Path, collection: Collection) -> None:
        beginning = first_line_of(path)
        table = rows(path, delimiter_of(beginning))
        header = next(table)[1]
        places = [header.index(column) for column in COLUMNS]
        task_place = header.index("task") if "task" in header else None
        tasks: dict[Key, list[tuple[str, int]]] = {}
        for line, cells in table:
            location = f"{path}:{line}"
            check_width(cells, len(header), location)
            source, target, segment, judge, system, rank = (cells[place] for place in places)
            check_system(system, location)
            task = "" if task_place is None else cells[task_place]
            ranked = tasks.setdefault((source, target, segment, judge, task), [])
            ranked.append((system, rank_of(rank, location)))
        if tasks:
            _add(tasks, collection)


def _add(tasks: dict[Key, list[tuple[str, int]]], collection: Collection) -> None:
    widths = Codes()
    numbers = widths.codes(str(len(ranked)) for ranked in tasks.values())
    items = list(tasks.items())
    for number, width in enumerate(widths.texts):
        chosen = [items[i] for i in np.flatnonzero(numbers == number)]
        collection.add_tasks(
            [f"{source}-{target}" for (source, target, *_), _ in chosen],
            [segment for (_, _, segment, *_), _ in chosen],
            [judge for (*_, judge, _), _ in chosen],
            [[ranked[place][0] for _, ranked in chosen] for place in range(int(width))],
            np.array([[rank for _, rank in ranked] for _, ranked in chosen], np.int16),
        )
