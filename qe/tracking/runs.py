"""One run of MLflow: parameters, metrics, tags, artifacts, tables, data, and its child runs."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import mlflow
import pandas as pd
from mlflow.data.pandas_dataset import from_pandas
from mlflow.entities import DatasetInput, InputTag, Metric, Param, RunTag
from mlflow.environment_variables import MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING
from mlflow.exceptions import MlflowException
from mlflow.tracking.context.registry import resolve_tags
from mlflow.utils.autologging_utils import disable_autologging
from mlflow.utils.mlflow_tags import (
    MLFLOW_DATASET_CONTEXT,
    MLFLOW_LOGGED_ARTIFACTS,
    MLFLOW_PARENT_RUN_ID,
    MLFLOW_RUN_NOTE,
)

from features.basics.errors import InputError, without_passwords
from qe.tracking.address import database_file, is_database, kind_of, local_path
from qe.tracking.connection import connected, one_at_a_time
from qe.tracking.settings import TrackingSettings, artifact_root

# Model training: MLflow's word for experiments whose runs are models, not traces of applications.
_KIND = {"mlflow.experimentKind": "custom_model_development"}
_ID, _NAME, _RUN = "MLFLOW_EXPERIMENT_ID", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_RUN_ID"


def is_ours(experiment: Any) -> bool:
    """Whether an experiment was made for qe, not by the user for what else they do."""
    return all(experiment.tags.get(name) == value for name, value in _KIND.items())


def experiment_id(settings: TrackingSettings, parent: str | None) -> str:
    """The id of a run's experiment: of the parent, of MLflow's variables, or of mlflow.yaml."""
    uri, name = mlflow.get_tracking_uri(), os.environ.get(_NAME) or settings.experiment
    with one_at_a_time(uri):
        try:
            number = os.environ.get(_ID) if parent is None else mlflow.get_run(parent).info.experiment_id
            experiment = mlflow.get_experiment(number) if number else None
        except MlflowException:
            value = f"{_ID} is '{os.environ.get(_ID)}'" if parent is None else f"{_RUN} is '{parent}'"
            problem = f"{value}, which this store does not have"
            raise InputError(problem, location=uri, remedy=f"unset it; {_NAME} names an experiment") from None
        experiment = experiment or mlflow.get_experiment_by_name(name)
        if experiment is None:
            root = artifact_root()
            place = quote(name) if local_path(root) else name
            location = f"{root}/{place}" if is_database(uri) else None
            return str(mlflow.create_experiment(name, artifact_location=location, tags=_KIND))
    if experiment.lifecycle_stage == "deleted":
        problem = f"the experiment '{experiment.name}' (id {experiment.experiment_id}) was deleted"
        remedy = f"restore it by `mlflow experiments restore`, or name another in {_NAME} or mlflow.yaml"
        raise InputError(problem, location=uri, remedy=remedy)
    return str(experiment.experiment_id)


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings and lists of mappings as one level with dotted names.

    >>> flatten({"a": {"b": 1}, "c": [{"d": 2}]})
    {'a.b': 1, 'c.0.d': 2}
    """
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
            flat |= flatten({str(i): item for i, item in enumerate(value)}, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def accepted(values: Mapping[str, Any]) -> dict[str, Any]:
    return {re.sub(r"[^\w. /-]", "_", name): value for name, value in values.items()}


_BATCH = 500  # metrics logged at a time; MLflow takes at most 1000
_PARAM_LIMIT = 6000  # MLflow's longest parameter value


@dataclass(frozen=True)
class Data:
    """Data that a run used: name and digest, by which figures refer to it."""

    name: str
    digest: str


@dataclass(frozen=True)
class Run:
    """One open MLflow run."""

    id: str
    experiment_id: str
    client: mlflow.MlflowClient

    @property
    def uri(self) -> str:
        return f"runs:/{self.id}"

    def params(self, values: Mapping[str, Any]) -> None:
        """Logs parameters, nested mappings by dotted names; changed ones as the tag `resumed.NAME`."""
        flat = {name: without_passwords(str(value)) for name, value in flatten(values).items()}
        known = self.client.get_run(self.id).data.params
        new = [Param(k, v) for k, v in flat.items() if k not in known and len(v) <= _PARAM_LIMIT]
        for start in range(0, len(new), 100):
            self.client.log_batch(self.id, params=new[start : start + 100])
        changed = {k: v for k, v in flat.items() if k in known and known[k] != v}
        self.tags({f"resumed.{name}": value for name, value in changed.items()})

    def stays_here(self) -> bool:
        """Whether what is logged stays on this machine: figures in a file, artifacts in a folder."""
        location = str(self.client.get_run(self.id).info.artifact_uri)
        local = kind_of(location) == "file" or "://" not in location
        return local and database_file(mlflow.get_tracking_uri()) is not None

    def metrics(
        self,
        values: Mapping[str, float],
        step: int = 0,
        *,
        model_id: str | None = None,
        data: Data | None = None,
    ) -> None:
        """Logs finite metrics of the model `model_id`, measured on `data`; an undefined one is left out."""
        logged = _metrics(values, step, model_id, data)
        for start in range(0, len(logged), _BATCH):
            self.client.log_batch(self.id, metrics=logged[start : start + _BATCH])

    def tags(self, values: Mapping[str, str]) -> None:
        shown = [RunTag(name, without_passwords(value)) for name, value in values.items()]
        self.client.log_batch(self.id, tags=shown)

    def artifact(self, path: Path, folder: str | None = None) -> None:
        """Logs a file, or a directory's content."""
        log = self.client.log_artifacts if path.is_dir() else self.client.log_artifact
        log(self.id, str(path), folder)

    def table(self, rows: pd.DataFrame, path: str) -> None:
        """Logs a table that the UI opens under Artifacts; `path` ends in `.json`."""
        rows = rows.rename(columns=lambda header: str(header).replace(".", " "))
        with TemporaryDirectory() as scratch:
            file = Path(scratch) / Path(path).name
            file.write_text(rows.to_json(orient="split", index=False, force_ascii=False), "utf-8")
            folder = Path(path).parent.as_posix()
            self.artifact(file, None if folder == "." else folder)
        known = json.loads(self.client.get_run(self.id).data.tags.get(MLFLOW_LOGGED_ARTIFACTS, "[]"))
        entry = {"path": path, "type": "table"}
        if entry not in known:
            self.tags({MLFLOW_LOGGED_ARTIFACTS: json.dumps([*known, entry])})

    def values(self, content: Mapping[str, Any], path: str) -> None:
        """Logs JSON values as a file."""
        self.client.log_dict(self.id, dict(content), path)

    def text(self, content: str, path: str) -> None:
        self.client.log_text(self.id, content, path)

    def describe(self, text: str) -> None:
        """What the run's page says of it, in Markdown."""
        self.tags({"mlflow.note.content": text})

    def dataset(self, table: pd.DataFrame, name: str, targets: str | None, context: str) -> Data:
        """Logs the data a run used."""
        source = from_pandas(table, targets=targets, name=name)
        tags = [InputTag(MLFLOW_DATASET_CONTEXT, context)]
        self.client.log_inputs(self.id, [DatasetInput(source._to_mlflow_entity(), tags)])
        return Data(source.name, source.digest)

    def children(self) -> dict[str, str]:
        """Name -> id of its child runs."""
        tag = f"tags.mlflow.parentRunId = '{self.id}'"
        known, token = dict[str, str](), None
        while True:
            page = self.client.search_runs([self.experiment_id], tag, max_results=1000, page_token=token)
            known |= {str(run.info.run_name): str(run.info.run_id) for run in page}
            token = page.token
            if not token:
                return known

    @contextmanager
    def nested(self, name: str) -> Iterator["Run"]:
        """A child run, ended when the block ends; if there is one of that name, it goes on."""
        known = self.children().get(name)
        if known is None:
            tags = {MLFLOW_PARENT_RUN_ID: self.id}
            known = str(self.client.create_run(self.experiment_id, tags=tags, run_name=name).info.run_id)
        else:
            self.client.update_run(known, status="RUNNING")
        with _ended(self.client, known):
            yield Run(known, self.experiment_id, self.client)

    def child(
        self, name: str, params: Mapping[str, Any], metrics: Mapping[str, float], started: datetime | None,
        finished: datetime | None,
    ) -> None:  # fmt: skip
        """A finished child run: a trial of a search, or a repeat of the folds."""
        start = int(started.timestamp() * 1000) if started else None
        tags = {"mlflow.parentRunId": self.id}
        run = self.client.create_run(self.experiment_id, start_time=start, tags=tags, run_name=name)
        self.client.log_batch(
            run.info.run_id,
            metrics=_metrics(metrics, 0),
            params=[Param(k, without_passwords(str(v))) for k, v in flatten(params).items()],
        )
        end = int(finished.timestamp() * 1000) if finished else None
        self.client.set_terminated(run.info.run_id, "FINISHED", end)


def _no_record(*_: Any, **__: Any) -> None: ...


class Untracked(Run):
    """A run that keeps nothing (`tracking: off`), without a client, because making one makes a store."""

    def __init__(self) -> None:
        for name in ("id", "experiment_id"):
            object.__setattr__(self, name, "")

    params = metrics = tags = artifact = table = values = text = child = _no_record

    def stays_here(self) -> bool:
        return True

    def dataset(self, table: pd.DataFrame, name: str, targets: str | None, context: str) -> Data:
        return Data(name, "")

    def children(self) -> dict[str, str]:
        return {}

    @contextmanager
    def nested(self, name: str) -> Iterator[Run]:
        yield self


@contextmanager
def run(
    name: str,
    *,
    description: str = "",
    resume: str | None = None,
    parent: str | None = None,
    tags: Mapping[str, str] | None = None,
) -> Iterator[Run]:
    """An MLflow run, ended when the block ends; `resume` continues the run with that id.

    It is a child of `parent`, else of the run that the user has active. It does not become the active run,
    and MLflow logs nothing by itself meanwhile (autologging).
    """
    with connected() as settings, disable_autologging():
        client, entry = mlflow.MlflowClient(), None
        if resume is not None:
            with suppress(MlflowException):  # it was deleted
                client.update_run(resume, status="RUNNING")
                entry = client.get_run(resume)
        if entry is None:
            active = mlflow.active_run()
            parent = parent or (active.info.run_id if active else os.environ.get(_RUN))
            shown = {MLFLOW_RUN_NOTE: description} if description else {}
            shown |= {} if parent is None else {MLFLOW_PARENT_RUN_ID: parent}
            experiment = experiment_id(settings, parent)
            entry = client.create_run(experiment, tags=resolve_tags({**shown, **(tags or {})}), run_name=name)
        with _ended(client, entry.info.run_id), _system_metrics(entry.info.run_id, resume is not None):
            yield Run(entry.info.run_id, entry.info.experiment_id, client)


@contextmanager
def _ended(client: mlflow.MlflowClient, run_id: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        client.set_terminated(run_id, "FAILED")
        raise
    client.set_terminated(run_id, "FINISHED")


@contextmanager
def _system_metrics(run_id: str, resumed: bool) -> Iterator[None]:
    if not MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING.get():  # type: ignore[no-untyped-call]
        yield
        return
    if find_spec("psutil") is None:
        name = MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING.name
        raise InputError(f"{name} needs the package psutil", remedy="pip install psutil")
    from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

    monitor: Any = SystemMetricsMonitor(run_id, resume_logging=resumed)  # type: ignore[no-untyped-call]
    monitor.start()
    try:
        yield
    finally:
        monitor.finish()


def log_report(
    name: str,
    *,
    params: Mapping[str, Any],
    metrics: Mapping[str, float],
    folder: Path,
    under: str = "",
) -> str:
    """Logs a report that is not a training run as a separate run, with the files of `folder`; its id."""
    with run(name) as logged:
        logged.params(accepted(flatten(params)))
        logged.metrics(accepted(metrics))
        logged.artifact(folder, under or name)
    return logged.id


def _metrics(
    values: Mapping[str, float], step: int, model_id: str | None = None, data: Data | None = None
) -> list[Metric]:
    now = int(datetime.now().timestamp() * 1000)
    name, digest = (None, None) if data is None else (data.name, data.digest)
    return [
        Metric(k, float(v), now, step, model_id, name, digest)
        for k, v in values.items()
        if v == v and abs(v) != float("inf")
    ]


@connected(reading=True)
def fetched(run_id: str, name: str) -> Path:
    """An artifact of a run, as a file here. Raises InputError if there is none."""
    try:
        return Path(mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path=name))
    except (MlflowException, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"the run has no {name} ({reason})", location=f"runs:/{run_id}") from None
