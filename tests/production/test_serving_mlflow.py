"""The logged model behind MLflow's own scoring server, over HTTP on loopback."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from qe.data.table_rows import read_rows
from qe.models.model import Model

# Seconds: what is asked here is what the server answers, not how soon. On a busy machine the first request,
# which compiles and loads, has taken longer than the minute that MLflow gives it.
PATIENCE = 600


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_up(url: str, process: "subprocess.Popen[bytes]", seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise AssertionError(f"the server stopped with exit code {process.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    raise AssertionError(f"no answer from {url} in {seconds} s")


def answered(port: int, records: list[dict[str, str]], **more: object) -> Any:
    """What `/invocations` gives for rows, one of MLflow's own protocol."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/invocations",
        json.dumps({"dataframe_records": records, **more}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)["predictions"]


def test_mlflow_models_serve_answers_with_the_models_scores(demo_run: Any, demo_model: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "mlflow", "models", "serve", "--model-uri", "models:/qe-demo@champion"]
    command += ["--env-manager", "local", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--timeout", str(PATIENCE)]
    environment = {**os.environ, "MLFLOW_TRACKING_URI": f"sqlite:///{demo_run.output / 'mlflow.db'}"}
    # The server is started by `uvicorn` or `gunicorn`, which lie beside this Python.
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_up(f"http://127.0.0.1:{port}/ping", process)
        rows = [row for row, _ in read_rows(demo_run.output / "data" / "new.tsv")][:5]
        records = [{"source": row["source"], "target": row["target"]} for row in rows]
        predictions, params = answered(port, records), {"interval": 0.9, "explain": 2, "outside": True}
        with_params = answered(port, records, params=params)
    finally:
        process.terminate()
        process.wait(120)
    model = Model.load(demo_model)
    expected = model.predict(model.segments({k: [r[k] for r in records] for k in ("source", "target")}))
    for given in (predictions, with_params):
        assert [p["score"] for p in given] == pytest.approx(expected.tolist(), abs=1e-12)
    assert {*predictions[0]} == {"score", "reason"}
    asked_for = {"low", "high", "because", "outside", "unlike"}
    assert {*with_params[0]} == {"score", "reason"} | asked_for
    assert all(p["low"] < p["score"] < p["high"] for p in with_params)
