"""Whether a table is whole at a width: no line too long, no number cut, no column gone without a word."""

import re

from rich.cells import cell_len

from qe.display.numbers import NumberText
from qe.display.table import Table


def check_whole(table: Table, width: int) -> None:
    """Fails where a line is too long, or a number or a column of the table is not in its text.

    A word longer than a line, such as a signature or a path, is not broken.
    """
    text = table.text(width)
    too_long = [line for line in text.splitlines() if cell_len(line) > width and " " in line.strip()]
    assert not too_long, f"wider than {width}:\n{text}"
    dropped = _dropped(text, table)
    for place, column in enumerate(table.columns):
        if column.title in dropped:
            assert column.drop, f"{column.title} must not go:\n{text}"
            continue
        for row in table.body:
            cell = row[place]
            for piece in cell.pieces if isinstance(cell, NumberText) else _numbers(cell):
                assert _stands(piece, text), f"{piece!r} is not whole at {width}:\n{text}"


def _dropped(text: str, table: Table) -> list[str]:
    joined = " ".join(text.split())
    found = re.search(r"no room in \d+ columns for (.*)", joined)
    if not found:
        return []
    droppable = [c.title for c in table.columns if c.drop]
    return [title for title in droppable if re.search(rf"(^|, ){re.escape(title)}(,| |$)", found.group(1))]


def _numbers(cell: str) -> list[str]:
    return re.findall(r"\d+(?:[.,]\d+)*", cell)


def _stands(piece: str, text: str) -> bool:
    """Whether a line has the piece, and nothing beside it that would make it another number."""
    return bool(re.search(rf"(?<![\d.]){re.escape(piece)}(?![\d]|[.,]\d)", text))
