"""Print for people on standard output, in the width of the terminal."""

import os
import shutil
import sys

from qe.display.table import UNBOUNDED, Table
from qe.display.wrapping import wrapped

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
