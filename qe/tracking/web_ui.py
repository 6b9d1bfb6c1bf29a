"""The MLflow UI, opened as for people who train models.

MLflow keeps what a browser shows in that browser, and begins with its pages for applications of language
models, an assistant, and hints on both. Here it begins with model training and without the rest; what
somebody chooses there stays chosen.
"""

import json
import os
from pathlib import Path
from typing import Any, Final

from qe.tracking.address import absolute
from qe.tracking.settings import artifact_root, tracking_uri

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
    """The ASGI application of the UI on the store that mlflow.yaml names."""
    _point_at_store()
    from flask import Response
    from mlflow.server import app as pages
    from mlflow.server.fastapi_app import app

    html = _with_defaults(Path(str(pages.static_folder), "index.html").read_text("utf-8"))
    pages.view_functions["serve"] = lambda: Response(html, headers={"Cache-Control": "no-store"})
    return app


def _with_defaults(html: str) -> str:
    return html.replace("<head>", "<head>" + _SCRIPT % json.dumps(_BEGINNING), 1)


def _point_at_store() -> None:
    from mlflow.server import constants

    uri, root = absolute(tracking_uri()), artifact_root()
    os.environ[constants.BACKEND_STORE_URI_ENV_VAR] = os.environ[constants.REGISTRY_STORE_URI_ENV_VAR] = uri
    os.environ[constants.ARTIFACT_ROOT_ENV_VAR] = root
    os.environ[constants.SERVE_ARTIFACTS_ENV_VAR] = "true"
    os.environ[constants.ARTIFACTS_DESTINATION_ENV_VAR] = os.environ.get("MLFLOW_ARTIFACTS_DESTINATION", root)
    # MLflow's jobs (judges of language models) would be eight more processes beside the server.
    os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")
