"""The experiment of a run: the user's choice, or else that of mlflow.yaml."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import mlflow
from mlflow.exceptions import MlflowException

from features.basics.errors import InputError
from qe.tracking.address import is_database, local_path
from qe.tracking.connection import one_at_a_time
from qe.tracking.settings import TrackingSettings, artifact_root

# Model training: MLflow's word for experiments whose runs are models, not traces of applications.
_KIND = {"mlflow.experimentKind": "custom_model_development"}
_ID, _NAME, _RUN = "MLFLOW_EXPERIMENT_ID", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_RUN_ID"


def is_ours(experiment: Any) -> bool:
    """Whether an experiment was made for qe, not by the user for what else they do."""
    return all(experiment.tags.get(name) == value for name, value in _KIND.items())


def parent_run() -> str | None:
    """The run that a new one is a child of: the user's active run, or that of `mlflow run`."""
    active = mlflow.active_run()
    return active.info.run_id if active else os.environ.get(_RUN)


def experiment_id(settings: TrackingSettings, path: Path | None, parent: str | None) -> str:
    """The id of a run's experiment; a name is created on first use.

    It is that of the parent, of `mlflow.set_experiment` or MLFLOW_EXPERIMENT_ID, of
    MLFLOW_EXPERIMENT_NAME, or of mlflow.yaml.

    path  of mlflow.yaml

    Raises InputError for an id that the store does not have.
    """
    if parent is not None:
        return str(mlflow.get_run(parent).info.experiment_id)
    given = os.environ.get(_ID)
    if given:
        return _known_id(given)
    return _id_of_name(os.environ.get(_NAME) or settings.experiment, path)


def _known_id(number: str) -> str:
    try:
        return str(mlflow.get_experiment(number).experiment_id)
    except MlflowException:
        raise InputError(
            f"{_ID} is '{number}', which this store does not have",
            location=mlflow.get_tracking_uri(),
            remedy=f"unset it, or name the experiment in {_NAME}",
        ) from None


def _id_of_name(name: str, path: Path | None) -> str:
    uri = mlflow.get_tracking_uri()
    with one_at_a_time(uri):
        experiment = mlflow.get_experiment_by_name(name)
        if experiment is not None:
            return str(experiment.experiment_id)
        root = artifact_root(path)
        place = quote(name) if local_path(root) else name
        location = f"{root}/{place}" if is_database(uri) else None
        return str(mlflow.create_experiment(name, artifact_location=location, tags=_KIND))
