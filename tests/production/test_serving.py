"""Serving: scores over HTTP as from the model, health and version, and every limit with its status."""

import asyncio
import gc
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.openapi.models import OpenAPI
from prometheus_client.parser import text_string_to_metric_families

from qe.data.table_rows import read_rows
from qe.models import Explainer, Intervals, Model
from qe.production.server import protocol, service
from qe.production.server.app import App
from qe.production.server.protocol import Limits
from qe.scoring.scorer import Batch, Scorer
from tests.patience import PATIENCE
from tests.production.server.asgi import JSON, application, call

DAMAGED = '"\\ud800"'


@pytest.fixture(scope="module")
def app(demo_model: Path) -> App:
    # Seconds enough for a busy machine; that they are a limit is asked of a slow model below.
    return application(demo_model, Limits(bytes=20_000, rows=30, seconds=300, busy=2))


@pytest.fixture(scope="module")
def records(demo_model: Path) -> list[dict[str, str]]:
    rows = read_rows(demo_model.parent / "data" / "new.tsv")
    return [{"source": c["source"], "target": c["target"]} for c, _ in rows][:20]


@pytest.fixture(scope="module")
def thresholds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("triage") / "triage.json"
    path.write_text('{"publish": 3.0, "retranslate": 2.0, "n": 200}')
    return path


@pytest.mark.capability
def test_scores_are_the_models_whatever_the_form(
    app: App, demo_model: Path, records: list[dict[str, str]]
) -> None:
    model = Model.load(demo_model)
    expected = model.predict(
        model.segments({k: [r[k] for r in records] for k in ("source", "target")})
    ).tolist()
    split = {"columns": ["target", "source"], "data": [[r["target"], r["source"]] for r in records]}
    for content in ({"dataframe_records": records}, {"dataframe_split": split}):
        status, answer, _ = call(app, content=content)
        assert status == 200 and [p["score"] for p in answer["predictions"]] == expected
    lines = "".join(f'"{r["source"]}","{r["target"]}"\n' for r in records)
    body = ("source,target\n" + lines).encode()
    status, answer, _ = call(app, content=body, headers={"content-type": "text/csv"})
    assert status == 200 and [p["score"] for p in answer["predictions"]] == expected


def test_a_row_without_a_score_says_why_in_valid_json(app: App) -> None:
    rows = [{"source": "a", "target": ""}, {"source": "12", "target": "13"}, {"source": None, "target": "x"}]
    status, answer, _ = call(app, content={"dataframe_records": rows})
    assert status == 200 and answer["predictions"][0] == {
        "score": None, "outside": None, "unlike": None, "reason": "empty target"
    }  # fmt: skip
    assert isinstance(answer["predictions"][1]["score"], float)
    assert answer["predictions"][2] == {"score": None, "outside": None, "unlike": None, "reason": "no source"}


def test_intervals_on_demand(demo_model: Path, records: list[dict[str, str]]) -> None:
    _, answer, _ = call(application(demo_model, level=0.8), content={"dataframe_records": records[:2]})
    assert all(p["low"] <= p["score"] <= p["high"] for p in answer["predictions"])


def test_health_and_version(app: App, demo_model: Path) -> None:
    assert call(app, "/ping")[0] == 200 and call(app, "/health")[:2] == (200, {"status": "alive"})
    assert call(app, "/ready")[:2] == (200, {"status": "ready", "model": "demo"})
    status, about, _ = call(app, "/version")
    assert status == 200 and about["model"] == "demo" and about["columns"] == ["source", "target"]
    assert about["features"] == Model.load(demo_model).feature_set.fingerprint and about["versions"]["mtqe"]
    assert call(app, "/nowhere")[0] == 404 and call(app, "/invocations", method="GET")[0] == 405


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        ({"dataframe_records": [{"source": "a"}]}, 422, "needs the column 'target'; the input has source"),
        (b'{"instances": [{"source": %s, "target": "b"}]}' % DAMAGED.encode(), 422, "surrogate"),
        (b'{"instances": ' + b"[" * 9000 + b"]" * 9000 + b"}", 422, "JSON values"),
        (b'{"instances": [{"source": NaN, "target": "b"}]}', 400, "NaN is no number"),
        ({"rows": []}, 400, "dataframe_split"),
        (b"x" * 20_001, 413, "larger than 20,000 bytes"),
    ],
)
def test_what_cannot_be_answered(app: App, content: Any, status: int, message: str) -> None:
    outcome, answer, _ = call(app, content=content)
    assert outcome == status and message in answer["error"] and set(answer) == {"error", "request_id"}
    assert "Traceback" not in json.dumps(answer) and "site-packages" not in json.dumps(answer)


def test_a_body_that_does_not_say_its_size_is_counted(app: App) -> None:
    status, answer, _ = call(app, chunks=[b"x" * 9000] * 4)
    assert status == 413 and "larger than" in answer["error"]


def slow(monkeypatch: pytest.MonkeyPatch, *, seconds: float = 0.0, before: Any = None) -> None:
    """The model takes its time, or waits for something."""
    plain = Scorer.score

    def score(self: Scorer, rows: Any, start: int = 0) -> Batch:
        time.sleep(seconds)
        if before is not None:
            before()
        return plain(self, rows, start)

    monkeypatch.setattr(Scorer, "score", score)


def test_a_slow_answer_and_a_slow_body_are_given_up(
    demo_model: Path, records: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    hasty = application(demo_model, Limits(seconds=1))
    status, answer, _ = call(hasty, chunks=[b"{", b"}"], pause=0.7)
    assert status == 408 and "within 1 s" in answer["error"]
    slow(monkeypatch, seconds=2)
    status, answer, _ = call(hasty, content={"dataframe_records": records})
    assert status == 504 and "longer than 1 s" in answer["error"]
    hasty.pool.shutdown()


def test_more_requests_than_are_worked_on_are_sent_away(
    app: App, records: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, entered = threading.Event(), threading.Barrier(3)

    def held() -> None:
        entered.wait(20)
        gate.wait(20)

    slow(monkeypatch, before=held)
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda: results.append(call(app, content={"dataframe_records": records})[0]))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    entered.wait(20)  # both are being scored
    status, answer, headers = call(app, content={"dataframe_records": records})
    assert call(app, "/metrics")[0] == 200 and app.busy == 2
    gate.set()
    for thread in threads:
        thread.join()
    assert status == 503 and headers["retry-after"] == "1" and "try again" in answer["error"]
    assert results == [200, 200] and app.busy == 0
    monkeypatch.undo()
    assert call(app, content={"dataframe_records": records})[0] == 200


def test_others_are_answered_while_a_body_is_being_parsed(
    app: App, records: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    parsing, go_on, plain = threading.Event(), threading.Event(), protocol.parse

    def parse(*arguments: Any) -> Any:
        parsing.set()
        assert go_on.wait(20), "nobody is answered meanwhile"
        return plain(*arguments)

    monkeypatch.setattr(protocol, "parse", parse)
    body = {"type": "http.request", "body": json.dumps({"dataframe_records": records}).encode()}
    statuses: list[int] = []

    async def both() -> None:  # on one event loop
        first = asyncio.ensure_future(ask(app, "POST", "/invocations", [body], statuses))
        while not parsing.is_set():
            await asyncio.sleep(0.01)
        await ask(app, "GET", "/health", [{"type": "http.request"}], statuses)
        go_on.set()
        await first

    asyncio.run(both())
    assert statuses == [200, 200]


async def ask(app: App, method: str, path: str, parts: list[dict[str, Any]], statuses: list[int]) -> None:
    """Sends the parts of a body, and notes the status of the answer."""

    async def receive() -> dict[str, Any]:
        return parts.pop(0)

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    headers = [(k.encode(), v.encode()) for k, v in JSON.items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}
    await app(scope, receive, send)


def test_nothing_is_scored_for_a_client_that_has_gone(
    app: App, records: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[int] = []
    slow(monkeypatch, before=lambda: scored.append(1))
    whole = json.dumps({"dataframe_records": records}).encode()
    parts = [{"type": "http.request", "body": whole, "more_body": True}, {"type": "http.disconnect"}]
    statuses: list[int] = []
    asyncio.run(ask(app, "POST", "/invocations", parts, statuses))
    assert not statuses and not scored and not parts and app.bodies.buffered == 0


def test_extras_are_the_models_own(demo_model: Path, thresholds: Path, records: list[dict[str, str]]) -> None:
    app = application(demo_model, triage=thresholds)
    params = {"interval": 0.8, "explain": 2, "triage": True}
    status, answer, _ = call(app, content={"instances": records, "params": params})
    assert status == 200
    model = Model.load(demo_model)
    segments = model.segments({k: [r[k] for r in records] for k in ("source", "target")})
    features = model.features(segments)
    scores, _ = model.judge(segments, features)
    low, high = Intervals.load(demo_model).bounds(features.to_numpy(), scores, 0.8)
    because = Explainer.load(model, demo_model).because(features, 2)
    for i, p in enumerate(answer["predictions"]):
        assert (p["score"], p["low"], p["high"], p["because"]) == (scores[i], low[i], high[i], because[i])
        better = "publish" if scores[i] >= 3 else "retranslate" if scores[i] < 2 else "post-edit"
        assert p["action"] == better
    query = "interval=0.8&explain=2&triage=true"
    assert call(app, content={"instances": records}, query=query)[1] == answer
    plain = call(app, content={"instances": records[:1]})[1]["predictions"][0]
    assert set(plain) == {"score", "outside", "unlike", "reason"}


@pytest.mark.parametrize(
    "target",
    ["banana banana banana", "👍👍👍", "{target} {target} {target}", "{target}" + " ." * 20, "{source}"],
)
def test_rubbish_is_marked_and_never_published(
    demo_model: Path, thresholds: Path, records: list[dict[str, str]], target: str
) -> None:
    app = application(demo_model, triage=thresholds)
    rubbish = {"source": records[0]["source"], "target": target.format(**records[0])}
    content = {"instances": [records[0], rubbish], "params": {"triage": True}}
    good, bad = call(app, content=content)[1]["predictions"]
    assert bad["score"] < good["score"] and bad["outside"] >= 0.99 > good["outside"]
    assert bad["unlike"] and not good["unlike"] and bad["action"] != "publish"


def test_columns_that_intervals_need_are_asked_for_with_intervals_alone(
    app: App, records: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Intervals, "columns", ("system",))
    assert call(app, content={"instances": records})[0] == 200
    status, answer, _ = call(app, content={"instances": records}, query="interval=0.8")
    assert status == 422 and "needs the column 'system'" in answer["error"]
    assert call(app, "/version")[1]["columns"] == ["source", "target"]


@pytest.mark.parametrize(
    ("params", "query", "message"),
    [
        ({"interval": 2}, "", "interval: Input should be less than 1"),
        ({"explain": -1}, "", "explain"),
        ({"explain": 10**30}, "", "explain"),
        ({"triage": True}, "", "start it with --triage"),
        ({"level": 0.9}, "", "unknown key 'level'; known: interval, explain, triage"),
        ({"interval": 0.9}, "interval=0.8", "given twice"),
        ({}, "interval=0.8&interval=0.9", "given twice"),
        ({}, "interval=nan", "interval"),
        ({}, "&".join(["x=1"] * 30), "cannot be read"),
        ({"interval": 0.99999999}, "", "labelled segments to calibrate"),
        ({"interval": "much"}, "", "must be"),
        ({"interval": True}, "", "must be"),
        ({}, "interval=0x1p-1", "must be"),
        ({"explain": True}, "", "must be"),
        ({}, "explain=1_0", "must be"),
        ({}, "explain=%D9%A1", "must be"),
        ({}, "explain=", "must be"),
        ({"triage": 1}, "", "must be"),
        ({}, "triage=on", "must be"),
    ],
)
def test_extras_that_cannot_be_given(app: App, params: Any, query: str, message: str) -> None:
    content = {"instances": [{"source": "a", "target": "b"}], "params": params}
    status, answer, _ = call(app, content=content, query=query)
    assert status == (400 if message == "must be" else 422) and message in answer["error"]


def test_causes_are_computed_only_if_requested(
    app: App, records: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def because(self: Explainer, features: Any, count: int) -> list[str]:
        calls.append(len(features))
        return [""] * len(features)

    monkeypatch.setattr(Explainer, "because", because)
    for params in ({}, {"interval": 0.8}, {"explain": 0}):
        assert call(app, content={"instances": records, "params": params})[0] == 200
    assert calls == []
    assert call(app, content={"instances": records, "params": {"explain": 1}})[0] == 200
    assert sum(calls) == len(records)


@pytest.mark.parametrize("end", ["timeout", "stop"])
def test_what_timed_out_or_was_told_to_end_stops_computing(
    end: str, demo_model: Path, records: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_BLOCK", 1)
    app, blocks = application(demo_model, Limits(seconds=1 if end == "timeout" else 60)), []

    def block() -> None:
        blocks.append(1)
        time.sleep(0.3)
        if end == "stop":
            app.stop()

    slow(monkeypatch, before=block)
    assert call(app, content={"dataframe_records": records})[0] == (504 if end == "timeout" else 503)
    app.pool.shutdown()  # waits for what is still computed
    assert len(blocks) < len(records) / 2


def test_an_unforeseen_error_tells_nothing_of_the_inside(
    app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("secret path /etc/x")

    slow(monkeypatch, before=broken)
    status, answer, headers = call(app, content={"dataframe_records": [{"source": "a", "target": "b"}]})
    assert status == 500 and "secret" not in json.dumps(answer)
    assert answer["request_id"] == headers["x-request-id"]
    assert any(f"id={answer['request_id']}" in record.getMessage() for record in caplog.records)
    assert "secret path" in caplog.text


def test_requests_have_an_id_in_the_answer_and_in_the_log(app: App, caplog: pytest.LogCaptureFixture) -> None:
    content = {"instances": [{"source": "a", "target": "b"}]}
    with caplog.at_level(logging.INFO, "qe.production.server"):
        _, _, headers = call(app, content=content, headers={**JSON, "x-request-id": "mine-1"})
        assert headers["x-request-id"] == "mine-1"
        assert re.search(r"id=mine-1 127\.0\.0\.1 POST /invocations 200 rows=1 [\d.]+ ms$", caplog.text, re.M)
        for given in ("a b", "x" * 65, "a\r\nb", ""):
            _, answer, headers = call(app, "/nowhere", headers={"x-request-id": given})
            assert re.fullmatch(r"[0-9a-f]{32}", headers["x-request-id"])
            assert answer["request_id"] == headers["x-request-id"]
            assert f"id={answer['request_id']}" in caplog.text


def test_metrics_count_what_was_answered(demo_model: Path, records: list[dict[str, str]]) -> None:
    app = application(demo_model)
    call(app, content={"instances": records})
    call(app, content=b"{")
    for path in ("/nowhere", "/elsewhere"):
        call(app, path)
    status, text, headers = call(app, "/metrics")
    assert status == 200 and headers["content-type"].startswith("text/plain")
    samples = {
        (s.name, s.labels.get("path"), s.labels.get("status")): s.value
        for family in text_string_to_metric_families(text)
        for s in family.samples
    }
    assert samples["qe_requests_total", "/invocations", "200"] == 1
    assert samples["qe_requests_total", "/invocations", "400"] == 1
    assert samples["qe_requests_total", "other", "404"] == 2
    assert samples["qe_segments_total", None, None] == len(records)
    assert samples["qe_request_seconds_count", "/invocations", None] == 2


def test_metrics_say_something_of_quality(demo_model: Path, records: list[dict[str, str]]) -> None:
    app = application(demo_model)
    rows = [*records, {"source": "a", "target": " "}, {"source": "a", "target": "b " * 2001}]
    rubbish = {"source": "the house is red", "target": "! ! ! ! ! ! ! ! ! ! ! ! ! ! ! ! ! ! ! !"}
    answered = call(app, content={"instances": [*rows, rubbish]})[1]["predictions"]
    families = {family.name: family for family in text_string_to_metric_families(call(app, "/metrics")[1])}
    unscored = {s.labels["reason"]: s.value for s in families["qe_segments_unscored"].samples
                if s.name.endswith("_total")}  # fmt: skip
    assert unscored == {"empty": 1, "too long": 1, "unreadable": 0, "no route": 0}
    outside = next(s for s in families["qe_segments_outside"].samples if s.name.endswith("_total"))
    assert outside.value == sum((row["outside"] or 0) >= 0.99 for row in answered) > 0
    scores = [row["score"] for row in answered if row["score"] is not None]
    buckets = {s.labels["le"]: s.value for s in families["qe_score"].samples if s.name.endswith("_bucket")}
    assert buckets["+Inf"] == len(scores) and len(buckets) == 11
    assert all(count == sum(score <= float(le) for score in scores) for le, count in buckets.items())
    (info,) = families["qe_model_info"].samples
    assert info.labels == {"name": "demo", "version": "", "fingerprint": Model.load(demo_model).identity}


def test_rules_for_alerts_ask_for_metrics_that_are_there(demo_model: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text("utf-8")
    (group,) = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])["groups"]
    served = call(application(demo_model), "/metrics")[1]
    for rule in group["rules"]:
        names = re.findall(r"qe_\w+", rule["expr"])
        assert names and all(f"# TYPE {name} " in served for name in names), rule
        for series in re.findall(r"(qe_\w+)\[", rule["expr"]):  # rates see the first event, too
            assert f"\n{series} 0.0\n" in served or f"\n{series}{{" in served, rule
        for name, labels in re.findall(r"(qe_\w+)(\{[^}]+\})", rule["expr"]):
            assert f"\n{name}{labels} 0.0\n" in served, rule


def test_the_description_is_openapi_of_every_address(app: App) -> None:
    status, content, _ = call(app, "/openapi.json")
    assert status == 200 and content["info"]["title"] == "qe serve: demo"
    OpenAPI.model_validate(content)
    described = {path: {method.upper() for method in what} for path, what in content["paths"].items()}
    assert described == {path: {method} for path, method in app.routes.items()}
    references = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(content)))
    assert references <= set(content["components"]["schemas"])
    parameters = [p["name"] for p in content["paths"]["/invocations"]["post"]["parameters"]]
    assert parameters == ["interval", "explain", "triage"]


def test_the_page_needs_nothing_from_elsewhere(app: App) -> None:
    status, page, headers = call(app, "/docs")
    assert status == 200 and headers["content-type"] == "text/html; charset=utf-8"
    assert "<title>qe serve: demo</title>" in page
    assert "default-src 'none'" in headers["content-security-policy"]
    assert not re.search(r"<script|<link|<img|https?:|src=|@import|url\(", page)
    assert all(f"<code>{path}</code>" in page for path in app.routes)


def test_before_the_model_is_loaded_the_server_lives_and_is_not_ready() -> None:
    app = App(Limits())
    assert call(app, "/health")[0] == 200 and call(app, "/metrics")[0] == 200
    for path in ("/ready", "/version", "/docs"):
        status, answer, headers = call(app, path)
        assert status == 503 and "being loaded" in answer["error"] and headers["retry-after"] == "1"
    assert call(app, content={"instances": []})[0] == 503


def test_a_stopping_server_is_not_ready(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "stopping", lambda: True)
    status, answer, _ = call(app, "/ready")
    assert status == 503 and "stopping" in answer["error"] and call(app, "/health")[0] == 200


def test_methods_and_head(app: App) -> None:
    status, answer, headers = call(app, "/health", method="DELETE")
    assert status == 405 and headers["allow"] == "GET" and answer["error"] == "/health takes GET"
    assert call(app, "/health", method="HEAD")[0] == 200


def test_the_command_serves_on_loopback_alone(demo_model: Path, records: list[dict[str, str]]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "qe", "serve", "--model", str(demo_model), "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and process.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=2).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        body = json.dumps({"dataframe_records": records[:3]}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/invocations", body, JSON)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            assert len(json.load(answer)["predictions"]) == 3
            number = answer.headers["X-Request-ID"]
        listening = {line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]}
        assert f"0100007F:{port:04X}" in listening and f"00000000:{port:04X}" not in listening
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    assert f"serving 'demo' on http://127.0.0.1:{port}/invocations" in said.decode()
    assert f"id={number} 127.0.0.1 POST /invocations 200 rows=3" in said.decode()


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_ends_the_server(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "qe", "serve", "--model", str(tmp_path), "--port", "0"]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, text=True)
    assert done.returncode == 2 and str(tmp_path) in done.stderr and "Traceback" not in done.stderr


def test_what_was_made_of_a_refused_body_is_gone_with_its_answer(app: App) -> None:
    body = json.dumps({"dataframe_records": [{f"k{n}": [n]} for n in range(300)]}).encode()
    assert call(app, content=body)[0] == 422
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(20):
            call(app, content=body)
        assert len(gc.get_objects()) - before < 3000  # rows of 20 bodies would be 12,000
    finally:
        gc.enable()
