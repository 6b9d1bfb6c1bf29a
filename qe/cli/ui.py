"""`qe ui`: open the MLflow UI on the project's store."""

import os
import sys
from typing import Annotated

import typer


def ui(
    host: str = "127.0.0.1", port: Annotated[int, typer.Option(min=1, max=65535)] = 5000, open_: bool = True
) -> None:
    """Open the MLflow UI on the store that mlflow.yaml names, at the list of its runs.

    The printed address shows the runs with their figures in columns, the evaluation metric first.

    Example:

        qe ui --port 5001

    options:
      --host ADDRESS  Address to listen on. (default: 127.0.0.1, this machine only)
      --port N  Port to listen on.
      --open/--no-open  Open the address in a browser, if there is a screen.
    """
    from features.basics.errors import InputError, without_passwords
    from qe.production.serving import bound
    from qe.tracking.address import absolute, check_reachable, is_database
    from qe.tracking.connection import follow_moved
    from qe.tracking.settings import tracking_uri

    uri = absolute(tracking_uri())
    if not is_database(uri):
        raise InputError(
            "is no database that a UI could be opened on",
            location=uri,
            remedy="a tracking server has its own UI: open its address in a browser",
        )
    check_reachable(uri)
    bound(host, port).close()
    follow_moved(uri)
    from qe.tracking.ui import view

    address = f"http://{host}:{port}{view()}"
    print(f"MLflow UI of {without_passwords(uri)} (stop with Ctrl-C): {address}", file=sys.stderr, flush=True)
    _serve(host, port, address if open_ and _has_screen() else None)


def _has_screen() -> bool:
    known = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in known)


def _serve(host: str, port: int, address: str | None) -> None:
    import webbrowser
    from socket import socket

    import uvicorn

    from qe.tracking.ui import application

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket] | None = None) -> None:
            await super().startup(sockets)
            if address is not None and self.started:
                webbrowser.open(address)

    Server(uvicorn.Config(application(), host=host, port=port, log_level="warning")).run()
