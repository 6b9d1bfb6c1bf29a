"""Addresses of tracking stores and artifacts: paths to URIs and back, checks, and stores that were moved."""

import socket
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from features.basics.errors import InputError
from features.storage.files import check_writable, resolved
from qe.config.stores import check_sqlite

_TIMEOUT = 5.0  # seconds for a server to answer
_PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
_TABLES: Final = {"experiments", "runs"}  # of every version of MLflow
# The columns in which MLflow stores locations of artifacts.
_LOCATIONS: Final = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "source"),
    ("model_versions", "storage_location"),
)


def check_text(text: str) -> str:
    """A name or an address; raises InputError for half a surrogate pair, which no store can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{text!r} holds half a surrogate pair", remedy="fix the name") from None
    return text


def kind_of(uri: str) -> str:
    """The scheme without a driver: `postgresql` of `postgresql+psycopg://host/name`."""
    return uri.partition(":")[0].partition("+")[0]


def is_database(uri: str) -> bool:
    """Whether this process writes the database itself, so that no server chooses the place of artifacts."""
    return kind_of(uri) in ("sqlite", *_PORTS)


def database_uri(file: Path) -> str:
    """The address of an SQLite file, as SQLAlchemy reads it."""
    path = str(file.absolute())
    quoted = path.replace("%", "%25").replace("?", "%3F")
    # MLflow makes the folder of a `sqlite:///` address, as it is written there, quotes and all.
    return f"sqlite:///{path}" if quoted == path else f"sqlite+pysqlite:///{quoted}"


def database_file(uri: str, folder: Path | None = None) -> Path | None:
    """The absolute path of an SQLite address; None for any other, and for a database in memory."""
    path = unquote(uri.partition(":///")[2].partition("?")[0])
    if kind_of(uri) != "sqlite" or path in ("", ":memory:"):
        return None
    return (folder or Path()).joinpath(path).absolute()


def local_path(location: str) -> Path | None:
    """The path behind a location of artifacts, as MLflow reads it; None if they are elsewhere."""
    if location.startswith("file:"):
        return Path(unquote(urlsplit(location).path))
    return Path(unquote(location)) if location.startswith("/") else None


def absolute(uri: str, folder: Path | None = None) -> str:
    """The address with the absolute path of its SQLite file; a relative one starts from `folder`.

    >>> absolute("sqlite:///mlflow.db?timeout=9", Path("/data/50%"))
    'sqlite+pysqlite:////data/50%25/mlflow.db?timeout=9'
    """
    file = database_file(uri, folder)
    if file is None:
        return uri
    return database_uri(file) + "".join(uri.partition("?")[1:])


def check_reachable(uri: str) -> None:
    """Raises InputError, after seconds, if no store can be; MLflow would try for minutes."""
    kind, file = kind_of(uri), database_file(uri)
    if file is not None and file.exists():
        check_sqlite(file, _TABLES)
    elif file is not None:
        check_writable(file)
    elif kind in ("http", "https"):
        import requests

        try:
            requests.get(f"{uri.rstrip('/')}/health", timeout=_TIMEOUT)
        except requests.RequestException as error:
            reason = "it did not answer in time" if isinstance(error, requests.Timeout) else "no connection"
            raise _unreachable(uri, reason) from None
    elif kind in _PORTS:
        try:
            parts = urlsplit(uri)
            host, port = parts.hostname, parts.port or _PORTS[kind]
        except ValueError as error:
            raise InputError(f"is no address ({error})", location=uri) from None
        if host is None:  # a local socket
            return
        try:
            socket.create_connection((host, port), _TIMEOUT).close()
        except OSError as error:
            raise _unreachable(uri, error.strerror or str(error)) from None


def _unreachable(uri: str, reason: str) -> InputError:
    return InputError(
        f"the tracking server cannot be reached ({reason})",
        location=uri,
        remedy="start it, or name another in MLFLOW_TRACKING_URI or mlflow.yaml",
    )


def follow_moved(store: Path, root: Path) -> None:
    """Updates the absolute locations in an SQLite file whose folder was moved or copied.

    Nothing is done unless its folder of artifacts `root` is below its own.
    """
    folder, root = resolved(store.parent), resolved(root)
    if not root.is_relative_to(folder) or not store.exists():
        return
    with closing(sqlite3.connect(store)) as connection:
        try:
            rows = connection.execute("SELECT artifact_location FROM experiments").fetchall()
        except sqlite3.OperationalError:  # a store without tables, that MLflow has not begun to use
            return
        paths = [local_path(location or "") for (location,) in rows]
        moved = {old for path in paths if path and (old := _root_before(path, root, folder))}
        if not moved:
            return

        def relocated(location: str) -> str:
            path = local_path(location)
            old = next((old for old in moved if path and path.is_relative_to(old)), None)
            return location if path is None or old is None else (root / path.relative_to(old)).as_uri()

        connection.create_function("relocated", 1, relocated)
        try:
            with connection:
                for table, column in _LOCATIONS:
                    connection.execute(
                        f"UPDATE {table} SET {column} = relocated({column}) WHERE {column} IS NOT NULL"
                    )
        except sqlite3.OperationalError as error:
            raise InputError(
                f"was moved, and the paths in it cannot be updated ({error})", location=store
            ) from None


def _root_before(path: Path, root: Path, folder: Path) -> Path | None:
    """The folder of artifacts that a location was below, if it is another than `root`."""
    tail = root.relative_to(folder).parts
    for old in path.parents if not tail else (path, *path.parents):
        if old.parts[len(old.parts) - len(tail) :] == tail and len(old.parts) > len(tail) and old != root:
            now = root / path.relative_to(old)
            return old if not old.exists() or (now.exists() and not old.samefile(root)) else None
    return None
