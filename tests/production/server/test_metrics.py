"""Metrics: made anew at most once a second, however often they are asked for."""

from qe.production.server.monitoring import Metrics
from qe.production.server.protocol import json_answer


def test_metrics_are_made_once_a_second() -> None:
    now = [0.0]
    metrics = Metrics(lambda: now[0])
    first = metrics.answer()
    metrics.answered("/health", json_answer({}), 0.1)
    assert metrics.answer() is first and b'path="/health"' not in first.content
    now[0] = 1.0
    assert b'qe_requests_total{path="/health",status="200"} 1.0' in metrics.answer().content
