"""Logging of requests: throttled by level, and written without blocking an answer."""

import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from features.basics.errors import visible

REQUESTS = "qe.production.server"  # the logger of requests
_QUEUED = 1000  # lines that wait to be written
_FAREWELL = 2.0  # seconds to write the last lines


@dataclass
class _Bucket:
    lines: float
    since: float
    dropped_lines: int = 0


@dataclass(eq=False)
class Throttle(logging.Filter):
    """Passes `burst` lines of a level at once, and `rate` a second in the long run.

    Each level counts separately, so that a flood of refused requests hides no error.
    """

    rate: float = 20.0
    burst: float = 100.0
    clock: Callable[[], float] = time.monotonic
    dropped: Callable[[], None] = lambda: None
    _buckets: dict[int, _Bucket] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    def filter(self, record: logging.LogRecord) -> bool:
        now = self.clock()
        bucket = self._buckets.setdefault(record.levelno, _Bucket(self.burst, now))
        bucket.lines = min(self.burst, bucket.lines + self.rate * (now - bucket.since))
        bucket.since = now
        if bucket.lines < 1:
            bucket.dropped_lines += 1
            self.dropped()
            return False
        bucket.lines -= 1
        if bucket.dropped_lines:
            record.msg = (
                f"{record.getMessage()} ({bucket.dropped_lines:,} lines before this one were left out)"
            )
            record.args, bucket.dropped_lines = None, 0
        return True


class StderrHandler(logging.Handler):
    """Writes lines to stderr in a separate thread; a line is dropped if the log is too slow or full."""

    def __init__(self, dropped: Callable[[], None]) -> None:
        super().__init__()
        self._dropped = dropped
        self._lines: queue.Queue[str | None] = queue.Queue(_QUEUED)
        self._thread = threading.Thread(target=self._write_lines, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.put_nowait(self.format(record))
        except queue.Full:
            self._dropped()

    def close(self) -> None:
        with suppress(queue.Full):
            self._lines.put(None, timeout=_FAREWELL)
            self._thread.join(_FAREWELL)
        super().close()

    def _write_lines(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                write_stderr(line)
            except (OSError, ValueError):
                self._dropped()


def write_stderr(line: str) -> None:
    """Writes a line to stderr without Python's lock on it, which a thread that waits would keep at exit."""
    try:
        descriptor = sys.stderr.fileno()
    except (AttributeError, OSError):  # no file, as in tests
        print(line, file=sys.stderr, flush=True)
        return
    content = f"{visible(line)}\n".encode("utf-8", errors="backslashreplace")
    while content:
        content = content[os.write(descriptor, content) :]


@contextmanager
def logged(quiet: bool, throttle: Throttle) -> Iterator[None]:
    """All that is logged goes to stderr, throttled; requests too, unless `quiet`."""
    handler = StderrHandler(throttle.dropped)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    handler.addFilter(throttle)
    root, requests = logging.getLogger(), logging.getLogger(REQUESTS)
    before = requests.level
    root.addHandler(handler)
    requests.setLevel(logging.WARNING if quiet else logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()
        requests.setLevel(before)
