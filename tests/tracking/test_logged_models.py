"""Logged models: they outlive the folder that they were logged from, and share its large files alone."""

import errno
import shutil
from pathlib import Path

import pytest
import yaml

from qe.models.model import Model
from qe.tracking import logged_models, runs
from qe.tracking.connection import connected
from qe.tracking.logged_models import Described, model_directory, registered_as
from qe.tracking.registry import model_versions, register
from tests.factories import refuses

pytestmark = pytest.mark.slow

LARGE_FILE, SMALL_FILE = "resources/lm/table.npy", "model.json"


def test_a_missing_model_is_an_error(store: Path) -> None:
    with connected():
        pass
    refuses("no model at models:/absent@champion", model_directory, "models:/absent@champion")


def logged(directory: Path, registered: str = "m") -> Path:
    """The folder of the store that a model was logged into."""
    with runs.run("one") as run:
        registration = register(
            run, directory, name=registered, columns=("source", "target"), metric="mae",
            value=0.5, higher_is_better=False, data="d", content="c", described=Described("one"),
        )  # fmt: skip
    return model_directory(registration.uri)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder like a model's: a large file and a small one."""
    path = tmp_path / "out" / "model"
    (path / LARGE_FILE).parent.mkdir(parents=True)
    (path / LARGE_FILE).write_bytes(bytes(range(256)) * (logged_models.LARGE // 256))
    (path / SMALL_FILE).write_text("{}")
    return path


def test_logged_models_hold_large_files_once_and_outlive_the_folder(
    store: Path, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = logged(folder), logged(folder)
    assert [entry.version for entry in model_versions("m")] == ["1", "2"]
    assert (registered_as(first), registered_as(second)) == (("m", "1"), ("m", "2"))
    assert registered_as(folder) is None
    assert capfd.readouterr() == ("", "")
    for name, copies in ((LARGE_FILE, 1), (SMALL_FILE, 3)):
        assert len({(path / name).stat().st_ino for path in (folder, first, second)}) == copies
    description = yaml.safe_load((first.parent.parent / "MLmodel").read_text())
    artifact = description["flavors"]["python_function"]["artifacts"]["model"]
    assert artifact == {"path": "artifacts/model", "uri": folder.as_uri()}
    files = [path.stat().st_size for path in first.parent.parent.rglob("*") if path.is_file()]
    assert logged_models.LARGE < description["model_size_bytes"] <= sum(files)
    content = (folder / LARGE_FILE).read_bytes()
    shutil.rmtree(folder)
    assert (second / LARGE_FILE).read_bytes() == content


def test_on_another_file_system_large_files_are_copied(
    store: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", refused)
    path = logged(folder)
    assert (path / LARGE_FILE).stat().st_ino != (folder / LARGE_FILE).stat().st_ino
    assert (path / LARGE_FILE).read_bytes() == (folder / LARGE_FILE).read_bytes()


def test_a_file_uri_is_a_local_store(store: Path, folder: Path) -> None:
    store.write_text(store.read_text().replace("files", f"file://{store.parent}/with%20space"))
    path = logged(folder)
    assert path.is_relative_to(store.parent / "with space")
    assert (path / LARGE_FILE).read_bytes() == (folder / LARGE_FILE).read_bytes()


@pytest.mark.capability
def test_a_logged_model_scores_when_its_folder_is_gone(
    store: Path, demo_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logged_models, "LARGE", 10_000)  # the demo's resources are small
    folder = store.parent / "out" / "model"
    shutil.copytree(demo_model, folder)
    columns = {"source": ["a plain line", "another"], "target": ["una línea", "otra"]}
    before = Model.load(folder)
    expected = before.predict(before.segments(columns))
    path = logged(folder)
    assert logged_models.large_files(path) == logged_models.large_files(folder) != []
    shutil.rmtree(folder)
    model = Model.load(path)
    assert model.predict(model.segments(columns)).tolist() == expected.tolist()
