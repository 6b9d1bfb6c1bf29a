"""`qe ui` in a headless browser: the run with its metrics, its plots and its model."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from tests.production.test_serving_mlflow import free_port, wait_until_up

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def address(demo_run: Any) -> Iterator[str]:
    port = free_port()
    environment = {**os.environ, "MLFLOW_TRACKING_URI": f"sqlite:///{demo_run.output / 'mlflow.db'}"}
    command = [sys.executable, "-m", "qe", "ui", "--port", str(port)]
    process = subprocess.Popen(
        command, env=environment, cwd=demo_run.output, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        wait_until_up(f"http://127.0.0.1:{port}/health", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, 15)
        process.wait(PATIENCE)


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
    assert "cv.mae" in overview and f"{mae:.4f}"[:5] in overview


def test_its_plots_and_its_model_are_there(
    address: str, demo_run: Any, demo_client: Any, tmp_path: Path
) -> None:
    experiment = demo_client.get_run(demo_run.run_id).info.experiment_id
    artifacts = page(f"{address}/#/experiments/{experiment}/runs/{demo_run.run_id}/artifacts", tmp_path)
    for name in ("plots", "report.json", "predictions.tsv"):
        assert name in artifacts
    model = page(f"{address}/#/models/qe-demo", tmp_path)
    assert "Version 1" in model and "champion" in model
