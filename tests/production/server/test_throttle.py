"""Throttle: a flood is a few lines, and says how many it was."""

import io
import logging

from qe.production.server.throttle import REQUESTS, Throttle, logged


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
