"""The cache: which entries `qe cache` lists, and which a prune removes."""

import json
import os
import time
from pathlib import Path

import pytest

from features.storage.cache_folder import CACHE_TAG, cache_entry, tag_cache
from qe.resources.cached import KINDS, cached, old, remove
from tests.factories import qe, refuses

DAY, KEY = 86_400, "0123456789abcdef"
OLD, NEW, COLUMN = KEY, KEY[::-1], f"lm-{KEY}.npy"
FOREIGN = (
    f"features/.lm-{KEY}.npy.1.tmp", "features/mine.py", "features/lm.npy", "resources/corpus/en.txt",
    "fitted/model", "annotations/gold.jsonl", "translations/novel.txt", "checked/list", "numba/notes",
    "encoders/e5/model.onnx", "encodings/e5.sqlite", "notes",
)  # fmt: skip


def fill(cache: Path) -> None:
    """An old bundle of two files, a new one, an old column, and files of the user's in the same folders."""
    entries = {
        f"resources/{OLD}/a": (40, 10),
        f"resources/{OLD}/deep/b": (50, 20),
        f"resources/{NEW}/a": (1, 5),
    }
    entries |= {f"features/{COLUMN}": (60, 7)} | {name: (90, 1) for name in FOREIGN}
    for name, (days, size) in entries.items():
        path = cache / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
        os.utime(path, (time.time() - days * DAY,) * 2)
    for folder, days in ((f"{OLD}/deep", 50), (OLD, 50), (NEW, 1)):
        os.utime(cache / "resources" / folder, (time.time() - days * DAY,) * 2)


def files(cache: Path) -> set[str]:
    return {path.relative_to(cache).as_posix() for path in cache.rglob("*") if path.is_file()}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    fill(tmp_path)
    tag_cache(tmp_path)
    return tmp_path


def test_an_entry_is_as_old_as_its_newest_file(cache: Path) -> None:
    by_name = {entry.path.name: entry for entry in cached(cache)}
    assert set(by_name) == {OLD, NEW, COLUMN}
    assert by_name[OLD].days == pytest.approx(40, abs=0.1)
    assert by_name[COLUMN].size == 7


@pytest.mark.parametrize(("days", "remaining"), [(30, {f"resources/{NEW}/a"}), (0, set())])
def test_only_entries_of_the_cache_are_removed(cache: Path, days: int, remaining: set[str]) -> None:
    (cache / "resources" / KEY.replace("0", "f")).symlink_to(cache / "encoders", target_is_directory=True)
    remove(old(cached(cache), days))
    assert files(cache) == {*FOREIGN, CACHE_TAG, *remaining}
    assert not (cache / "resources" / OLD).exists()


@pytest.mark.parametrize(
    "tag", [None, "", "Signature: 8a477f597d28d172789f06886806bc55\n# of another program\n"]
)
@pytest.mark.parametrize("folder", sorted(KINDS))
def test_a_folder_without_our_tag_is_no_cache(tmp_path: Path, folder: str, tag: str | None) -> None:
    fill(tmp_path)
    if tag is not None:
        (tmp_path / CACHE_TAG).write_text(tag)
    before = files(tmp_path)
    for kinds in (KINDS, [folder]):
        refuses(CACHE_TAG, cached, tmp_path, kinds)
    assert files(tmp_path) == before


def test_an_entry_tags_its_cache_and_no_other_tag_is_overwritten(tmp_path: Path) -> None:
    assert cached(tmp_path / "none") == []
    entry = cache_entry(tmp_path / "new", "features", COLUMN)
    entry.parent.mkdir()
    entry.write_bytes(b"x")
    assert [e.path for e in cached(tmp_path / "new")] == [entry]
    (tmp_path / CACHE_TAG).write_text("theirs")
    cache_entry(tmp_path, "features", COLUMN)
    assert (tmp_path / CACHE_TAG).read_text() == "theirs"


def test_verb(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QE_CACHE_DIR", str(cache))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words: str, code: int = 0) -> str:
        done = qe("cache", *words)
        assert done.code == code
        return done.out

    assert "bundles built from corpora" in run("list") and "60 days" in run()
    before = files(cache)
    assert "1 entries would be removed" in run("prune", "--only", "features", "--dry-run")
    assert files(cache) == before
    assert json.loads(run("prune", "--days", "45", "--json"))["removed"] == 1
    assert files(cache) == before - {f"features/{COLUMN}"}
    assert len(json.loads(run("list", "--json"))["entries"]) == 2
    (cache / CACHE_TAG).unlink()
    run("prune", "--days", "0", code=2)
    assert files(cache) == before - {f"features/{COLUMN}", CACHE_TAG}
