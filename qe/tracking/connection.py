"""The way to the store: MLflow pointed at it, quietly, and one process at a time where that matters."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import mlflow
from mlflow.telemetry import set_telemetry_client

from features.basics.errors import InputError
from features.storage.outputs import locked_file
from qe.tracking.address import check_reachable, database_file, is_database
from qe.tracking.settings import TrackingSettings, artifact_root, load_settings, tracking_uri

# The UI opens on the runs of model training, not on its pages for language model applications.
_KIND = {"mlflow.experimentKind": "custom_model_development"}
_PATIENCE = 120.0  # seconds that another process may take to make the tables of a new store


def connect(path: Path | None = None) -> TrackingSettings:
    """Points MLflow at the project's store and experiment; creates the experiment on first use.

    Raises InputError, after seconds, if there is no store, or one that MLflow cannot use.
    """
    quiet()
    settings, _ = load_settings(path)
    uri = tracking_uri(path)
    for address in (uri, os.environ.get("MLFLOW_REGISTRY_URI") or uri):
        check_reachable(address)
    mlflow.set_tracking_uri(uri)
    # The registry is the tracking store, unless the user's MLFLOW_REGISTRY_URI says otherwise. To set it here
    # would write that variable for everything that follows in this process.
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", settings.experiment)
    try:
        with one_at_a_time(uri):
            if mlflow.get_experiment_by_name(name) is None:
                location = f"{artifact_root(path)}/{name}" if is_database(uri) else None
                mlflow.create_experiment(name, artifact_location=location, tags=_KIND)
            mlflow.set_experiment(name)
    except InputError:
        raise
    except Exception as error:  # MLflow's, SQLAlchemy's, the driver's
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"MLflow cannot use this store: {reason}", where=uri) from None
    return settings


@contextmanager
def one_at_a_time(uri: str) -> Iterator[None]:
    """Keeps other processes of this kind from the same steps on an SQLite store: MLflow makes its tables, and
    who is first of a name, without asking whether another process is just doing that.
    """
    file = database_file(uri)
    if file is None or not os.access(_nearest(file.parent), os.W_OK):  # nothing can be made there anyway
        yield
        return
    with locked_file(file, patience=_PATIENCE):
        yield


def _nearest(folder: Path) -> Path:
    return next(above for above in (folder, *folder.parents) if above.exists())


def quiet() -> None:
    """MLflow's migrations, downloads and hints are not the user's business; its errors are.

    It reports nothing to anyone, unless the user has said that it may.
    """
    if "MLFLOW_DISABLE_TELEMETRY" not in os.environ:
        os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
        set_telemetry_client()  # type: ignore[no-untyped-call]  # what was made when mlflow was imported goes
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    # A project of uv in the working directory is not the model's: MLflow would put its files into the model.
    os.environ.setdefault("MLFLOW_UV_AUTO_DETECT", "false")
    # On stdout, where a server tracks: it would stand in the middle of what --json prints.
    os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.ERROR)
