"""Runs: what they hold, and how they go on."""

from datetime import datetime
from pathlib import Path

import mlflow
import pytest

from qe.tracking import runs
from qe.tracking.connection import connected

pytestmark = pytest.mark.slow


def test_a_report_is_a_run_of_its_own(store: Path, tmp_path: Path) -> None:
    """More metrics than MLflow takes at a time, names that it refuses, an undefined figure, files."""
    folder = tmp_path / "report"
    (folder / "plots").mkdir(parents=True)
    (folder / "report.json").write_text("{}")
    (folder / "plots" / "one.png").write_bytes(b"x")
    figures = {f"system {i}: score": i / 2 for i in range(1200)} | {"undefined": float("nan")}
    settings = {"samples": 10, "methods": {"trueskill:draw=0.1": "TrueSkill()"}}
    run_id = runs.log_report("rank", params=settings, metrics=figures, folder=folder)
    with connected():
        client = mlflow.MlflowClient()
    logged = client.get_run(run_id)
    assert logged.info.run_name == "rank" and logged.info.status == "FINISHED"
    assert logged.data.params == {"samples": "10", "methods.trueskill_draw_0.1": "TrueSkill()"}
    assert len(logged.data.metrics) == 1200 and logged.data.metrics["system 3_ score"] == 1.5
    assert [item.path for item in client.list_artifacts(run_id, "rank/plots")] == ["rank/plots/one.png"]


def test_a_run_holds_parameters_metrics_children_and_artifacts(store: Path) -> None:
    note = store.parent / "note.txt"
    note.write_text("x")
    with runs.run("parent", description="what it is") as run:
        run.params({"learner": {"C": 2}, "features": [{"kind": "baseline17"}]})
        run.metrics({"mae": 0.5, "undefined": float("nan")})
        run.artifact(note)
        now = datetime.now()
        run.child("trial 0", {"C": 1}, {"mae": 0.6}, now, now)
    client = run.client
    logged = client.get_run(run.id)
    assert logged.data.params == {"learner.C": "2", "features.0.kind": "baseline17"}
    assert logged.data.metrics == {"mae": 0.5}
    assert logged.info.status == "FINISHED"
    assert [f.path for f in client.list_artifacts(run.id)] == ["note.txt"]
    children = client.search_runs([run.experiment_id], f"tags.mlflow.parentRunId = '{run.id}'")
    assert [c.data.metrics for c in children] == [{"mae": 0.6}]
    assert (store.parent / "files").is_dir()
