"""Metrics of the server, as Prometheus reads them."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from qe.production.server.answers import Answer
from qe.production.server.quality import KINDS, Quality
from qe.production.server.recent import Recent

_FRESH = 1.0  # seconds
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Counters of one server, in a registry of its own.

    The process's memory and descriptors are beside them.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._made: tuple[float, Answer] | None = None
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._requests = Counter(
            "qe_requests", "Requests that were answered.", ["path", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "qe_request_seconds",
            "From headers to answer.",
            ["path"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._segments = Counter(
            "qe_segments", "Segments of the requests that were scored.", registry=self.registry
        )
        self._disconnected = Counter(
            "qe_clients_gone", "Requests whose client left before the answer.", registry=self.registry
        )
        self._closed = Counter(
            "qe_connections_closed", "Connections that were given up.", ["why"], registry=self.registry
        )
        self._lines_dropped = Counter(
            "qe_log_lines_left_out", "Lines that the log was spared.", registry=self.registry
        )

        self._unscored = Counter(
            "qe_segments_unscored", "Segments without a score.", ["reason"], registry=self.registry
        )
        self._outside = Counter(
            "qe_segments_outside", "Segments marked as unlike the training data.", registry=self.registry
        )
        self._actions = Counter(
            "qe_segments_triaged", "Segments by what is to be done.", ["action"], registry=self.registry
        )
        self._renewals = Counter(
            "qe_model_renewals", "Looks for a new model, by what came of them.", ["outcome"],
            registry=self.registry,
        )  # fmt: skip
        self._model = Gauge(
            "qe_model_info", "The model that answers; always 1.", ["name", "version", "fingerprint"],
            registry=self.registry,
        )  # fmt: skip
        self._drift = [
            Gauge(f"qe_drift_{name}", text, registry=self.registry)
            for name, text in (
                ("segments", "The last segments that were looked at beside the training data."),
                ("psi", "Largest population stability index of a feature in them."),
                ("warnings", "Departures from the training data in them."),
            )
        ]
        # A series that begins with its first event hides that event from `rate` and `increase`.
        self._requests.labels("/invocations", "503")
        for reason in KINDS:
            self._unscored.labels(reason)
        for outcome in ("taken", "same", "failed"):
            self._renewals.labels(outcome)
        self._recent: Recent | None = None
        self._scores: Histogram | None = None
        self._bounds: Sequence[float] = ()

    def of_model(
        self, about: Mapping[str, Any], bounds: Sequence[float], recent: Recent | None = None
    ) -> None:
        """Name the model that answers.

        Its scores are counted in a histogram with these upper bounds.
        """
        self._recent = recent
        self._model.clear()
        self._model.labels(about["model"], about["registered"], about["fingerprint"]).set(1)
        bounds = tuple(bounds or (0.0,))
        if bounds == self._bounds:
            return
        if self._scores is not None:
            self.registry.unregister(self._scores)
        self._scores, self._bounds = (
            Histogram("qe_score", "Scores that were given.", buckets=bounds, registry=self.registry),
            bounds,
        )

    def renewed(self, outcome: str) -> None:
        self._renewals.labels(outcome).inc()

    def watch(
        self,
        busy: Callable[[], int],
        bodies: Callable[[], int],
        connections: Callable[[], int],
        waiting: Callable[[], int],
    ) -> None:
        """Gauges that are read when they are asked for."""
        for name, text, value in (
            ("qe_requests_busy", "Requests that are being scored, those given up on included.", busy),
            ("qe_bodies_bytes", "Bytes of bodies that are being received.", bodies),
            ("qe_connections", "Open connections.", connections),
            ("qe_connections_waiting", "Open connections without a request in hand.", waiting),
        ):
            Gauge(name, text, registry=self.registry).set_function(value)

    def answered(self, path: str, answer: Answer, seconds: float) -> None:
        """`path` is one of the server's, so that a client cannot make new series."""
        self._requests.labels(path, str(answer.status)).inc()
        self._seconds.labels(path).observe(seconds)
        self._segments.inc(answer.rows or 0)
        if answer.quality is not None:
            self._judged(answer.quality)

    def _judged(self, quality: Quality) -> None:
        for reason, count in quality.unscored.items():
            self._unscored.labels(reason).inc(count)
        for action, count in quality.actions.items():
            self._actions.labels(action).inc(count)
        self._outside.inc(quality.outside)
        if quality.looks is not None and self._recent is not None:
            self._recent.add(quality.looks)
        if self._scores is not None:
            for score in quality.scores:
                self._scores.observe(score)

    def client_disconnected(self) -> None:
        self._disconnected.inc()

    def closed(self, reason: str) -> None:
        self._closed.labels(reason).inc()

    def line_dropped(self) -> None:
        self._lines_dropped.inc()

    def answer(self) -> Answer:
        """All metrics in Prometheus' text format.

        The answer stays the same for a second, because it takes some time to make.
        """
        now = self._clock()
        if self._made is None or now - self._made[0] >= _FRESH:
            self._look_back()
            self._made = (now, Answer(200, generate_latest(self.registry), CONTENT_TYPE_LATEST))
        return self._made[1]

    def _look_back(self) -> None:
        report = None if self._recent is None else self._recent.report()
        values = (0, 0.0, 0)
        if report is not None:
            psi = max((shift.psi for shift in report.shifts), default=0.0)
            values = (report.n, psi, len(report.warnings))
        for gauge, value in zip(self._drift, values, strict=True):
            gauge.set(value)
