"""`qe ui` in a headless browser: the run with its metrics, its plots and its model."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from qe.cli import main
from qe.cli.ui import VIEW
from tests.conftest import ROOT
from tests.patience import PATIENCE
from tests.production.test_serving_mlflow import free_port, wait_until_up

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def server(demo_run: Any) -> Iterator[tuple[str, int]]:
    """The address of a running `qe ui`, and its process."""
    port = free_port()
    environment = {**os.environ, "MLFLOW_TRACKING_URI": f"sqlite:///{demo_run.output / 'mlflow.db'}"}
    command = [sys.executable, "-m", "qe", "ui", "--port", str(port)]
    process = subprocess.Popen(
        command, env=environment, cwd=demo_run.output, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        wait_until_up(f"http://127.0.0.1:{port}/health", process)
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        os.killpg(process.pid, 15)
        process.wait(PATIENCE)


@pytest.fixture
def address(server: tuple[str, int]) -> str:
    return server[0]


def page(url: str, profile: Path) -> str:
    """The page's document after its scripts have run."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine (Debian: apt-get install chromium)")
    flags = "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update"
    command = [CHROMIUM, *flags.split(), "--disable-sync", f"--user-data-dir={profile}"]
    command += [
        "--window-size=1500,1400",
        "--virtual-time-budget=60000",
        "--timeout=900000",
        "--dump-dom",
        url,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout


def test_the_run_is_listed_with_its_metrics(
    address: str, demo_run: Any, demo_client: Any, tmp_path: Path
) -> None:
    experiment = demo_client.get_run(demo_run.run_id).info.experiment_id
    listed = page(f"{address}/#/experiments/{experiment}/runs", tmp_path)
    assert ">demo<" in listed
    overview = page(f"{address}/#/experiments/{experiment}/runs/{demo_run.run_id}", tmp_path)
    mae = demo_run.report["cross_validation"]["systems"]["demo"]["mae"]
    assert "cross-validation/MAE" in overview and f"{mae:.4f}"[:5] in overview


def test_its_plots_and_its_model_are_there(
    address: str, demo_run: Any, demo_client: Any, tmp_path: Path
) -> None:
    experiment = demo_client.get_run(demo_run.run_id).info.experiment_id
    artifacts = page(f"{address}/#/experiments/{experiment}/runs/{demo_run.run_id}/artifacts", tmp_path)
    for name in ("plots", "report.json", "predictions.tsv"):
        assert name in artifacts
    model = page(f"{address}/#/models/qe-demo", tmp_path)
    assert "Version 1" in model and "champion" in model


def test_the_address_that_is_printed_shows_model_training(
    address: str, demo_run: Any, tmp_path: Path
) -> None:
    shown = page(f"{address}{VIEW}", tmp_path)
    assert "Experiments" in shown and ">tests<" in shown
    assert "Prompts" not in shown and "Traces" not in shown  # of the view for language models


def test_one_process_serves(server: tuple[str, int]) -> None:
    """Beside the one that started it: no workers of job queues, which only cost time."""
    (started,) = psutil.Process(server[1]).children(recursive=True)
    assert "uvicorn" in started.cmdline()


@pytest.mark.slow
@pytest.mark.parametrize(("given", "expected"), [(None, "true None"), ("false", "false client")])
def test_mlflow_reports_nothing_unless_the_user_says_so(given: str | None, expected: str) -> None:
    """Asked of a process that MLflow does not take for a test or a CI job, in which it is silent anyway."""
    script = (
        "import os, qe.tracking.connection as connection\n"
        "from mlflow.telemetry import get_telemetry_client\n"
        "with connection.quiet():\n"
        "    client = 'client' if get_telemetry_client() else None\n"
        "    print(os.environ['MLFLOW_DISABLE_TELEMETRY'], client)\n"
    )
    names = ("PATH", "HOME", "PYTHONPATH")
    environment = {name: os.environ[name] for name in names if name in os.environ}
    if given is not None:
        environment["MLFLOW_DISABLE_TELEMETRY"] = given
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected


def test_the_command_line_turns_telemetry_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "")  # so that it is put back as it was
    monkeypatch.delenv("MLFLOW_DISABLE_TELEMETRY")
    main(["--help"])
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"
