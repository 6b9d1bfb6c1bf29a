"""The cache: what lies in it, and what a prune takes."""

import json
import os
import time
from pathlib import Path

import pytest

from qe.cli import main
from qe.resources.cached import cached, old, remove

DAY = 86_400


def made(cache: Path) -> None:
    """An old bundle of two files, a new one, an old column, and what is not ours."""
    for name, days, size in (
        ("resources/old/a", 40, 10), ("resources/old/deep/b", 50, 20), ("resources/new/a", 1, 5),
        ("features/lm-1.npy", 60, 7), ("features/.lm-2.npy.1.tmp", 90, 3), ("encoders/e5/model.onnx", 90, 9),
        ("notes", 90, 1),
    ):  # fmt: skip
        path = cache / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
        os.utime(path, (time.time() - days * DAY,) * 2)
    for folder, days in (("resources/old/deep", 50), ("resources/old", 50), ("resources/new", 1)):
        os.utime(cache / folder, (time.time() - days * DAY,) * 2)


def names(cache: Path) -> set[str]:
    return {path.relative_to(cache).as_posix() for path in cache.rglob("*") if path.is_file()}


def test_an_entry_is_as_old_as_its_newest_file(tmp_path: Path) -> None:
    made(tmp_path)
    by_name = {entry.path.name: entry for entry in cached(tmp_path)}
    assert set(by_name) == {"old", "new", "lm-1.npy"}
    assert by_name["old"].days == pytest.approx(40, abs=0.1)
    assert by_name["lm-1.npy"].size == 7


def test_what_is_old_goes_and_nothing_else(tmp_path: Path) -> None:
    made(tmp_path)
    remove(old(cached(tmp_path), 30))
    assert names(tmp_path) == {
        "resources/new/a",
        "features/.lm-2.npy.1.tmp",
        "encoders/e5/model.onnx",
        "notes",
    }
    assert not (tmp_path / "resources" / "old").exists()


def test_a_link_is_removed_and_not_what_it_leads_to(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "resources" / "link").symlink_to(tmp_path / "encoders", target_is_directory=True)
    remove(old(cached(tmp_path), 0))
    assert names(tmp_path) == {"features/.lm-2.npy.1.tmp", "encoders/e5/model.onnx", "notes"}


def test_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    made(tmp_path)

    def run(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["cache", *words])
        assert not ended.value.code
        return capsys.readouterr().out

    assert "bundles built from corpora" in run("list") and "60 days" in run()
    before = names(tmp_path)
    assert "1 entries would be removed" in run("prune", "--only", "features", "--dry-run")
    assert names(tmp_path) == before
    assert json.loads(run("prune", "--days", "45", "--json"))["removed"] == 1
    assert names(tmp_path) == before - {"features/lm-1.npy"}
    assert len(json.loads(run("list", "--json"))["entries"]) == 2
