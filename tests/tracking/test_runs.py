"""Runs: where they are kept, by which settings, what they hold, and what a version says."""

from datetime import datetime
from pathlib import Path

import mlflow
import pytest

from features import Segments, Tokenizer
from features.nbest import hypotheses
from qe.tracking import runs, settings
from qe.tracking.connection import connected
from qe.tracking.logged_models import INVENTED, example
from qe.tracking.registry import Version, versions_table
from tests.factories import Monkeypatch, TempPaths


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_environment_overrides_the_file(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{store.parent / 'other.db'}")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "elsewhere")
    with runs.run("one"):
        pass
    assert (store.parent / "other.db").is_file() and not (store.parent / "runs.db").exists()
    with connected():
        assert mlflow.get_experiment_by_name("elsewhere") is not None


def test_relative_paths_start_at_the_file(store: Path, monkeypatch: Monkeypatch) -> None:
    below = store.parent / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert settings.tracking_uri() == f"sqlite:///{store.parent / 'runs.db'}"
    assert settings.artifact_root() == (store.parent / "files").as_uri()


def test_artifacts_lie_beside_the_store(
    store: Path, tmp_path_factory: TempPaths, monkeypatch: Monkeypatch
) -> None:
    other, bare = tmp_path_factory.mktemp("other"), tmp_path_factory.mktemp("bare")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{other / 'runs.db'}")
    assert settings.artifact_root() == (other / "files").as_uri()
    monkeypatch.chdir(bare)  # no mlflow.yaml here or above
    assert settings.artifact_root() == (other / "mlartifacts").as_uri()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://qe@host/runs")
    assert settings.artifact_root() == (bare / "mlartifacts").as_uri()
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    monkeypatch.setenv("XDG_DATA_HOME", str(other))
    assert settings.tracking_uri() == f"sqlite:///{other / 'qe' / 'mlflow.db'}"
    assert settings.artifact_root() == (other / "qe" / "mlartifacts").as_uri()


def test_the_registered_name_is_a_template() -> None:
    assert settings.registered_model("qe-{dataset}", "wmt12-effort", "x") == "qe-wmt12-effort"
    assert settings.registered_model("qe-{dataset}", "mlqe-pe/en-de-da", "x") == "qe-mlqe-pe-en-de-da"


def test_it_has_every_column_and_its_columns_fit_each_other() -> None:
    assert set(INVENTED) == set(Segments.column_names())
    table = example(Segments.column_names())
    segments = Segments.from_columns(table.to_dict("list"), Tokenizer("de"), Tokenizer("en"))
    words = segments.target_tokens.words(0)
    assert segments.source_tokens.words(0) == words == ["one", "two", "three", "."]
    assert len(str(table["token_log_probabilities"][0]).split()) == len(words) + 1
    assert hypotheses(segments)[0][0].text == INVENTED["target"]
    assert [line.split("\t")[1] for line in INVENTED["annotation_target"].splitlines()] == words


TAGS = {"model": "svr_rbf", "data": "wmt12", "metric": "mae", "value": "0.5612", "experiment": "demo"}
VERSION = Version("qe-demo", "1", ("challenger",), TAGS, {}, "run", "2026-11-26T01:40:00")


def test_a_version_says_learner_data_figure_and_date() -> None:
    text = versions_table([VERSION]).text(80)
    assert all(word in text for word in ("svr_rbf", "wmt12", "MAE", "0.5612", "2026-11-26", "challenger"))
    assert text.index("learner") < text.index("data") < text.index("metric") < text.index("created")


def test_a_version_without_tags_is_a_row_all_the_same() -> None:
    (record,) = versions_table([Version("mine", "3", (), {}, {}, "run", "2026-11-26")]).records()
    assert record["model"] == "mine" and record["learner"] in ("", None)
