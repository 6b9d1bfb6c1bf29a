"""The connection to the store: MLflow is pointed at it for a block, quietly; the user's settings stay."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import mlflow
from mlflow.telemetry import client
from mlflow.telemetry.client import get_telemetry_client, set_telemetry_client

from features.basics.errors import InputError, without_passwords
from features.storage.outputs import locked_file
from features.storage.surroundings import restored
from qe.tracking import address
from qe.tracking.address import check_reachable, database_file, local_path
from qe.tracking.settings import TrackingSettings, artifact_root, load_settings, tracking_uri

_PATIENCE = 120.0  # seconds that another process may take to make the tables of a new store
_TRACKING, _REGISTRY = "MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI"
_TELEMETRY = "MLFLOW_DISABLE_TELEMETRY"
_SILENT = {
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    # A project of uv in the working directory is not the model's: MLflow would put its files into the model.
    "MLFLOW_UV_AUTO_DETECT": "false",
    # On stdout, where a server tracks: it would stand in the middle of what --json prints.
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    _TELEMETRY: "true",
}
_log = logging.getLogger("qe.tracking")
_here: ContextVar[TrackingSettings | None] = ContextVar("connection", default=None)


@contextmanager
def connected(*, reading: bool = False) -> Iterator[TrackingSettings]:
    """Points MLflow at the store, for the block or the function that this decorates.

    The store is that of the user's active run, else the one that the user has set, else that of the nearest
    mlflow.yaml. Inside another such block this one changes nothing. With `reading`, the store
    must be there already; else an SQLite store is made where there is none.
    """
    known = _here.get()
    if known is not None:
        yield known
        return
    settings, _ = load_settings()
    uri = mlflow.get_tracking_uri() if mlflow.active_run() else tracking_uri()
    file = database_file(uri)
    if reading and file is not None and not file.exists():
        raise InputError(
            "no tracking store is there yet",
            location=file,
            remedy="`qe train` makes it; or name another in MLFLOW_TRACKING_URI or mlflow.yaml",
        )
    for store in (uri, os.environ.get(_REGISTRY) or uri):
        check_reachable(store)
    with quiet(), _pointed_at(uri):
        try:
            with one_at_a_time(uri):
                mlflow.search_experiments(max_results=1)  # makes the tables of a new store
                follow_moved(uri)
        except InputError:
            raise
        except Exception as error:  # MLflow's, SQLAlchemy's, the driver's
            reason = str(error).strip().splitlines()[0]
            raise InputError(f"MLflow cannot use this store: {reason}", location=uri) from None
        _log.info("tracking store: %s", without_passwords(uri))
        token = _here.set(settings)
        try:
            yield settings
        finally:
            _here.reset(token)


def store_is_there() -> bool:
    """Whether there is a store to read; none is made to find out."""
    if _here.get() is not None or mlflow.active_run() is not None:
        return True
    uri = tracking_uri()
    file = database_file(uri)
    there = file is None or file.exists()
    if not there:
        _log.info("tracking store: %s (not there yet)", uri)
    return there


@contextmanager
def _pointed_at(uri: str) -> Iterator[None]:
    was_set = mlflow.is_tracking_uri_set()  # type: ignore[no-untyped-call]
    before = mlflow.get_tracking_uri() if was_set else None
    if before == uri:
        yield
        return
    with restored(_TRACKING):
        mlflow.set_tracking_uri(uri)
        try:
            yield
        finally:
            mlflow.set_tracking_uri(before)  # type: ignore[arg-type]  # None: as if it had never been set


def follow_moved(uri: str) -> None:
    file, root = database_file(uri), local_path(artifact_root())
    if file is not None and root is not None:
        address.follow_moved(file, root)


@contextmanager
def one_at_a_time(uri: str) -> Iterator[None]:
    """Locks an SQLite store: MLflow makes tables, and the first entry of a name, without a lock."""
    file = database_file(uri)
    # In a folder that cannot be written nothing can be made anyway.
    if file is None or not os.access(next(path for path in file.parents if path.exists()), os.W_OK):
        yield
        return
    with locked_file(file, patience=_PATIENCE):
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Silences MLflow's migrations, downloads and hints, and its reports to its makers, but no errors."""
    loggers = [logging.getLogger(name) for name in ("mlflow", "alembic")]
    levels = [logger.level for logger in loggers]
    new = {name: value for name, value in _SILENT.items() if name not in os.environ}
    reporter = get_telemetry_client()
    with restored(*new):
        os.environ.update(new)
        set_telemetry_client()  # type: ignore[no-untyped-call]  # none, as the variable says
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            if reporter is not None:
                client._set_telemetry_client(reporter)
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
