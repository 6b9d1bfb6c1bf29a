"""Metrics are made at most once a second; a flood is a few lines of the log, and says how many it was."""

import io
import logging
import os
import time

import pytest

from qe.production.server.monitoring import REQUESTS, Metrics, Throttle, logged
from qe.production.server.protocol import json_answer


def test_metrics_are_made_once_a_second() -> None:
    now = [0.0]
    metrics = Metrics(lambda: now[0])
    first = metrics.answer()
    metrics.answered("/health", json_answer({}), 0.1)
    assert metrics.answer() is first and b'path="/health"' not in first.content
    now[0] = 1.0
    assert b'qe_requests_total{path="/health",status="200"} 1.0' in metrics.answer().content


def test_a_flood_is_a_burst_and_then_a_trickle_that_says_what_is_missing() -> None:
    now, dropped = [0.0], []
    throttle = Throttle(rate=2, burst=5, clock=lambda: now[0], dropped=lambda: dropped.append(1))
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(throttle)
    log = logging.Logger("flood")
    log.addHandler(handler)
    for number in range(1000):
        log.warning("bad client %d", number)
    assert stream.getvalue().splitlines() == [f"bad client {number}" for number in range(5)]
    assert len(dropped) == 995
    log.error("an error has lines of its own")
    now[0] = 1.0
    for _ in range(1000):
        log.warning("100 %s bad", "%")
    assert stream.getvalue().splitlines()[5:] == [
        "an error has lines of its own",
        "100 % bad (995 lines before this one were left out)",
        "100 % bad",
    ]


def test_the_log_is_as_it_was_after_the_server(capsys: object) -> None:
    root, requests = logging.getLogger(), logging.getLogger(REQUESTS)
    before = (list(root.handlers), requests.level)
    with logged(True, Throttle()):
        assert len(root.handlers) == len(before[0]) + 1 and not requests.isEnabledFor(logging.INFO)
    with logged(False, Throttle()):
        assert requests.isEnabledFor(logging.INFO)
    assert (list(root.handlers), requests.level) == before


@pytest.mark.parametrize("target", ["/dev/full", "pipe"])
def test_a_log_that_cannot_be_written_blocks_nobody(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dropped: list[int] = []
    reader, writer = os.pipe() if target == "pipe" else (None, os.open(target, os.O_WRONLY))
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr("sys.stderr", stream)
        throttle = Throttle(rate=1e9, burst=1e9, dropped=lambda: dropped.append(1))
        start = time.monotonic()
        with logged(False, throttle):
            for number in range(5000):
                logging.getLogger(REQUESTS).info("%d %s", number, "x" * 100)
        assert time.monotonic() - start < 10 and len(dropped) > 1000
        if reader is not None:
            os.close(reader)
