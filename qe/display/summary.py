"""Results that show themselves: in a terminal, at a prompt and in a notebook."""

import importlib
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

from features.basics.short_repr import LINES, fields_of
from qe.display.files import plain
from qe.display.table import UNBOUNDED, Column, Table, wrapped

_WIDTH = 80  # columns of a prompt


class Printable:
    """A result that shows itself by its `summary()`, or else by a row for each field.

    Its `repr` has at most 15 lines, and HTML is a table.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__repr__ = Printable.__repr__  # type: ignore[method-assign]  # @dataclass keeps what a class has

    def __repr__(self) -> str:
        return short(summary_of(self))

    def _repr_html_(self) -> str:
        return summary_of(self).html()


class Record(Printable):
    """A dataclass of results that is written to JSON by field."""

    def to_json(self) -> dict[str, Any]:
        """Plain values; None for undefined numbers."""
        values: Any = self
        return {one.name: plain(getattr(self, one.name)) for one in fields(values)}


def table_by(function: str, *values: Any) -> Table:
    """The table that a function makes of a result, named because modules of tables import results."""
    module, _, name = function.rpartition(".")
    table: Table = getattr(importlib.import_module(module), name)(*values)
    return table


def summary_of(value: Any) -> Table:
    if hasattr(value, "summary"):
        table: Table = value.summary()
        return table
    return entries(type(value).__name__, "", fields_of(value))


def entries(kind: str, name: str, rows: Iterable[tuple[str, str]]) -> Table:
    return Table("", [Column(kind, "what"), Column(name, "value")], [row for row in rows if row[1]])


def short(table: Table) -> str:
    """The table in 15 lines of 80 columns: notes go first, then rows, with a line that counts the rest."""
    for notes in (table.notes, ()):
        text = replace(table, notes=notes).text(_WIDTH).rstrip()
        if text.count("\n") < LINES:
            return text
    lines = text.split("\n")
    return "\n".join([*lines[: LINES - 1], f"... {len(lines) - LINES + 1} more lines"])


WIDTH = 120  # of tables that go to a file or a pipe, unless COLUMNS says otherwise


def width() -> int:
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) else WIDTH


def show(*tables: Table) -> None:
    for table in tables:
        print(table.text(width(), _sentences()))


def say(*sentences: str) -> None:
    """Print sentences, in a terminal wrapped at blanks; a path that is longer than a line stays whole."""
    for sentence in sentences:
        print("\n".join(wrapped(sentence, _sentences(), whole_words=True)))


def _sentences() -> int:
    return width() if sys.stdout.isatty() else UNBOUNDED
