"""Addresses: folders with any name, and files that are no tracking store."""

import os
import shutil
import sqlite3
import time
from pathlib import Path

import mlflow
import pytest

from features.basics.errors import InputError
from qe.tracking import runs
from qe.tracking.address import check_reachable, database_file, database_uri, local_path
from qe.tracking.connection import connected
from qe.tracking.logged_models import Described, log_model, model_directory
from tests.factories import Monkeypatch

FOLDERS = ["a%2Fb", "50%25", "100%", "what?x", "a#b", "x y", "ü", "a+b;c", "file:x", "a?b%3Fc#d", "a&b=c"]


@pytest.mark.parametrize("name", FOLDERS)
def test_a_path_comes_back_from_its_address(name: str) -> None:
    file = Path("/data") / name / "mlflow.db"
    assert database_file(database_uri(file)) == file
    assert local_path(file.as_uri()) == file


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a%2Fb", "50%25", "what?x", "a#b ü"])
def test_store_artifacts_and_models_are_in_the_folder(
    name: str, tmp_path: Path, monkeypatch: Monkeypatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    first, second = tmp_path / "first" / name, tmp_path / "second" / name
    (first / "model").mkdir(parents=True)
    (first / "model" / "weights").write_text("0")
    (first / "mlflow.yaml").write_text("{}\n")
    monkeypatch.chdir(first)
    with runs.run("one") as run:
        run.artifact(first / "model" / "weights", "sub")
        log_model(run, first / "model", columns=["source"], described=Described("m"))
    assert {path.name for path in first.iterdir()} == {"model", "mlflow.yaml", "mlflow.db", "mlartifacts"}
    assert [path.name for path in (tmp_path / "first").iterdir()] == [name]
    shutil.move(first, second)
    monkeypatch.chdir(second)
    assert runs.fetched(run.id, "sub/weights").read_text() == "0"
    with connected():
        (model,) = mlflow.search_logged_models(output_format="list", experiment_ids=[run.experiment_id])
    assert (model_directory(f"models:/{model.model_id}") / "weights").read_text() == "0"


def pipe(path: Path) -> None:
    os.mkfifo(path)


def foreign_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")


def link_to_text(path: Path) -> None:
    path.with_name("thesis").write_text("no line end")
    path.symlink_to("thesis")


NO_STORES = {
    "text": lambda path: path.write_text("thesis"),
    "journal": lambda path: path.write_text('{"op_code": 0}\n'),
    "damaged": lambda path: path.write_bytes(b"SQLite format 3\x00" + b"x" * 100),
    "directory": Path.mkdir,
    "pipe": pipe,
    "full": lambda path: path.symlink_to("/dev/full"),
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "loop": lambda path: path.symlink_to(path.name),
    "link to text": link_to_text,
    "other program's": foreign_database,
}


@pytest.mark.parametrize("kind", NO_STORES)
def test_what_is_no_store_is_refused_and_stays(kind: str, tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    NO_STORES[kind](path := tmp_path / "store")
    files = {file: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{path}")
    start = time.monotonic()
    with pytest.raises(InputError, match="store|database|regular"), connected():
        pass
    assert time.monotonic() - start < 5
    assert {file: file.read_bytes() for file in files} == files
    assert {file.name for file in tmp_path.iterdir()} <= {"store", "thesis"}


def test_a_database_without_tables_becomes_a_store(tmp_path: Path) -> None:
    for content in (b"", None):
        path = tmp_path / f"{content}.db"
        if content is None:
            sqlite3.connect(path).execute("VACUUM").connection.close()
        else:
            path.write_bytes(content)
        check_reachable(database_uri(path))
