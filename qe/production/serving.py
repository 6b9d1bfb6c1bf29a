"""Serving: a model behind an HTTP server (uvicorn) with limits, renewed at SIGHUP or on a timer."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import uvicorn

from features.basics.errors import InputError
from qe.production.server.app import App, Hosts
from qe.production.server.connections import BACKLOG, Connection, ConnectionLimiter, check_descriptors
from qe.production.server.monitoring import FAILED, REQUESTS, SAME, TAKEN, Throttle, logged
from qe.production.server.protocol import Limits
from qe.production.server.service import Service

_log = logging.getLogger(REQUESTS)


def bound(host: str, port: int) -> socket.socket:
    """A listening socket, where clients wait for the server; port 0 is any free port."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"is no address to listen on ({reason})", location=host, remedy="such as 127.0.0.1"
        ) from None
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen()
    except OSError as error:
        listener.close()
        problem = f"cannot listen there ({error.strerror})"
        raise InputError(problem, location=f"{host}:{port}", remedy="choose another --port") from None
    return listener


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def http_server(app: App, trusted_proxies: Sequence[str] = ()) -> uvicorn.Server:
    limiter = ConnectionLimiter(app.limits, partial(app.metrics.count, "closed"))
    for name, text, value in (
        ("requests_busy", "Requests that are being scored, those given up on included.", lambda: app.busy),
        ("bodies_bytes", "Bytes of bodies that are being received.", lambda: app.bodies.buffered),
        ("connections", "Open connections.", lambda: limiter.open),
        ("connections_waiting", "Open connections without a request.", lambda: len(limiter.waiting)),
    ):
        app.metrics.watch(f"qe_{name}", text, value)
    config = uvicorn.Config(
        app,
        http=cast(Any, partial(Connection, limiter=limiter)),
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


@dataclass(eq=False)
class Renewal:
    """The source of the model, and when to look for a newer one; one that cannot be loaded is logged.

    Attributes
    ----------
    load : callable
        Loads the newest model.
    current : callable
        Whether a loaded model is still the newest; called every `seconds`.
    seconds : float
        0: only at SIGHUP.
    """

    load: Callable[[], Service]
    current: Callable[[Service], bool] = lambda service: True
    seconds: float = 0.0
    due: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def watch(self, app: App) -> None:
        """Renews the model of `app` until `end` is called."""
        while True:
            due = self.due.wait(self.seconds or None)
            if self.ended.is_set():
                return
            self.due.clear()
            app.metrics.count("renewals", self._renewed(app, due))

    def end(self) -> None:
        self.ended.set()
        self.due.set()

    def _renewed(self, app: App, due: bool) -> str:
        old = app.service
        try:
            if old is None or (not due and self.current(old)):
                return SAME
            new = self.load()
            more = [name for name in new.about["columns"] if name not in old.about["columns"]]
            if more:
                problem = f"{_name(new)} needs the column '{more[0]}', which clients need not send today"
                raise InputError(problem, remedy="change the clients, then restart the server")
        except Exception as error:  # any error of the new one: the old one answers
            _log.error("the model stays as it is: %s", error, exc_info=not isinstance(error, InputError))
            return FAILED
        app.take(new)
        same = _name(new) == _name(old)
        _log.warning("the model is %s; before it was %s", _name(new), "the same" if same else _name(old))
        return SAME if same else TAKEN


def _name(service: Service) -> str:
    about = service.about
    return f"{about['registered'] or about['model']} ({about['fingerprint'][:12]})"


@contextmanager
def renewed_by_signal(renewal: Renewal) -> Iterator[None]:
    """Renews the model at SIGHUP within the block; one sent because the terminal closed ends the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old, attended = signal.getsignal(signal.SIGHUP), _has_terminal()

    def renew(number: int, frame: object) -> None:
        if attended and not _has_terminal() and callable(old):
            old(number, frame)  # type: ignore[arg-type]
        renewal.due.set()

    signal.signal(signal.SIGHUP, renew)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, old)


def _has_terminal() -> bool:
    with suppress(OSError):
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
        return True
    return False


def serve(
    renewal: Renewal,
    listening: socket.socket,
    limits: Limits,
    *,
    hosts: Hosts,
    trusted_proxies: Sequence[str],
    quiet: bool,
    loaded: Callable[[Service], None],
) -> None:
    """Answers requests until it is stopped (Ctrl-C, SIGTERM); it is not ready until the model is loaded.

    Parameters
    ----------
    hosts : Hosts, default=None
        Host names that are answered to. None: those of loopback.
    trusted_proxies : sequence of str, default=()
        Addresses and networks of proxies that name the client in X-Forwarded-For.
    quiet : bool, default=False
        No line per request in the log (stderr).
    loaded : callable, default=lambda service: None
        Called when the model is loaded.
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
    with (
        logged(quiet, Throttle(dropped=partial(app.metrics.count, "dropped_lines"))),
        renewed_by_signal(renewal),
    ):
        server.run(sockets=[listening])
    app.stop()
    renewal.end()
    if failures:
        raise failures[0]
