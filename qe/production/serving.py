"""Serving: a model behind an HTTP server (uvicorn) with limits.

It is on loopback unless told otherwise.
"""

import socket
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import uvicorn

from qe.production.renewal import Renewal, renewed_by_signal
from qe.production.server.app import App
from qe.production.server.connections import BACKLOG, Connection, Gate, check_descriptors
from qe.production.server.hosts import LOOPBACK, Hosts
from qe.production.server.limits import Limits
from qe.production.server.service import Service
from qe.production.server.throttle import Throttle, logged


def application(
    folder: Path, limits: Limits | None = None, level: float | None = None, triage: Path | None = None
) -> App:
    """The server's application (ASGI) for the model in `folder`, loaded.

    level   of prediction intervals that every answer has; a request may ask for others
    triage  what `qe triage --json` printed: its thresholds, for requests that ask for actions

    Raises InputError if the model cannot be loaded or has no intervals, and for bad thresholds.
    """
    limits = limits or Limits()
    return App(limits, Service.load(folder, limits, level=level, triage=triage))


def http_server(app: App, trusted_proxies: Sequence[str] = ()) -> uvicorn.Server:
    """The server of an application, not yet started; the application knows when it is stopping.

    trusted_proxies  addresses and networks whose header X-Forwarded-For names the client
    """
    gate = Gate(app.limits, app.metrics.closed)
    app.metrics.watch(
        lambda: app.busy, lambda: app.bodies.buffered, lambda: gate.open, lambda: len(gate.waiting)
    )
    config = uvicorn.Config(
        app,
        http=cast(Any, partial(Connection, gate=gate)),
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        backlog=BACKLOG,
        timeout_keep_alive=app.limits.idle,
        timeout_graceful_shutdown=app.limits.seconds,
    )
    server = uvicorn.Server(config)
    app.stopping = lambda: server.should_exit
    return server


def serve(
    renewal: Renewal,
    listening: socket.socket,
    limits: Limits,
    *,
    hosts: Hosts = LOOPBACK,
    trusted_proxies: Sequence[str] = (),
    quiet: bool = False,
    loaded: Callable[[Service], None] = lambda service: None,
) -> None:
    """Answers requests until it is stopped (Ctrl-C, SIGTERM).

    It is not ready until the model is loaded.

    Raises what loading raises, and InputError where so many connections need more descriptors than there are.

    Parameters
    ----------
    renewal : Renewal
        Loads the model, and takes another one when it is there.
    hosts : collection of str, default=LOOPBACK
        Names that are answered to.
    trusted_proxies : sequence of str, default=()
        Addresses and networks of proxies that name the client in X-Forwarded-For.
    quiet : bool, default=False
        No line per request in the log (stderr).
    loaded : callable, default=lambda service: None
        Told when the model is there.
    """
    check_descriptors(limits)
    app = App(limits, hosts=hosts)
    server = http_server(app, trusted_proxies)
    failures: list[BaseException] = []

    def become_ready() -> None:
        try:
            service = renewal.load()
            app.take(service)
            loaded(service)
        except BaseException as error:
            failures.append(error)
            server.should_exit = True
        else:
            renewal.watch(app)

    threading.Thread(target=become_ready, name="loading", daemon=True).start()
    with logged(quiet, Throttle(dropped=app.metrics.line_dropped)), renewed_by_signal(renewal):
        server.run(sockets=[listening])
    app.stop()
    renewal.end()
    if failures:
        raise failures[0]
