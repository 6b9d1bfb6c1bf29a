"""Moved stores: artifacts beside an SQLite store go along when it is moved.

MLflow keeps their absolute paths.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from features.basics.errors import InputError

# The columns in which MLflow keeps paths of artifacts.
_COLUMNS = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "source"),
    ("model_versions", "storage_location"),
)
_FILE = "file://"


def follow(store: Path, root: Path) -> None:
    """Lets the paths of a store lead to the artifacts beside it, wherever its folder was before.

    store  the SQLite file
    root   its folder of artifacts; nothing is done unless that lies in the store's own folder

    Raises InputError if the store was moved and cannot be written.
    """
    home = store.parent.resolve()
    if not root.resolve().is_relative_to(home) or not store.exists():
        return
    tail = root.resolve().relative_to(home)
    with closing(sqlite3.connect(store)) as connection:
        try:
            locations = connection.execute("SELECT artifact_location FROM experiments").fetchall()
        except sqlite3.OperationalError:  # a store without tables, that MLflow has not begun to use
            return
        before = dict.fromkeys(old for (place,) in locations for old in _moved(place or "", home, tail))
        try:
            with connection:
                for old in before:
                    for table, column in _COLUMNS:
                        _replace(connection, table, column, str(old), str(home / tail))
        except sqlite3.OperationalError as error:
            raise InputError(
                f"was moved, and the paths in it cannot be written anew ({error})", location=store
            ) from None


def _moved(location: str, home: Path, tail: Path) -> Iterator[Path]:
    parts = Path(location.removeprefix(_FILE)).parts
    size = len(tail.parts)
    for end in range(len(parts), size, -1):
        old = Path(*parts[:end])
        if old.is_absolute() and parts[end - size : end] == tail.parts and old != home / tail:
            rest = Path(*parts[end:])
            gone = not old.exists()
            if gone or ((home / tail / rest).exists() and not old.samefile(home / tail)):
                yield old
            return


def _replace(connection: sqlite3.Connection, table: str, column: str, old: str, new: str) -> None:
    for scheme in ("", _FILE):
        begin = f"{scheme}{old}/"
        connection.execute(
            f"UPDATE {table} SET {column} = ? || substr({column}, ?) WHERE substr({column} || '/', 1, ?) = ?",
            (scheme + new, len(begin), len(begin), begin),
        )
