"""The cache: a value is made once, whoever asks for it, and again if its file is damaged."""

import threading
from pathlib import Path

import pytest

from features.storage.cache import TEXTS, Cache


def test_threads_wait_for_the_one_that_makes_it(tmp_path: Path) -> None:
    made, results = list[int](), list[tuple[str, ...]]()

    def make() -> list[str]:
        made.append(1)
        threading.Event().wait(0.2)
        return ["a\n", "ł\ud800"]

    def ask() -> None:
        results.append(tuple(Cache(tmp_path).get("annotations", "name", TEXTS, make)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1] and set(results) == {("a\n", "ł\ud800")}
    assert [path.name for path in (tmp_path / "annotations").iterdir()] == ["name.npz"]


@pytest.mark.parametrize("place", [0, 70, -30])
def test_a_damaged_file_is_made_again(tmp_path: Path, place: int, caplog: pytest.LogCaptureFixture) -> None:
    texts = ["one", "two"] * 50
    path = tmp_path / "translations" / "name.npz"
    Cache(tmp_path).get("translations", "name", TEXTS, lambda: texts)
    sound = bytearray(path.read_bytes())
    sound[place] ^= 1
    path.write_bytes(sound)
    assert list(Cache(tmp_path).get("translations", "name", TEXTS, lambda: texts)) == texts
    assert "name.npz" in caplog.text
    assert list(Cache(tmp_path).get("translations", "name", TEXTS, list)) == texts
