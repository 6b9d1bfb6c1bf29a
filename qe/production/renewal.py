"""Renewal: a running server takes another model, at SIGHUP or when there is a new one."""

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from features.basics.errors import InputError
from qe.production.server.app import App
from qe.production.server.metrics import FAILED, SAME, TAKEN
from qe.production.server.service import Service
from qe.production.server.throttle import REQUESTS

_log = logging.getLogger(REQUESTS)


@dataclass(eq=False)
class Renewal:
    """The place that a model comes from, and when it is looked for again.

    A model that cannot be loaded, or that needs other columns of clients, is told in the log; the old
    one goes on.

    Attributes
    ----------
    load : callable
        The model that is there now.
    current : callable
        Whether a loaded model is still the one that is there; asked every `seconds`.
    seconds : float
        0: only when asked to (SIGHUP).
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
            _check_columns(old, new)
        except Exception as error:  # whatever is wrong with the new one, the old one answers
            _log.error("the model stays as it is: %s", error, exc_info=not isinstance(error, InputError))
            return FAILED
        app.take(new)
        same = _name(new) == _name(old)
        _log.warning("the model is %s; before it was %s", _name(new), "the same" if same else _name(old))
        return SAME if same else TAKEN


def _check_columns(old: Service, new: Service) -> None:
    more = [name for name in new.about["columns"] if name not in old.about["columns"]]
    if more:
        raise InputError(
            f"{_name(new)} needs the column '{more[0]}', which clients need not send today",
            remedy="change the clients, then start the server anew",
        )


def _name(service: Service) -> str:
    about = service.about
    return f"{about['registered'] or about['model']} ({about['fingerprint'][:12]})"


@contextmanager
def renewed_by_signal(renewal: Renewal) -> Iterator[None]:
    """Renew the model at SIGHUP within the block.

    A SIGHUP because the terminal has gone ends the process as ever.

    In a thread, which has no signals, nothing changes.
    """
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
