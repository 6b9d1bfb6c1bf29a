"""Stores that were moved or copied: artifacts are read and written beside them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import mlflow
import pytest

from qe.tracking import registry, runs
from qe.tracking.address import local_path
from qe.tracking.connection import connected
from qe.tracking.logged_models import model_directory
from tests.factories import refuses


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with a store of its own, in the working directory, that holds a run with an artifact."""
    for name in ("TRACKING_URI", "REGISTRY_URI", "EXPERIMENT_NAME", "EXPERIMENT_ID"):
        monkeypatch.delenv(f"MLFLOW_{name}", raising=False)
    folder = tmp_path / "first"
    folder.mkdir()
    (folder / "mlflow.yaml").write_text("artifact_root: files\n")
    monkeypatch.chdir(folder)
    with runs.run("one") as run:
        (tmp_path / "a.txt").write_text("first")
        run.artifact(tmp_path / "a.txt")
        entry = run.client.create_logged_model(run.experiment_id, name="m", source_run_id=run.id)
        run.client.create_registered_model("m")
        run.client.create_model_version("m", f"models:/{entry.model_id}", model_id=entry.model_id)
    yield folder


def places() -> dict[str, str]:
    """The places of artifacts of runs, models and versions in the store, and what the first run holds."""
    client = mlflow.MlflowClient()
    (experiment,) = [e for e in client.search_experiments() if e.name == "qe"]
    run = client.search_runs([experiment.experiment_id], order_by=["start_time"])[0]
    (model,) = client.search_logged_models([experiment.experiment_id])
    (version,) = client.search_model_versions("name = 'm'")
    return {
        "experiment": experiment.artifact_location,
        "run": run.info.artifact_uri,
        "model": model.artifact_location,
        "version": client.get_model_version_download_uri("m", version.version),
        "text": Path(client.download_artifacts(run.info.run_id, "a.txt")).read_text(),
    }


@pytest.mark.slow
@pytest.mark.parametrize("original", ["gone", "still there"])
def test_a_moved_store_reads_and_writes_beside_itself(
    original: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = tmp_path / "below" / "second"
    shutil.copytree(home, second)
    if original == "gone":
        home.rename(tmp_path / "elsewhere")
    else:
        next((home / "files").rglob("a.txt")).write_text("changed")
    monkeypatch.chdir(second)
    with connected():
        found = places()
    assert found.pop("text") == "first"
    assert all(local_path(place).is_relative_to(second / "files") for place in found.values())
    with runs.run("two") as run:
        run.artifact(tmp_path / "a.txt")
    assert len([*(second / "files").rglob("a.txt")]) == 2
    assert original == "still there" or not home.exists()


@pytest.mark.slow
def test_a_store_that_was_not_moved_stays(home: Path) -> None:
    with connected():
        first = places()
    with connected():
        assert places() == first
    assert first["experiment"] == (home / "files" / "qe").as_uri()


def test_reading_makes_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    assert registry.model_names() == []
    for read in (lambda: registry.model_versions("m"), lambda: model_directory("models:/m@champion")):
        refuses(r"no tracking store is there yet; `qe train` makes it", read)
    assert [*empty.iterdir()] == [] and [*tmp_path.iterdir()] == [empty]
