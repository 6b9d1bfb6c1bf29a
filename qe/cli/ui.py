"""`qe ui`: open the MLflow UI on the project's store."""

import os
import sys
from typing import Annotated

import typer

VIEW = "/#/experiments?workflowType=machine_learning"


def ui(
    host: Annotated[
        str, typer.Option(help="Address to listen on; the default is this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 5000,
) -> None:
    """Open the MLflow UI on the store that mlflow.yaml names, at the list of its experiments.

    The address that is printed opens MLflow's view for model training; its own default is the one for traces
    of language models, which is empty here.

    Example:

        qe ui --port 5001
    """
    from features.basics.errors import InputError
    from features.basics.passwords import without_passwords
    from qe.production.listening import bound
    from qe.tracking.address import absolute, check_reachable, is_database
    from qe.tracking.connection import follow_moved
    from qe.tracking.settings import artifact_root, tracking_uri

    uri = absolute(tracking_uri())
    if not is_database(uri):
        raise InputError(
            "is no database that a UI could be opened on",
            where=uri,
            remedy="a tracking server has a UI of its own: open its address in a browser",
        )
    check_reachable(uri)
    bound(host, port).close()
    follow_moved(uri)
    print(
        f"MLflow UI of {without_passwords(uri)} (stop with Ctrl-C): http://{host}:{port}{VIEW}",
        file=sys.stderr,
        flush=True,
    )
    command = [sys.executable, "-m", "mlflow", "ui", "--host", host, "--port", str(port), "--workers", "1"]
    # Not as arguments: these are shown to whoever lists processes, and the address may have a password.
    os.environ["MLFLOW_BACKEND_STORE_URI"] = os.environ["MLFLOW_REGISTRY_STORE_URI"] = uri
    os.environ["MLFLOW_DEFAULT_ARTIFACT_ROOT"] = artifact_root()
    os.environ.setdefault("MLFLOW_ARTIFACTS_DESTINATION", artifact_root())
    # MLflow's jobs (judges of language models) would be eight more processes beside the server.
    os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")
    # The server imports modules from where it starts: not from the working directory, which may be anybody's.
    os.chdir(sys.prefix)
    os.execv(sys.executable, command)
