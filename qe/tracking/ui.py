"""The list of runs as people want to see it: which columns, in which order, and its address."""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import mlflow

from qe.tracking.address import absolute
from qe.tracking.connection import connected
from qe.tracking.runs import Run, is_ours
from qe.tracking.settings import artifact_root, load_settings, tracking_uri

MODEL_TRAINING: Final = "workflowType=machine_learning"
_KEY: Final = "qe"
_STATE: Final = f"mlflow.sharedViewState.{_KEY}"  # tag of an experiment: what MLflow calls a shared view
_FIRST: Final = ("attributes.`Run Name`", "runDateAndNestInfo")
_DATA: Final = "attributes.`Dataset`"
_EVERY_RUN: Final = {
    "startTime": "ALL",
    "lifecycleFilter": "Active",
    "modelVersionFilter": "All Runs",
    "datasetsFilter": [],
}
_MOST: Final = 6  # metrics that are columns
# Pixels of a column: at least (no value of 18 digits is cut), at most, by character, for what else it has.
_NARROWEST, _WIDEST, _CHARACTER, _BESIDE = 150, 210, 7, 40


def show_columns(run: Run, metrics: Sequence[str]) -> None:
    """Makes these metrics the first columns of the list, if the experiment is ours."""
    if not run.id:
        return
    experiment = run.client.get_experiment(run.experiment_id)
    if is_ours(experiment):
        previous = []
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            shown = json.loads(experiment.tags.get(_STATE, ""))["selectedColumns"]
            previous = [name[len("metrics.`") : -1] for name in shown if name.startswith("metrics.`")]
        names = with_previous_metrics(metrics, previous)
        columns = [f"metrics.`{name}`" for name in names]
        widths = [min(_WIDEST, max(_NARROWEST, _BESIDE + _CHARACTER * len(name))) for name in names]
        state = {
            "selectedColumns": [*columns, _DATA],
            "columnOrder": [*_FIRST, _DATA, *columns],
            "columnWidths": dict(zip(columns, widths, strict=True)),
        }
        run.client.set_experiment_tag(run.experiment_id, _STATE, json.dumps(state))


def with_previous_metrics(metrics: Sequence[str], previous: Sequence[str]) -> list[str]:
    """The metrics, then those of earlier runs: at least one, if there are others."""
    others = [name for name in previous if name not in metrics]
    own = list(metrics[: _MOST - bool(others)])
    return [*own, *others[: _MOST - len(own)]]


@connected()
def view() -> str:
    """The part of the list's address after host and port; without an experiment, that of all experiments."""
    settings, _ = load_settings()
    experiment = mlflow.get_experiment_by_name(
        os.environ.get("MLFLOW_EXPERIMENT_NAME") or settings.experiment
    )
    if experiment is None or experiment.lifecycle_stage == "deleted":
        return f"/#/experiments?{MODEL_TRAINING}"
    return _address(experiment.experiment_id, _KEY if _STATE in experiment.tags else "")


def _address(experiment_id: str, key: str) -> str:
    return f"/#/experiments/{experiment_id}/runs?{MODEL_TRAINING}" + (
        f"&viewStateShareKey={key}" if key else ""
    )


def children_view(run: Run, metric: str, *, higher_is_better: bool) -> str:
    # Like `view`: the list of a run's children, best first; empty if the experiment is not ours.
    experiment = run.client.get_experiment(run.experiment_id)
    if not is_ours(experiment):
        return ""
    state = experiment.tags.get(_STATE, "{}")
    chosen = {
        "searchFilter": f"tags.mlflow.parentRunId = '{run.id}'",
        "orderByKey": f"metrics.`{metric}`",
        "orderByAsc": not higher_is_better,
    }
    run.client.set_experiment_tag(
        run.experiment_id, f"{_STATE}-{run.id}", json.dumps({**json.loads(state), **_EVERY_RUN, **chosen})
    )
    return _address(run.experiment_id, f"{_KEY}-{run.id}")


# What a browser remembers of the UI: name -> JSON, as MLflow 3.17 reads it.
_BEGINNING: Final = {
    "mlflow.workflowType_v1": "machine_learning",
    "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": True,
    "mlflow.detectIssues.guidanceShown_v1": True,
    "mlflow.telemetry.info.alert.dismissed_v1": True,
    "mlflow.settings.telemetry.enabled_v1": False,
}
_SCRIPT: Final = (
    "<script>for (const [name, value] of Object.entries(%s))"
    " if (localStorage.getItem(name) === null) localStorage.setItem(name, JSON.stringify(value))</script>"
)


def application() -> Any:
    from mlflow.server import constants

    uri, root = absolute(tracking_uri()), artifact_root()
    os.environ[constants.BACKEND_STORE_URI_ENV_VAR] = os.environ[constants.REGISTRY_STORE_URI_ENV_VAR] = uri
    os.environ[constants.ARTIFACT_ROOT_ENV_VAR] = root
    os.environ[constants.SERVE_ARTIFACTS_ENV_VAR] = "true"
    os.environ[constants.ARTIFACTS_DESTINATION_ENV_VAR] = os.environ.get("MLFLOW_ARTIFACTS_DESTINATION", root)
    # MLflow's jobs (judges of language models) would be eight more processes beside the server.
    os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")
    from flask import Response
    from mlflow.server import app as pages
    from mlflow.server.fastapi_app import app

    html = Path(str(pages.static_folder), "index.html").read_text("utf-8")
    html = html.replace("<head>", "<head>" + _SCRIPT % json.dumps(_BEGINNING), 1)
    pages.view_functions["serve"] = lambda: Response(html, headers={"Cache-Control": "no-store"})
    return app
