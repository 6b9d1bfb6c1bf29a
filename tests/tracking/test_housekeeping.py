"""Versions are deleted, and never one that an alias names."""

import json
import subprocess
import sys
from pathlib import Path

import mlflow
import pytest
from mlflow.exceptions import MlflowException

from qe.tracking import registry
from qe.tracking.connection import connected
from qe.tracking.registry import delete, select_versions, to_delete
from tests.factories import ran, refuses

pytestmark = pytest.mark.slow

NAME = "mine"


@connected()
def registered(versions: int) -> list[str]:
    """Ids of logged models, each a version."""
    client = mlflow.MlflowClient()
    client.create_registered_model(NAME)
    made = []
    with mlflow.start_run(experiment_id="0") as run:
        for _ in range(versions):
            model = mlflow.initialize_logged_model("m", source_run_id=run.info.run_id)
            mlflow.finalize_logged_model(model.model_id, "READY")
            client.create_model_version(
                NAME, f"models:/{model.model_id}", run.info.run_id, model_id=model.model_id
            )
            made.append(model.model_id)
    return made


def numbers() -> list[str]:
    return [version.version for version in registry.model_versions(NAME)]


def test_aliases_and_the_way_back_are_kept(store: Path) -> None:
    registered(7)
    registry.make_champion(NAME, "1")
    registry.make_champion(NAME, "3")  # `qe promote --rollback` goes back to 1
    registry.set_alias(NAME, "canary", "4")
    assert [version.version for version in to_delete(NAME, 2)] == ["2", "5"]
    assert [version.version for version in to_delete(NAME, 0)] == ["2", "5", "6", "7"]
    assert to_delete(NAME, 9) == []
    delete(to_delete(NAME, 2))
    assert numbers() == ["1", "3", "4", "6", "7"]


def test_a_deleted_version_takes_its_model_along_unless_another_is_of_it(store: Path) -> None:
    first, second = registered(2)
    with connected():
        client = mlflow.MlflowClient()
        client.create_model_version(NAME, f"models:/{second}", model_id=second)
    delete(select_versions(NAME, ["1", "2"]))
    assert numbers() == ["3"]
    with connected():
        assert mlflow.get_logged_model(second).model_id == second
        with pytest.raises(MlflowException):
            mlflow.get_logged_model(first)


def test_an_alias_protects_its_version(store: Path) -> None:
    registered(2)
    waiting = select_versions(NAME, ["1", "2"])
    registry.make_champion(NAME, "2")
    refuses("version 2 of 'mine' is champion; ", select_versions, NAME, ["2"])
    refuses("is champion", delete, waiting)  # the alias came after the choice
    assert numbers() == ["1", "2"]
    refuses("'9'; known: 1, 2", select_versions, NAME, ["9"])


def test_verbs(store: Path) -> None:
    registered(3)
    registry.make_champion(NAME, "1")
    assert ran("models", "keep-last", NAME, "1", "--dry-run").out == "models:/mine/2: would be deleted\n"
    assert numbers() == ["1", "2", "3"]
    assert ran("models", "delete", NAME, "3").out == "models:/mine/3: deleted\n"
    told = json.loads(ran("models", "keep-last", NAME, "0", "--json").out)
    assert told == {"schema": 1, "deleted": True, "versions": ["models:/mine/2"]}
    assert ran("models", "keep-last", NAME, "0").out == "no version to delete\n"


def test_mlflow_collects_the_files(store: Path) -> None:
    (model,) = registered(1)
    with connected():
        place = Path(mlflow.get_logged_model(model).artifact_location)
        (place / "x").parent.mkdir(parents=True, exist_ok=True)
        (place / "x").write_text("x")
        uri = mlflow.get_tracking_uri()
    delete(select_versions(NAME, ["1"]))
    command = [sys.executable, "-m", "mlflow", "gc", "--backend-store-uri", uri, "--logged-model-ids", model]
    subprocess.run([*command, "--tracking-uri", uri], check=True, capture_output=True)
    assert not (place / "x").exists()
