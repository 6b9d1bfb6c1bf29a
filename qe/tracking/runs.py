"""One run of MLflow: parameters, metrics, tags, artifacts, tables, data, and its child runs."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mlflow
import pandas as pd
from mlflow.data.pandas_dataset import from_pandas
from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_LOGGED_ARTIFACTS

from features.basics.passwords import without_passwords
from qe.tracking.connection import connect
from qe.tracking.names import accepted, flatten

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
        """Logs parameters, nested mappings by dotted names.

        A value that changed since the run began (MLflow keeps the first) is logged as the tag
        `resumed.NAME`; one too long for MLflow stands in report.json alone.
        """
        flat = {name: without_passwords(str(value)) for name, value in flatten(values).items()}
        known = self.client.get_run(self.id).data.params
        new = [Param(k, v) for k, v in flat.items() if k not in known and len(v) <= _PARAM_LIMIT]
        for start in range(0, len(new), 100):
            self.client.log_batch(self.id, params=new[start : start + 100])
        changed = {k: v for k, v in flat.items() if k in known and known[k] != v}
        self.tags({f"resumed.{name}": value for name, value in changed.items()})

    def metrics(
        self,
        values: Mapping[str, float],
        step: int = 0,
        *,
        model_id: str | None = None,
        data: Data | None = None,
    ) -> None:
        """Logs finite metrics; an undefined one is left out.

        model_id  the logged model that they are of
        data      what they were measured on
        """
        logged = _metrics(values, step, model_id, data)
        for start in range(0, len(logged), _BATCH):
            self.client.log_batch(self.id, metrics=logged[start : start + _BATCH])

    def tags(self, values: Mapping[str, str]) -> None:
        shown = [RunTag(name, without_passwords(value)) for name, value in values.items()]
        self.client.log_batch(self.id, tags=shown)

    def artifact(self, path: Path, folder: str | None = None) -> None:
        """Logs a file, or a directory's content."""
        log = mlflow.log_artifacts if path.is_dir() else mlflow.log_artifact
        log(str(path), artifact_path=folder, run_id=self.id)

    def table(self, rows: pd.DataFrame, path: str) -> None:
        """Logs a table that the UI opens under Artifacts (`mlflow.log_table` would append on a resumed run).

        path  ends in `.json`
        """
        with TemporaryDirectory() as scratch:
            file = Path(scratch) / Path(path).name
            file.write_text(rows.to_json(orient="split", index=False, force_ascii=False), "utf-8")
            folder = Path(path).parent.as_posix()
            self.artifact(file, None if folder == "." else folder)
        known = json.loads(self.client.get_run(self.id).data.tags.get(MLFLOW_LOGGED_ARTIFACTS, "[]"))
        entry = {"path": path, "type": "table"}
        if entry not in known:
            self.tags({MLFLOW_LOGGED_ARTIFACTS: json.dumps([*known, entry])})

    def describe(self, text: str) -> None:
        """What the run's page says of it, in Markdown."""
        self.tags({"mlflow.note.content": text})

    def dataset(self, table: pd.DataFrame, name: str, targets: str | None, context: str) -> Data:
        """Logs the data a run used."""
        source = from_pandas(table, targets=targets, name=name)
        mlflow.log_input(source, context=context)
        return Data(source.name, source.digest)

    def children(self) -> set[str]:
        """The names of its child runs."""
        tag = f"tags.mlflow.parentRunId = '{self.id}'"
        names, token = set[str](), None
        while True:
            page = self.client.search_runs([self.experiment_id], tag, max_results=1000, page_token=token)
            names |= {str(run.info.run_name) for run in page}
            token = page.token
            if not token:
                return names

    def child(
        self, name: str, params: Mapping[str, Any], metrics: Mapping[str, float], started: datetime | None,
        finished: datetime | None, tags: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """A finished child run: a trial of a search, or a repeat of the folds."""
        start = int(started.timestamp() * 1000) if started else None
        run = self.client.create_run(
            self.experiment_id,
            start_time=start,
            tags={"mlflow.parentRunId": self.id, **(tags or {})},
            run_name=name,
        )
        self.client.log_batch(
            run.info.run_id,
            metrics=_metrics(metrics, 0),
            params=[Param(k, without_passwords(str(v))) for k, v in flatten(params).items()],
        )
        end = int(finished.timestamp() * 1000) if finished else None
        self.client.set_terminated(run.info.run_id, "FINISHED", end)


@contextmanager
def run(
    name: str,
    *,
    description: str = "",
    resume: str | None = None,
    parent: str | None = None,
    settings_file: Path | None = None,
) -> Iterator[Run]:
    """An MLflow run, ended when the block ends; `resume` goes on with the run of that id."""
    settings = connect(settings_file)
    if resume is not None and not _exists(resume):
        resume = None
    with mlflow.start_run(
        run_id=resume,
        run_name=None if resume else name,
        parent_run_id=parent,
        nested=parent is not None,
        description=description or None,
        log_system_metrics=settings.system_metrics,
    ) as active:
        yield Run(active.info.run_id, active.info.experiment_id, mlflow.MlflowClient())


def log_report(
    name: str,
    *,
    params: Mapping[str, Any],
    metrics: Mapping[str, float],
    folder: Path,
    under: str = "",
    settings_file: Path | None = None,
) -> str:
    """Logs a report that is no model training as a run of its own; its id.

    params   settings, nested mappings by dotted names
    metrics  figures; undefined ones are left out
    folder   its content (tables, plots) goes to the run's artifacts
    under    the folder there; default: `name`

    Characters of names that MLflow refuses become `_`.
    """
    with run(name, settings_file=settings_file) as logged:
        logged.params(accepted(flatten(params)))
        logged.metrics(accepted(metrics))
        logged.artifact(folder, under or name)
    return logged.id


def _exists(run_id: str) -> bool:
    try:
        mlflow.get_run(run_id)
    except MlflowException:
        return False
    return True


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
