"""Stores: files and databases that a run appends to; those of other programs are refused unchanged."""

import os
import re
import stat
import time
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from features.basics.errors import InputError, quoted
from features.storage.files import resolved

STUDY_TABLES: Final = frozenset({"studies", "trials", "version_info"})  # of Optuna
_LONGEST_START: Final = 1 << 12  # bytes that tell a journal
LOCK_SECONDS: Final = 3.0  # that a lock which leads nowhere may take to vanish
POLLING: Final = 3.0  # seconds that another process may take to make the first tables of a database
_LIBPQ = re.compile(
    r"(?:^|\s)(?:host|hostaddr|port|dbname|user|password|passfile|service)\s*=", re.IGNORECASE
)
_PASSWORD = re.compile(r"\bpassword\s*=", re.IGNORECASE)
_URL_REMEDY = "write postgresql+psycopg://USER@HOST/NAME, with the password in PGPASSWORD or ~/.pgpass"
_MEMORY = "a study in memory ends with the process: name a file or a database"


def check_study_storage(address: str, location: object = None) -> None:
    """Refuses an address that no study can be added to; nothing is written, and no server is asked."""
    if ("://" not in address and _LIBPQ.search(address)) or _PASSWORD.search(address):
        raise InputError("is a connection string with options, not a URL", location=location or "the study's "
                         "storage", remedy=_URL_REMEDY)  # fmt: skip
    if address.strip() == ":memory:":
        raise InputError(_MEMORY, location=location or address)
    if "://" in address:
        check_database(address, STUDY_TABLES, location or address)
    else:
        check_journal(Path(address), location or address)


def check_journal(path: Path, location: object = None) -> None:
    """Refuses an existing file that does not begin as a journal of Optuna, with a record or a part of one."""
    location = location or path
    if _existing_file(path, location):
        try:
            with path.open("rb") as file:
                line = file.read(_LONGEST_START)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", location=location) from None
        start, begun = b'{"op_code":', line.rstrip(b"\0")
        if not (begun.startswith(start) or start.startswith(begun)):
            raise InputError(
                f"holds no study: it begins with {quoted(line[:40].decode('utf-8', 'replace'))}",
                location=location,
                remedy="name another file",
            )
    lock, deadline = Path(f"{path}.lock"), time.monotonic() + LOCK_SECONDS
    while os.path.lexists(lock):
        if lock.is_symlink() and lock.exists():
            return
        if time.monotonic() > deadline or (os.path.lexists(lock) and not lock.is_symlink()):
            raise InputError(
                f"{lock} is no lock of a study", location=location, remedy="remove it, or name another file"
            )
        time.sleep(0.05)


def check_database(url: str, tables: Collection[str], location: object = None) -> None:
    """Refuses an SQLite database of another program: it must have these tables, or none."""
    from sqlalchemy.engine import make_url  # slow to import
    from sqlalchemy.exc import ArgumentError

    location = location or url
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise InputError("is no database URL", location=location, remedy=_URL_REMEDY) from None
    if parsed.get_backend_name() != "sqlite":
        return
    database = parsed.database or ""
    if database.startswith("file:"):
        database = unquote(database.removeprefix("file:").partition("?")[0])
    if database in ("", ":memory:") or parsed.query.get("mode") == "memory":
        raise InputError(_MEMORY, location=location)
    check_sqlite(Path(database), tables, location)


def check_sqlite(path: Path, tables: Collection[str], location: object = None) -> None:
    """Refuses a file that is no SQLite database, or one of another program; it may be absent."""
    location, deadline = location or path, time.monotonic() + POLLING
    if not _existing_file(path, location):
        return
    while (names := _tables(path, location)) and not names >= set(tables):
        if time.monotonic() > deadline:
            _check_tables(names, tables, location)
        time.sleep(0.1)


def check_server(url: str, tables: Collection[str]) -> None:
    from sqlalchemy import create_engine, inspect

    if not url.startswith("sqlite"):
        engine = create_engine(url)
        try:
            _check_tables(set(inspect(engine).get_table_names()), tables, url)
        finally:
            engine.dispose()


def _check_tables(names: Collection[str], tables: Collection[str], location: object) -> None:
    if names and not set(tables) <= set(names):
        raise InputError(
            f"is a database of another program, with the tables {', '.join(sorted(names)[:5])}",
            location=location,
            remedy="name another one",
        )


def _existing_file(path: Path, location: object) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"cannot be used ({reason})", location=location, remedy="name another file"
        ) from None
    if not stat.S_ISREG(mode):
        raise InputError("is not a regular file", location=location, remedy="name another file")
    if not os.access(path, os.R_OK | os.W_OK):
        raise InputError("cannot be read and written (permission denied)", location=location)
    return True


def read_tables(path: Path, options: str = "") -> set[str]:
    import sqlite3

    for mode in ("ro", "rw"):
        uri = f"{resolved(path).as_uri()}?mode={mode}{options}"
        try:
            with closing(sqlite3.connect(uri, uri=True, timeout=3)) as database:
                rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                return {str(name) for (name,) in rows}
        except sqlite3.OperationalError as error:
            if mode == "rw" or not error.sqlite_errorname.startswith("SQLITE_READONLY"):
                raise
    return set()


def _tables(path: Path, location: object) -> set[str]:
    import sqlite3

    try:
        with path.open("rb") as file:
            header = file.read(20)
        if not header:
            return set()
        if not header.startswith(b"SQLite format 3\0"):
            raise InputError("is no database", location=location, remedy="name another file")
        # A reader of a database with a write-ahead log would make that log, if it is not there.
        frozen = header[18:19] == b"\x02" and not Path(f"{path}-wal").exists()
        tables = read_tables(path, "&immutable=1" if frozen else "")
        return {name for name in tables if not name.startswith("sqlite_")}
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"cannot be read as a database: {error}", location=location) from None
