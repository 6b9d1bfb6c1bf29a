"""Tracking: where runs go, what they hold, who becomes champion."""

import shutil
from datetime import datetime
from pathlib import Path

import mlflow
import pandas as pd
import pytest
import yaml

from features.core.errors import InputError
from qe.models.model import Model
from qe.tracking import large_files
from qe.tracking import store as tracking


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder with its own mlflow.yaml, as working directory."""
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "mlflow.yaml"
    path.write_text("tracking_uri: sqlite:///runs.db\nartifact_root: files\nexperiment: trial-ground\n")
    monkeypatch.chdir(tmp_path)
    return path


def test_relative_paths_start_at_the_file(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = store.parent / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert tracking.tracking_uri() == f"sqlite:///{store.parent / 'runs.db'}"
    assert tracking.artifact_root() == str(store.parent / "files")


@pytest.mark.slow
def test_the_environment_overrides_the_file(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{store.parent / 'other.db'}")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "elsewhere")
    with tracking.run("one"):
        pass
    assert (store.parent / "other.db").is_file() and not (store.parent / "runs.db").exists()
    assert mlflow.get_experiment_by_name("elsewhere") is not None


def test_artifacts_lie_beside_the_store(
    store: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, bare = tmp_path_factory.mktemp("other"), tmp_path_factory.mktemp("bare")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{other / 'runs.db'}")
    assert tracking.artifact_root() == str(other / "files")
    monkeypatch.chdir(bare)  # no mlflow.yaml here or above
    assert tracking.artifact_root() == str(other / "mlartifacts")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://qe@host/runs")
    assert tracking.artifact_root() == str(bare / "mlartifacts")
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert tracking.tracking_uri() == f"sqlite:///{bare / 'mlflow.db'}"
    assert tracking.artifact_root() == str(bare / "mlartifacts")


@pytest.mark.slow
def test_a_report_is_a_run_of_its_own(store: Path, tmp_path: Path) -> None:
    """More metrics than MLflow takes at a time, names that it refuses, an undefined figure, files."""
    folder = tmp_path / "report"
    (folder / "plots").mkdir(parents=True)
    (folder / "report.json").write_text("{}")
    (folder / "plots" / "one.png").write_bytes(b"x")
    figures = {f"system {i}: score": i / 2 for i in range(1200)} | {"undefined": float("nan")}
    settings = {"samples": 10, "methods": {"trueskill:draw=0.1": "TrueSkill()"}}
    run_id = tracking.log_report("rank", params=settings, metrics=figures, folder=folder)
    logged = mlflow.get_run(run_id)
    assert logged.info.run_name == "rank" and logged.info.status == "FINISHED"
    assert logged.data.params == {"samples": "10", "methods.trueskill_draw_0.1": "TrueSkill()"}
    assert len(logged.data.metrics) == 1200 and logged.data.metrics["system 3_ score"] == 1.5
    client = mlflow.MlflowClient()
    assert [item.path for item in client.list_artifacts(run_id, "rank/plots")] == ["rank/plots/one.png"]


def test_an_unknown_key_is_an_error(store: Path) -> None:
    store.write_text("tracking: here\n")
    with pytest.raises(
        InputError, match=r"mlflow.yaml: unknown key 'tracking'; .*did you mean 'tracking_uri'"
    ):
        tracking.load_settings()


@pytest.mark.slow
def test_a_run_holds_parameters_metrics_children_and_artifacts(store: Path) -> None:
    note = store.parent / "note.txt"
    note.write_text("x")
    with tracking.run("parent", description="what it is") as run:
        run.params({"learner": {"C": 2}, "features": [{"kind": "baseline17"}]})
        run.metrics({"mae": 0.5, "undefined": float("nan")})
        run.artifact(note)
        now = datetime.now()
        run.child("trial 0", {"C": 1}, {"mae": 0.6}, now, now)
    client = mlflow.MlflowClient()
    logged = client.get_run(run.id)
    assert logged.data.params == {"learner.C": "2", "features.0.kind": "baseline17"}
    assert logged.data.metrics == {"mae": 0.5}
    assert logged.info.status == "FINISHED"
    assert [f.path for f in client.list_artifacts(run.id)] == ["note.txt"]
    children = client.search_runs([run.experiment_id], f"tags.mlflow.parentRunId = '{run.id}'")
    assert [c.data.metrics for c in children] == [{"mae": 0.6}]
    assert (store.parent / "files").is_dir()


@pytest.mark.slow
def test_a_run_goes_on_under_its_id(store: Path) -> None:
    with pytest.raises(KeyboardInterrupt), tracking.run("first") as run:
        run.metrics({"a": 1.0})
        raise KeyboardInterrupt
    with tracking.run("first", resume=run.id) as again:
        again.metrics({"b": 2.0})
    assert again.id == run.id
    assert mlflow.get_run(run.id).data.metrics == {"a": 1.0, "b": 2.0}


@pytest.mark.slow
def test_a_missing_model_is_an_error(store: Path) -> None:
    with pytest.raises(InputError, match="no model at models:/absent@champion"):
        tracking.model_directory("models:/absent@champion")


def test_the_registered_name_is_a_template() -> None:
    assert tracking.registered_model("qe-{dataset}", "wmt12-effort", "x") == "qe-wmt12-effort"
    assert tracking.registered_model("qe-{dataset}", "mlqe-pe/en-de-da", "x") == "qe-mlqe-pe-en-de-da"
    with pytest.raises(InputError, match="unknown placeholder 'pair'"):
        tracking.registered_model("qe-{pair}", "a", "b")


LARGE_FILE, SMALL_FILE = "resources/lm/table.npy", "model.json"


def logged(directory: Path, registered: str = "m") -> Path:
    """The folder of the store that a model was logged into."""
    example = pd.DataFrame({"source": ["a"], "target": ["b"]})
    with tracking.run("one") as run:
        registration = run.register(
            directory, name=registered, columns=("source", "target"), example=example, metric="mae",
            value=0.5, higher_is_better=False, data="d", content="c", described=tracking.Described("one"),
        )  # fmt: skip
    return tracking.model_directory(registration.uri)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder like a model's: a large file and a small one."""
    path = tmp_path / "out" / "model"
    (path / LARGE_FILE).parent.mkdir(parents=True)
    (path / LARGE_FILE).write_bytes(bytes(range(256)) * (large_files.LARGE // 256))
    (path / SMALL_FILE).write_text("{}")
    return path


@pytest.mark.slow
def test_logged_models_share_no_file_and_outlive_the_folder(
    store: Path, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = logged(folder), logged(folder)
    assert [entry.version for entry in tracking.model_versions("m")] == ["1", "2"]
    assert capfd.readouterr() == ("", "")
    for name in (LARGE_FILE, SMALL_FILE):
        assert len({(path / name).stat().st_ino for path in (folder, first, second)}) == 3
    description = yaml.safe_load((first.parent.parent / "MLmodel").read_text())
    artifact = description["flavors"]["python_function"]["artifacts"]["model"]
    assert artifact == {"path": "artifacts/model", "uri": str(folder)}
    files = [path.stat().st_size for path in first.parent.parent.rglob("*") if path.is_file()]
    assert large_files.LARGE < description["model_size_bytes"] <= sum(files)
    content = (folder / LARGE_FILE).read_bytes()
    shutil.rmtree(folder)
    assert (second / LARGE_FILE).read_bytes() == content


@pytest.mark.slow
def test_a_file_uri_is_a_local_store(store: Path, folder: Path) -> None:
    store.write_text(store.read_text().replace("files", f"file://{store.parent}/with%20space"))
    path = logged(folder)
    assert path.is_relative_to(store.parent / "with space")
    assert (path / LARGE_FILE).read_bytes() == (folder / LARGE_FILE).read_bytes()


def test_a_logged_model_scores_when_its_folder_is_gone(
    store: Path, demo_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_files, "LARGE", 10_000)  # the demo's resources are small
    folder = store.parent / "out" / "model"
    shutil.copytree(demo_model, folder)
    columns = {"source": ["a plain line", "another"], "target": ["una línea", "otra"]}
    before = Model.load(folder)
    expected = before.predict(before.segments(columns))
    path = logged(folder)
    assert large_files.large_files(path) == large_files.large_files(folder) != []
    shutil.rmtree(folder)
    model = Model.load(path)
    assert model.predict(model.segments(columns)).tolist() == expected.tolist()
