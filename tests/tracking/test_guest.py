"""A guest in the user's Python: what is set there stays, and runs go where the user's go."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pytest
from mlflow.telemetry.client import get_telemetry_client
from sklearn.linear_model import Ridge

from features.basics.errors import InputError
from qe.tracking import logged_models, registry, runs, ui
from qe.tracking.connection import connected
from qe.tracking.logged_models import Described

pytestmark = pytest.mark.slow

VARIABLES = ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The tracking database of these tests: its tables take seconds to make."""
    folder = tmp_path_factory.mktemp("guest")
    with clean(folder), connected():
        pass
    yield folder


@pytest.fixture
def folder(database: Path) -> Iterator[Path]:
    with clean(database):
        yield database


@contextmanager
def clean(folder: Path) -> Iterator[None]:
    """A Python in which nobody has set anything, and a project with a store of its own."""
    (folder / "mlflow.yaml").write_text("tracking_uri: sqlite:///runs.db\nexperiment: of-the-file\n")
    patch = pytest.MonkeyPatch()
    for name in VARIABLES:
        patch.delenv(name, raising=False)
    mlflow.set_tracking_uri(None)  # type: ignore[arg-type]
    patch.setattr("mlflow.tracking.fluent._active_experiment_id", None)
    patch.chdir(folder)
    try:
        yield
    finally:
        mlflow.set_tracking_uri(None)  # type: ignore[arg-type]
        os.environ.pop("MLFLOW_EXPERIMENT_ID", None)  # of `mlflow.set_experiment`
        patch.undo()


def state() -> dict[str, Any]:
    """What a guest could leave changed."""
    return {
        "variables": dict(os.environ),
        "set": mlflow.is_tracking_uri_set(),  # type: ignore[no-untyped-call]
        "store": mlflow.get_tracking_uri(),
        "levels": [logging.getLogger(name).level for name in ("mlflow", "alembic")],
        "telemetry": get_telemetry_client(),
        "active": mlflow.active_run(),
        "experiment": mlflow.tracking.fluent._active_experiment_id,
    }


def experiment_of(run: runs.Run) -> str:
    return str(run.client.get_experiment(run.experiment_id).name)


@pytest.mark.parametrize("user", ["nothing", "variable", "store", "levels"])
def test_what_the_user_has_set_stays(user: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = f"sqlite:///{folder / 'runs.db'}"
    if user == "variable":
        monkeypatch.setenv("MLFLOW_TRACKING_URI", own)
    elif user == "store":
        mlflow.set_tracking_uri(own)
    elif user == "levels":
        monkeypatch.setattr(logging.getLogger("mlflow"), "level", logging.DEBUG)
    before = state()
    with runs.run("one") as run:
        assert mlflow.get_tracking_uri() == own and experiment_of(run) == "of-the-file"
        assert mlflow.active_run() is None and registry.model_names() == []
    assert state() == before
    with pytest.raises(KeyError), runs.run("two"):
        raise KeyError
    assert state() == before and registry.aliased("none", "champion") is None
    assert state() == before


def test_a_run_is_a_child_of_the_active_one(folder: Path) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'runs.db'}")
    mlflow.set_experiment("of-the-user")
    with mlflow.start_run(run_name="theirs") as theirs:
        before = state()
        with runs.run("ours", tags={"team": "mt"}) as run:
            run.metrics({"mae": 0.5})
        assert state() == before and mlflow.active_run().info.run_id == theirs.info.run_id  # type: ignore[union-attr]
    ours = mlflow.get_run(run.id)
    assert ours.data.tags["mlflow.parentRunId"] == theirs.info.run_id and ours.data.tags["team"] == "mt"
    assert experiment_of(run) == "of-the-user" and ours.info.status == "FINISHED"
    assert mlflow.get_run(theirs.info.run_id).data.metrics == {}


def test_the_store_of_the_active_run_is_taken_whatever_the_file_says(
    folder: Path, database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user works with MLflow's default store, which nobody has set."""
    (folder / "mlflow.yaml").write_text("tracking_uri: sqlite:///other.db\n")
    monkeypatch.setattr(
        "mlflow.tracking._tracking_service.utils.DEFAULT_TRACKING_URI", "sqlite:///runs.db", raising=True
    )
    with mlflow.start_run() as theirs, runs.run("ours") as run:
        pass
    assert mlflow.get_run(run.id).data.tags["mlflow.parentRunId"] == theirs.info.run_id
    assert not (folder / "other.db").exists()


def test_the_experiment_is_the_users(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'runs.db'}")
    number = mlflow.create_experiment("by-number")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", number)
    with runs.run("one") as run:
        assert run.experiment_id == number
    monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", "4711")
    with pytest.raises(InputError, match="is '4711', which this store does not have"), runs.run("one"):
        pass
    monkeypatch.delenv("MLFLOW_EXPERIMENT_ID")
    mlflow.set_experiment("set-in-python")
    with runs.run("one") as run:
        assert experiment_of(run) == "set-in-python"


def test_no_run_goes_into_what_was_deleted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'runs.db'}")
    number = mlflow.create_experiment("gone")
    mlflow.delete_experiment(number)
    deleted = f"'gone' .id {number}. was deleted; restore it by `mlflow"
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "gone")
    assert ui.view() == "/#/experiments?workflowType=machine_learning"
    for name, value, problem in (
        ("MLFLOW_EXPERIMENT_NAME", "gone", deleted),
        ("MLFLOW_EXPERIMENT_ID", number, deleted),
        ("MLFLOW_RUN_ID", "4711", "MLFLOW_RUN_ID is '4711', which this store does not have"),
    ):
        monkeypatch.setenv(name, value)
        with pytest.raises(InputError, match=problem), runs.run("one"):
            pass


def test_a_run_goes_on_though_the_user_has_another_experiment(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt), runs.run("ours") as run:
        run.metrics({"rmse": 2.0})
        raise KeyboardInterrupt
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'runs.db'}")
    mlflow.set_experiment("another")
    with mlflow.start_run(), runs.run("ours", resume=run.id) as again:
        again.metrics({"mae": 1.0})
    entry = mlflow.get_run(run.id)
    assert (
        again.id == run.id
        and entry.info.status == "FINISHED"
        and entry.data.metrics == {"mae": 1.0, "rmse": 2.0}
    )


def test_autologging_of_the_user_logs_nothing_of_ours(folder: Path) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'runs.db'}")
    mlflow.set_experiment("autologged")
    mlflow.sklearn.autolog(log_models=False, silent=True)
    try:
        with runs.run("ours") as run:
            Ridge().fit(np.eye(4), np.arange(4.0))
        found = mlflow.search_runs([run.experiment_id], output_format="list")
        assert [one.info.run_id for one in found] == [run.id] and not found[0].data.params
    finally:
        mlflow.sklearn.autolog(disable=True)


def test_a_logged_model_is_in_the_experiment_of_its_run(folder: Path, tmp_path: Path) -> None:
    """Also while the user works in another one."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "x").write_text("x")
    with runs.run("ours") as run:
        run.params({"C": 2})
        mlflow.set_experiment("of-the-user")
        with mlflow.start_run():
            model = logged_models.log_model(
                run, tmp_path / "model", columns=["source", "target"],
                described=Described("small", params={"alpha": 1}),
            )  # fmt: skip
    with connected():
        logged = mlflow.get_logged_model(model)
    assert logged.experiment_id == run.experiment_id and logged.source_run_id == run.id
    assert logged.params == {"alpha": "1", "C": "2"} and logged.status == "READY"
