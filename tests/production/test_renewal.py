"""Renewal: a server under load takes another model, and every request has its answer."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from qe.data.table_rows import read_rows
from qe.models.model import Model
from qe.production.server.app import App
from qe.production.server.protocol import Limits
from qe.production.server.service import Service
from qe.production.serving import Renewal
from qe.tracking import registry, runs
from qe.tracking.logged_models import Described
from tests.factories import refuses
from tests.patience import PATIENCE
from tests.production.server.asgi import JSON, call


def body(folder: Path) -> bytes:
    rows = list(read_rows(folder.parent / "data" / "new.tsv"))[:5]
    records = [{name: columns[name] for name in ("source", "target")} for columns, _ in rows]
    return json.dumps({"dataframe_records": records}).encode()


def scores(folder: Path, sent: bytes) -> list[float]:
    model, records = Model.load(folder), json.loads(sent)["dataframe_records"]
    columns = {name: [record[name] for record in records] for name in ("source", "target")}
    return [float(score) for score in model.predict(model.segments(columns))]


@dataclass
class Load:
    """Clients that ask without a pause, each over one connection; whatever is no answer is a failure."""

    port: int
    sent: bytes
    answers: list[list[float]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def ask(self) -> None:
        client = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        while not self.over.is_set():
            try:
                client.request("POST", "/invocations", self.sent, JSON)
                answer = client.getresponse()
                content = json.loads(answer.read())
                self.answers.append([row["score"] for row in content["predictions"]])
            except Exception as error:
                self.failures.append(repr(error))
                return

    @contextmanager
    def clients(self, count: int) -> Iterator["Load"]:
        threads = [threading.Thread(target=self.ask) for _ in range(count)]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self.over.set()
            for thread in threads:
                thread.join(PATIENCE)

    def wait_for(self, count: int) -> None:
        """Until so many more requests have been answered."""
        goal = len(self.answers) + count
        wait_until(lambda: len(self.answers) >= goal or bool(self.failures))


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


@contextmanager
def served(
    model: str, *more: str, **variables: str
) -> Iterator[tuple[int, "subprocess.Popen[str]", list[str]]]:
    """Port and process of `qe serve`, ready; the lines of its log."""
    command = [sys.executable, "-m", "qe", "serve", "--model", model, "--port", "0", "--quiet", *more]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **variables}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, text=True)
    lines: list[str] = []
    assert process.stderr is not None
    reading = threading.Thread(target=lambda: lines.extend(process.stderr or ()))
    reading.start()
    try:
        wait_until(lambda: process.poll() is not None or any("serving" in line for line in lines))
        found = re.search(r"127\.0\.0\.1:(\d+)", "".join(lines))
        assert found, lines
        yield int(found.group(1)), process, lines
    finally:
        process.terminate()
        process.wait(PATIENCE)
        reading.join(PATIENCE)


def get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE) as answer:
        return str(answer.read().decode())


def test_a_champion_is_taken_under_load_without_a_lost_request(
    demo_run: Any, demo_model: Path, poor: Path
) -> None:
    name, sent = "renewed", body(demo_model)
    for folder in (demo_model, poor):
        with runs.run(f"test {name}") as run:
            registry.register(
                run, folder, name=name, columns=("source", "target"), metric="mae", value=0.5,
                higher_is_better=False, data="d", content=str(folder),
                described=Described("x", tags={"data": "abc", "model": "ridge", "experiment": "x"}),
            )  # fmt: skip
    registry.make_champion(name, "1")
    expected = {"1": scores(demo_model, sent), "2": scores(poor, sent)}
    assert expected["1"] != expected["2"] == [3.0] * 5
    store = f"sqlite:///{demo_run.output / 'mlflow.db'}"
    with (
        served(f"models:/{name}@champion", "--refresh", "0.2", MLFLOW_TRACKING_URI=store) as (port, _, _),
        Load(port, sent).clients(3) as load,
    ):
        load.wait_for(30)
        for version in ("2", "1", "2"):
            registry.make_champion(name, version)
            wait_until(lambda v=version: json.loads(get(port, "/version"))["registered"] == f"{name}/{v}")  # type: ignore[misc]
            load.wait_for(30)
        last = len(load.answers)
        load.wait_for(30)
        metrics = get(port, "/metrics")
    assert load.failures == []
    assert {tuple(answer) for answer in load.answers} == {tuple(e) for e in expected.values()}
    assert all(answer == expected["2"] for answer in load.answers[last:])
    assert 'qe_model_renewals_total{outcome="taken"} 3.0' in metrics
    (line,) = re.findall(r"^qe_model_info.*", metrics, re.MULTILINE)
    assert 'version="renewed/2"' in line


def test_a_signal_takes_the_model_of_the_folder_and_a_damaged_one_is_refused(
    demo_model: Path, poor: Path, tmp_path: Path
) -> None:
    folder, sent = tmp_path / "model", body(demo_model)
    shutil.copytree(demo_model, folder)
    with served(str(folder)) as (port, process, lines), Load(port, sent).clients(2) as load:
        load.wait_for(10)
        folder.rename(tmp_path / "before")
        shutil.copytree(poor, folder)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: any("before it was" in line for line in lines))
        load.wait_for(10)
        last = len(load.answers)
        load.wait_for(10)
        (folder / "model.json").write_text("{}")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: any("the model stays as it is" in line for line in lines))
        load.wait_for(10)
        assert json.loads(get(port, "/ready"))["status"] == "ready"
    assert load.failures == []
    assert load.answers[0] == scores(demo_model, sent)
    assert all(answer == [3.0] * 5 for answer in load.answers[last:])
    assert not any("Traceback" in line for line in lines), lines


def test_a_model_that_needs_more_of_clients_is_not_taken(demo_model: Path) -> None:
    service = Service.load(demo_model, Limits())
    greedy = replace(service, about={**service.about, "columns": ["source", "target", "post_edit"]})
    app = App(Limits(), service)
    renewal = Renewal(lambda: greedy, lambda before: False, 0.01)
    watching = threading.Thread(target=renewal.watch, args=(app,))
    watching.start()
    wait_until(lambda: "failed" in call(app, "/metrics")[1])
    renewal.end()
    watching.join(PATIENCE)
    assert app.service is service


def test_what_a_name_leads_to_now(demo_run: Any, demo_model: Path) -> None:
    from qe.api.models import is_current

    identity = str(Model.load(demo_model).identity)
    assert is_current(str(demo_model), "", identity) and not is_current(str(demo_model), "", "other")
    assert is_current("models:/qe-demo@champion", "qe-demo/1", identity)
    assert not is_current("models:/qe-demo@champion", "qe-demo/7", identity)
    refuses("models:/qe-demo@nobody", is_current, "models:/qe-demo@nobody", "qe-demo/1", identity)


def drift(app: App) -> dict[str, float]:
    """What /metrics says of drift; asked a second after the last time, so that it is made anew."""
    app.metrics._made = None
    told = call(app, "/metrics")[1]
    return {name: float(value) for name, value in re.findall(r"^qe_drift_(\w+) (\S+)$", told, re.MULTILINE)}


def test_the_last_segments_are_looked_at_beside_the_training_data(demo_model: Path) -> None:
    rows = list(read_rows(demo_model.parent / "data" / "new.tsv"))[:400]
    sides = [(columns["source"], columns["target"]) for columns, _ in rows]
    app = App(Limits(), Service.load(demo_model, Limits(), drift_rows=200))
    assert drift(app) == {"segments": 0, "psi": 0, "warnings": 0}

    def send(pairs: list[tuple[str, str]]) -> None:
        for start in range(0, len(pairs), 20):
            records = [{"source": a, "target": b} for a, b in pairs[start : start + 20]]
            assert call(app, content={"dataframe_records": records})[0] == 200

    send(sides[:100])
    usual = drift(app)
    assert usual["segments"] == 100 and usual["warnings"] == 0
    send([(b, a) for a, b in sides[100:400]])  # of the last 200, none is as in training
    swapped = drift(app)
    assert swapped["segments"] == 200 and swapped["warnings"] > 0 and swapped["psi"] > usual["psi"]
    assert drift(App(Limits(), Service.load(demo_model, Limits(), drift_rows=0)))["segments"] == 0
