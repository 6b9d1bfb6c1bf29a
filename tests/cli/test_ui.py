"""`qe ui` in a headless browser that clicks: the list of runs, a run, its tables, a comparison, a model."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from mlflow import MlflowClient
from mlflow.entities import Metric

from tests.browser import Page, browser
from tests.conftest import ROOT
from tests.patience import PATIENCE
from tests.production.test_serving_mlflow import free_port, wait_until_up

COLUMNS = ["MAE", "MAE on test", "cross-validation/Pearson", "cross-validation/Spearman", "test/Pearson",
           "test/Spearman"]  # fmt: skip
# What the headers of the list of runs show, from left to right.
_HEADERS = """JSON.stringify([...document.querySelectorAll(".ag-header-cell")]
  .map(cell => [cell.getBoundingClientRect().x, cell.innerText.trim()])
  .sort((one, other) => one[0] - other[0]).map(([x, text]) => text))"""
_PLAGUES = ("Ask questions about", "UI telemetry", "Detect Issues", "Prompts")


class Served:
    """A running `qe ui`: its process, the address that it printed, and the one that it opened."""

    def __init__(self, folder: Path, store: str, scratch: Path) -> None:
        port = free_port()
        opener = scratch / "browser"
        opener.write_text(f'#!/bin/sh\necho "$1" > {scratch}/opened\n')
        opener.chmod(0o755)
        environment = os.environ | {"MLFLOW_TRACKING_URI": store}
        environment |= {"MLFLOW_EXPERIMENT_NAME": "tests", "BROWSER": f"{opener} %s"}
        self.log, self.scratch = scratch / "log", scratch
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "qe", "ui", "--port", str(port)],
                env=environment, cwd=folder, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.root = f"http://127.0.0.1:{port}"
        wait_until_up(f"{self.root}/health", self.process)

    @property
    def printed(self) -> str:
        return re.findall(r"http://127\S+", self.log.read_text())[0]

    @property
    def opened(self) -> str:
        return (self.scratch / "opened").read_text().strip()


@pytest.fixture(scope="module")
def store(demo_run: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a store with the small demo's run alone."""
    own = tmp_path_factory.mktemp("store") / "mlflow.db"
    shutil.copy(demo_run.output / "trained.db", own)
    return f"sqlite:///{own}"


@pytest.fixture
def demo_client(store: str) -> MlflowClient:
    return MlflowClient(store, store)


@pytest.fixture(scope="module")
def server(demo_run: Any, store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = Served(demo_run.output, store, tmp_path_factory.mktemp("served"))
    try:
        yield served
    finally:
        os.killpg(served.process.pid, 15)
        served.process.wait(PATIENCE)


@pytest.fixture(scope="module")
def page(server: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def headers(page: Page, first: str) -> list[str]:
    page.wait(first)
    shown = [text for text in json.loads(page.run(_HEADERS)) if text]
    return shown[shown.index(first) :]


def test_the_address_that_is_printed_lists_the_runs_with_their_figures(server: Served, page: Page) -> None:
    """Without a click: the evaluation metric first; trials are folded away under their run."""
    assert server.opened == server.printed
    page.open(server.printed)
    shown = page.wait("demo", "matching run")
    assert headers(page, "MAE")[: len(COLUMNS)] == COLUMNS
    assert "trial 1" not in shown and not [plague for plague in _PLAGUES if plague in shown]
    page.open(f"{server.root}/#/models/qe-demo")
    page.wait("Version 1", "champion")


def test_the_experiment_opens_on_its_runs_by_clicking(server: Served, page: Page) -> None:
    """From MLflow's own first page; its default is the page of usage of applications of language models."""
    page.open(server.root)
    page.wait("Welcome to MLflow")
    page.click("tests")
    shown = page.wait("matching run", "demo")
    assert "/runs" in page.address and not [plague for plague in _PLAGUES if plague in shown]


def test_a_run_begins_with_its_verdict_and_its_evaluation_metric(
    server: Served, page: Page, demo_run: Any
) -> None:
    page.open(server.printed)
    page.click("demo")
    shown = page.wait("on the test split", "MAE on test", "svr_rbf on 17 features")
    verdict = f"MAE {demo_run.report['test']['systems']['demo']['mae']:.3f} ["
    assert verdict in shown and shown.index(verdict) < shown.index("svr_rbf on 17 features")
    assert shown.index("\nMAE\n") < shown.index("cross-validation/")
    links = json.loads(page.run('JSON.stringify([...document.querySelectorAll("a")].map(a => a.href))'))
    (report,) = [link for link in links if link.endswith(f"{demo_run.run_id}/artifacts/report.html")]
    page.open(report)
    page.wait("predictions.tsv", "report.html")


@pytest.mark.parametrize(("table", "texts"), [
    ("trials.json", ("svr_rbf C", "svr_rbf gamma")),
    ("figures.json", ("baseline", "delta_avg")),
    ("test.json", ("prediction", "inside")),
])  # fmt: skip
def test_tables_open_with_their_values(
    table: str, texts: tuple[str, ...], server: Served, page: Page, demo_run: Any, demo_client: Any
) -> None:
    experiment = demo_client.get_run(demo_run.run_id).info.experiment_id
    page.open(f"{server.root}/#/experiments/{experiment}/runs/{demo_run.run_id}/artifacts")
    page.click("tables")
    page.click(table)
    shown = page.wait(*texts)
    if table == "trials.json":
        best = demo_run.report["search"]["best"]["learner_params"]["C"]
        assert str(best)[:5] in shown


def test_a_comparison_shows_the_evaluation_metric_first(
    server: Served, page: Page, demo_run: Any, demo_client: Any
) -> None:
    first = demo_client.get_run(demo_run.run_id)
    second = demo_client.create_run(first.info.experiment_id, run_name="ridge")
    figures = [Metric(name, value + 0.1, 0, 0) for name, value in first.data.metrics.items()]
    demo_client.log_batch(second.info.run_id, metrics=figures)
    demo_client.set_terminated(second.info.run_id)
    pair = json.dumps([demo_run.run_id, second.info.run_id], separators=(",", ":"))
    page.open(f"{server.root}/#/compare-runs?runs={pair}&experiments=[%22{first.info.experiment_id}%22]")
    shown = page.wait("cross-validation/MAE", "test/MAE")
    compared = re.findall(r"^(MAE on test|MAE|cross-validation/\w+|test/\w+)\b", shown, re.MULTILINE)
    assert list(dict.fromkeys(compared))[:2] == ["MAE", "MAE on test"]


def test_one_process_serves(server: Served) -> None:
    """No workers, nor job queues, which only cost time."""
    assert psutil.Process(server.process.pid).children(recursive=True) == []


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
