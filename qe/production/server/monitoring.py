"""Metrics as Prometheus reads them, and a throttled log: no client makes series or lines without end."""

import logging
import os
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from threading import Lock
from typing import Any, Final

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from features.basics.array_types import FloatArray
from features.basics.errors import visible
from qe.models.drift import Counts, DriftReport, Profile
from qe.models.guard.guard import MARKED
from qe.production.server.protocol import Answer

TAKEN, SAME, FAILED = "taken", "same", "failed"  # outcomes of looking for a new model
_BINS = 10
_BLOCKS = 10
_MAX_AGE = 1.0  # seconds that an answer is reused
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
# Name here -> name for Prometheus, help, labels.
_COUNTERS: Final[Mapping[str, tuple[str, str, tuple[str, ...]]]] = {
    "requests": ("qe_requests", "Requests that were answered.", ("path", "status")),
    "segments": ("qe_segments", "Segments of the requests that were scored.", ()),
    "disconnected": ("qe_clients_gone", "Requests whose client left before the answer.", ()),
    "closed": ("qe_connections_closed", "Connections that were given up.", ("why",)),
    "dropped_lines": ("qe_log_lines_left_out", "Lines that the log was spared.", ()),
    "unscored": ("qe_segments_unscored", "Segments without a score.", ("reason",)),
    "outside": ("qe_segments_outside", "Segments marked as unlike the training data.", ()),
    "actions": ("qe_segments_triaged", "Segments by what is to be done.", ("action",)),
    "renewals": ("qe_model_renewals", "Looks for a new model, by what came of them.", ("outcome",)),
}
_DRIFT: Final = {
    "segments": "The last segments that were compared with the training data.",
    "psi": "Largest population stability index of a feature in them.",
    "warnings": "Departures from the training data in them.",
}


def bounds(low: float | None, high: float | None, predictions: FloatArray) -> list[float]:
    """Upper bounds of a histogram of scores: tenths of a closed scale, else deciles of the predictions."""
    shares = np.linspace(0, 1, _BINS + 1)[1:]
    if low is not None and high is not None:
        inner = np.linspace(low, high, _BINS + 1)[1:]
    else:
        inner = np.unique(np.quantile(predictions, shares)) if len(predictions) else predictions
    return [float(f"{value:.6g}") for value in inner.tolist()]


@dataclass(eq=False)
class Recent:
    """Counts of about the last `rows` segments (up to a tenth more or less), for drift."""

    profile: Profile
    rows: int
    _blocks: deque[Counts] = field(default_factory=lambda: deque(maxlen=_BLOCKS))
    _newest: Counts | None = None
    _lock: Lock = field(default_factory=Lock)

    def add(self, counts: Counts) -> None:
        with self._lock:
            self._newest = counts if self._newest is None else self._newest + counts
            if self._newest.n * _BLOCKS >= self.rows:
                self._blocks.append(self._newest)
                self._newest = None

    def report(self) -> DriftReport | None:
        with self._lock:
            counted = [*self._blocks, *([] if self._newest is None else [self._newest])]
        return self.profile.report(reduce(add, counted)) if counted else None


class Metrics:
    """Counters of one server, in a registry of their own, with the process's memory and descriptors."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._made: tuple[float, Answer] | None = None
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._counters = {
            key: Counter(name, text, labels, registry=registry)
            for key, (name, text, labels) in _COUNTERS.items()
        }
        self._seconds = Histogram(
            "qe_request_seconds", "From headers to answer.", ["path"], buckets=_SECONDS, registry=registry
        )
        labels = ["name", "version", "fingerprint"]
        self._model = Gauge("qe_model_info", "The model that answers; always 1.", labels, registry=registry)
        self._drift = [Gauge(f"qe_drift_{name}", text, registry=registry) for name, text in _DRIFT.items()]
        # A series that begins with its first event hides that event from `rate` and `increase`.
        self._counters["requests"].labels("/invocations", "503")
        for reason in ("empty", "too long", "unreadable", "no route"):
            self._counters["unscored"].labels(reason)
        for outcome in (TAKEN, SAME, FAILED):
            self._counters["renewals"].labels(outcome)
        self._recent: Recent | None = None
        self._scores: Histogram | None = None
        self._bounds: Sequence[float] = ()

    def count(self, counter: str, *labels: str) -> None:
        series = self._counters[counter]
        (series.labels(*labels) if labels else series).inc()

    def of_model(
        self, about: Mapping[str, Any], bounds: Sequence[float], recent: Recent | None = None
    ) -> None:
        """Name the model that answers; its scores are counted in a histogram with these upper bounds."""
        self._recent = recent
        self._model.clear()
        self._model.labels(about["model"], about["registered"], about["fingerprint"]).set(1)
        bounds = tuple(bounds or (0.0,))
        if bounds == self._bounds:
            return
        if self._scores is not None:
            self.registry.unregister(self._scores)
        self._bounds = bounds
        self._scores = Histogram(
            "qe_score", "Scores that were given.", buckets=bounds, registry=self.registry
        )

    def watch(self, name: str, text: str, value: Callable[[], int]) -> None:
        Gauge(name, text, registry=self.registry).set_function(value)

    def answered(self, path: str, answer: Answer, seconds: float) -> None:
        """`path` is one of the server's, so that a client cannot make new series."""
        self.count("requests", path, str(answer.status))
        self._seconds.labels(path).observe(seconds)
        for row in answer.predictions or ():
            self.count("segments")
            if row["score"] is None:
                self.count("unscored", _reason(row["reason"]))
            elif self._scores is not None:
                self._scores.observe(row["score"])
            if row.get("action"):
                self.count("actions", row["action"])
            if (row.get("outside") or 0) >= MARKED:
                self.count("outside")
        if answer.counts is not None and self._recent is not None:
            self._recent.add(answer.counts)

    def answer(self) -> Answer:
        """All metrics in Prometheus' text format, at most a second old, because they take time to make."""
        now = self._clock()
        if self._made is None or now - self._made[0] >= _MAX_AGE:
            report = None if self._recent is None else self._recent.report()
            values = (0, 0.0, 0)
            if report is not None:
                psi = max((shift.psi for shift in report.shifts), default=0.0)
                values = (report.n, psi, len(report.warnings))
            for gauge, value in zip(self._drift, values, strict=True):
                gauge.set(value)
            self._made = (now, Answer(200, generate_latest(self.registry), CONTENT_TYPE_LATEST))
        return self._made[1]


def _reason(reason: str) -> str:
    if reason.startswith("no route "):
        return "no route"
    if reason.startswith(("empty ", "no ")):
        return "empty"
    return "too long" if "but a text has at most" in reason else "unreadable"


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
