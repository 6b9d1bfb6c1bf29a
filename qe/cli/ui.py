"""`qe ui`: the MLflow UI on the project's store."""

import os
import sys
from typing import Annotated

import typer


def ui(
    host: Annotated[
        str, typer.Option(help="Address to listen on; the default is this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 5000,
) -> None:
    """Open the MLflow UI on the store that mlflow.yaml names.

    Example:

        qe ui --port 5001
    """
    from qe.tracking import artifact_root, tracking_uri

    uri = tracking_uri()
    print(f"MLflow UI of {uri} on http://{host}:{port} (stop with Ctrl-C)", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "mlflow", "ui", "--host", host, "--port", str(port)]
    store = [
        "--backend-store-uri",
        uri,
        "--registry-store-uri",
        uri,
        "--default-artifact-root",
        artifact_root(),
    ]
    os.execv(sys.executable, [*command, *store])
