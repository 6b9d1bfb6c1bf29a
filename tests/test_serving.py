"""Serving: scores over HTTP as from the model, health and version, and every limit with its status."""

import asyncio
import json
import os
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

import pandas as pd
import pytest

from features.core.errors import InputError
from qe import serving, tables, tracking
from qe.model import Model
from qe.serving import Guard, Limits, application

JSON = {"content-type": "application/json"}


def call(
    app: Guard, path: str = "/invocations", content: Any = None, *, headers: dict[str, str] | None = None,
    method: str | None = None, chunks: list[bytes] | None = None, pause: float = 0.0,
) -> tuple[int, Any, dict[str, str]]:  # fmt: skip
    """One request, without a network: status, parsed body, headers."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    waiting = [body] if chunks is None else list(chunks)
    given = JSON | {"content-length": str(len(body))} if chunks is None else JSON
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause)
        if not waiting:
            await asyncio.sleep(3600)  # the client waits for the answer
        part = waiting.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(waiting)}

    async def send(message: Any) -> None:
        sent.append(message)

    verb = method or ("GET" if content is None and chunks is None else "POST")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": verb, "path": path,
        "raw_path": path.encode(), "query_string": b"", "root_path": "", "scheme": "http",
        "headers": [(k.encode(), v.encode()) for k, v in (given if headers is None else headers).items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    answer = b"".join(m.get("body", b"") for m in sent[1:])
    found = {k.decode().lower(): v.decode() for k, v in sent[0]["headers"]}
    return sent[0]["status"], json.loads(answer) if answer.strip() else None, found


@pytest.fixture(scope="module")
def app(demo_model: Path) -> Guard:
    # Seconds enough for a busy machine; that they are a limit is asked of a slow model below.
    return application(demo_model, Limits(bytes=20_000, rows=30, seconds=300, busy=2))


@pytest.fixture(scope="module")
def records(demo_model: Path) -> list[dict[str, str]]:
    rows = tables.read_rows(demo_model.parent / "data" / "new.tsv")
    return [{"source": c["source"], "target": c["target"]} for c, _ in rows][:20]


def slow(seconds: float, limits: Limits) -> Guard:
    """A server whose model takes its time."""

    def predict(data: Any) -> pd.DataFrame:
        time.sleep(seconds)
        return pd.DataFrame({"score": [1.0]})

    return Guard(tracking.scoring_app(predict, ["source"], limits.seconds), limits, {})


def test_scores_are_the_models_whatever_the_form(
    app: Guard, demo_model: Path, records: list[dict[str, str]]
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


def test_a_row_without_a_score_says_why_in_valid_json(app: Guard) -> None:
    rows = [{"source": "a", "target": ""}, {"source": "12", "target": "13"}, {"source": None, "target": "x"}]
    status, answer, _ = call(app, content={"dataframe_records": rows})
    assert status == 200 and answer["predictions"][0] == {"score": None, "reason": "empty target"}
    assert isinstance(answer["predictions"][1]["score"], float)
    assert answer["predictions"][2] == {"score": None, "reason": "no source"}


def test_intervals_on_demand(demo_model: Path, records: list[dict[str, str]]) -> None:
    _, answer, _ = call(application(demo_model, level=0.8), content={"dataframe_records": records[:2]})
    assert all(p["low"] <= p["score"] <= p["high"] for p in answer["predictions"])
    with pytest.raises(InputError, match="between 0 and 1"):
        application(demo_model, level=80)


def test_health_and_version(app: Guard, demo_model: Path) -> None:
    assert call(app, "/ping")[0] == 200 and call(app, "/health")[0] == 200
    status, about, _ = call(app, "/version")
    assert status == 200 and about["model"] == "demo" and about["columns"] == ["source", "target"]
    assert about["features"] == Model.load(demo_model).feature_set.fingerprint and about["versions"]["qe"]
    assert call(app, "/nowhere")[0] == 404 and call(app, "/invocations", method="GET")[0] == 405


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        ({"dataframe_records": [{"source": "a"}]}, 422, "needs the column 'target'; the input has source"),
        ({"dataframe_records": [{"source": "a", "target": "b"}] * 31}, 422, "31 rows, but at most 30"),
        ({"instances": [1, 2]}, 422, "needs the column 'source'"),
        (b"{", 400, "valid JSON"),
        ({"rows": []}, 400, "dataframe_split"),
        (b"x" * 20_001, 413, "larger than 20,000 bytes"),
    ],
)
def test_what_cannot_be_answered(app: Guard, content: Any, status: int, message: str) -> None:
    found, answer, _ = call(app, content=content)
    assert found == status and message in json.dumps(answer, ensure_ascii=False)
    assert "Traceback" not in json.dumps(answer) and "site-packages" not in json.dumps(answer)


def test_a_body_that_does_not_say_its_size_is_counted(app: Guard) -> None:
    status, answer, _ = call(app, chunks=[b"x" * 9000] * 4)
    assert status == 413 and "larger than" in answer["error"]


def test_other_content_types_are_refused(app: Guard) -> None:
    assert call(app, content={}, headers={})[0] == 415
    assert call(app, content={}, headers={"content-type": "application/x-python-pickle"})[0] == 415


def test_a_slow_answer_and_a_slow_body_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_SCORING_SERVER_REQUEST_TIMEOUT", "77")
    limits = Limits(seconds=1)
    assert call(slow(1.6, limits), content={"dataframe_records": [{"source": "a"}]})[0] == 504
    status, answer, _ = call(slow(0, limits), chunks=[b"{", b"}"], pause=0.7)
    assert status == 408 and "within 1 s" in answer["error"]
    assert os.environ["MLFLOW_SCORING_SERVER_REQUEST_TIMEOUT"] == "77"  # other servers keep their own limit


def test_more_requests_than_are_worked_on_are_sent_away(
    app: Guard, demo_model: Path, records: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, entered = threading.Event(), threading.Barrier(3)
    plain = serving.frame_of

    def held(*arguments: Any) -> pd.DataFrame:
        entered.wait(20)
        gate.wait(20)
        return plain(*arguments)

    monkeypatch.setattr(serving, "frame_of", held)
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda: results.append(call(app, content={"dataframe_records": records})[0]))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    entered.wait(20)  # both are being scored
    status, answer, headers = call(app, content={"dataframe_records": records})
    gate.set()
    for thread in threads:
        thread.join()
    assert status == 503 and headers["retry-after"] == "1" and "try again" in answer["error"]
    assert results == [200, 200]
    monkeypatch.undo()
    assert call(app, content={"dataframe_records": records})[0] == 200


def test_an_unforeseen_error_tells_nothing_of_the_inside(app: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> pd.DataFrame:
        raise RuntimeError("secret path /etc/x")

    monkeypatch.setattr(serving, "frame_of", broken)
    status, answer, _ = call(app, content={"dataframe_records": [{"source": "a", "target": "b"}]})
    assert status == 500 and "secret" not in json.dumps(answer)


def test_a_model_with_foreign_types_is_refused_by_name(demo_model: Path, tmp_path: Path) -> None:
    import shutil

    import skops.io
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer

    folder = tmp_path / "model"
    shutil.copytree(demo_model, folder)
    skops.io.dump(Pipeline([("impute", FunctionTransformer(os.system))]), folder / "pipeline.skops")
    with pytest.raises(InputError, match=r"types that are not trusted: posix\.system"):
        application(folder)


def test_limits_must_be_positive() -> None:
    with pytest.raises(InputError, match="limit of rows must be at least 1, but got 0"):
        Limits(rows=0)


def test_the_command_serves_on_loopback_alone(demo_model: Path, records: list[dict[str, str]]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "qe", "serve", "--model", str(demo_model), "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and process.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        body = json.dumps({"dataframe_records": records[:3]}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/invocations", body, JSON)
        with urllib.request.urlopen(request, timeout=300) as answer:
            assert len(json.load(answer)["predictions"]) == 3
        listening = {line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]}
        assert f"0100007F:{port:04X}" in listening and f"00000000:{port:04X}" not in listening
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)
