"""Addresses of tracking stores: their kind, the place of files, and if a server answers."""

import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

from features.basics.errors import InputError
from features.storage.files import check_writable

_PATIENCE = 5.0  # seconds for a server to answer
_PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
_SQLITE = b"SQLite format 3\x00"


def kind_of(uri: str) -> str:
    """The scheme without a driver.

    >>> kind_of("postgresql+psycopg://host/name"), kind_of("sqlite:///mlflow.db")
    ('postgresql', 'sqlite')
    """
    return uri.partition(":")[0].partition("+")[0]


def is_database(uri: str) -> bool:
    """Whether this process writes the database itself: no server says where artifacts go."""
    return kind_of(uri) in ("sqlite", *_PORTS)


def database_file(uri: str) -> Path | None:
    """The file of an SQLite address; None for any other, and for a database in memory."""
    path = uri.partition(":///")[2].partition("?")[0]
    return Path(path).absolute() if kind_of(uri) == "sqlite" and path not in ("", ":memory:") else None


def absolute(uri: str) -> str:
    """The address that names the same SQLite file from every working directory."""
    file = database_file(uri)
    if file is None:
        return uri
    scheme, _, rest = uri.partition(":///")
    return f"{scheme}:///{file}" + "".join(rest.partition("?")[1:])


def check_reachable(uri: str) -> None:
    """Raises InputError, after seconds, if no store can be; MLflow would try for minutes."""
    kind, file = kind_of(uri), database_file(uri)
    if file is not None:
        _check_file(file)
    elif kind in ("http", "https"):
        _check_server(uri)
    elif kind in _PORTS:
        _check_port(uri, _PORTS[kind])


def _check_file(file: Path) -> None:
    remedy = "check MLFLOW_TRACKING_URI, or tracking_uri in mlflow.yaml"
    if not file.exists():
        check_writable(file)
        return
    if not file.is_file():
        raise InputError("is a directory, not a tracking database", location=file, remedy=remedy)
    if not os.access(file, os.R_OK):
        raise InputError("cannot be read (Permission denied)", location=file, remedy=remedy)
    with file.open("rb") as stream:
        start = stream.read(len(_SQLITE))
    if start not in (b"", _SQLITE):  # empty: just made
        raise InputError("is no SQLite database", location=file, remedy=remedy)


def _check_server(uri: str) -> None:
    import requests

    try:
        requests.get(f"{uri.rstrip('/')}/health", timeout=_PATIENCE)
    except requests.RequestException as error:
        reason = "it did not answer in time" if isinstance(error, requests.Timeout) else "no connection"
        raise _silent(uri, reason) from None


def _check_port(uri: str, port: int) -> None:
    try:
        parts = urlsplit(uri)
        host, number = parts.hostname, parts.port or port
    except ValueError as error:
        raise InputError(f"is no address ({error})", location=uri) from None
    if host is None:  # a local socket
        return
    try:
        socket.create_connection((host, number), _PATIENCE).close()
    except OSError as error:
        raise _silent(uri, error.strerror or str(error)) from None


def _silent(uri: str, reason: str) -> InputError:
    return InputError(
        f"the tracking server cannot be reached ({reason})",
        location=uri,
        remedy="start it, or name another in MLFLOW_TRACKING_URI or mlflow.yaml",
    )
