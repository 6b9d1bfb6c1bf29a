"""Atomic writing and reading: what cannot be written or read is told, and nothing is left half done."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from features.basics.errors import InputError
from features.storage.files import (
    atomic_directory,
    atomic_file,
    check_writable,
    read_lines,
    resolved,
    tidy,
)
from features.storage.outputs import check_no_overlap, check_outside, locked_file, locked_folder
from features.storage.strict_yaml import read_mapping
from tests.factories import refuses


def write(path: Path) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text("new")


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """A folder with a file and a folder."""
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    return tmp_path


PLACES = {
    "file/x": r"cannot be written \(.*file is a file, not a directory\)",
    "file/x/y": r"cannot be written \(.*file is a file, not a directory\)",
    "folder": "is a directory, not a file",
    "n" * 300: r"cannot be written \(File name too long\)",
    "/proc/qe.tsv": r"cannot be written \(No such file or directory\)",
    "/dev/null": "is a device or a pipe, not a file",
}


@pytest.mark.parametrize("name", PLACES)
def test_a_place_that_cannot_be_written(name: str, places: Path) -> None:
    for attempt in (check_writable, write):
        with pytest.raises(InputError, match=f"{PLACES[name]}; choose another path") as raised:
            attempt(places / name)
        assert raised.value.location == places / name
    assert sorted(p.name for p in places.rglob("*")) == ["file", "folder"]
    assert (places / "file").read_text() == "old"


def test_the_check_leaves_nothing(places: Path) -> None:
    for name in ("new/folder/x", "x", "file"):
        check_writable(places / name)
    assert sorted(p.name for p in places.rglob("*")) == ["file", "folder"]
    write(places / "new/folder/x")
    write(places / "file")
    assert (places / "new/folder/x").read_text() == (places / "file").read_text() == "new"


def test_a_directory_in_place_of_a_file(places: Path) -> None:
    for name, message in (("file", "is a file, not a directory"), ("file/x", "cannot be written")):
        with pytest.raises(InputError, match=message), atomic_directory(places / name):
            raise AssertionError("nothing is written where it cannot land")
    assert sorted(p.name for p in places.rglob("*")) == ["file", "folder"]


def test_errors_of_the_block_stay_what_they_are(tmp_path: Path) -> None:
    """A file that is missing while another is written is not "cannot be written"."""
    for manager in (atomic_file, atomic_directory):
        for error in (FileNotFoundError(errno.ENOENT, "gone"), BrokenPipeError(), TimeoutError("slow")):
            with pytest.raises(type(error)), manager(tmp_path / "x"):
                raise error
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    "manager, write, reason",
    [
        ("atomic_file", "path.write_text('x' * 10000)", "File too large"),
        ("atomic_directory", "(path / 'a').write_text('x' * 10000)", "File too large"),
        ("atomic_directory", "np.save(path / 'a.npy', np.zeros(10000))", "requested and "),
    ],
)
def test_no_room(manager: str, write: str, reason: str, tmp_path: Path) -> None:
    """A limit on file size is as a full disk: a write that fails halfway."""
    script = (
        "import resource, sys, numpy as np; from pathlib import Path; from features.storage.files import *\n"
        "from features.basics.errors import InputError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))\n"
        f"try:\n  with {manager}(Path('x')) as path: {write}\n"
        "except InputError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
    )  # fmt: skip
    assert done.stdout.startswith("x: cannot be written (") and reason in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    """A symbolic link that leads back to itself."""
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    return tmp_path / "a"


@pytest.mark.parametrize("below", ["", "x"])
def test_a_loop_of_links_is_bad_input(loop: Path, below: str, tmp_path: Path) -> None:
    path, plain = loop / below, tmp_path / "plain"
    attempts: list[Callable[[], object]] = [
        lambda: resolved(path), lambda: check_writable(path), lambda: write(path),
        lambda: list(read_lines(path)),
        lambda: atomic_directory(path).__enter__(), lambda: check_no_overlap(path, [plain]),
        lambda: check_no_overlap(plain, [path]), lambda: check_outside(path, plain),
        lambda: locked_file(path).__enter__(), lambda: locked_folder(path, "score").__enter__(),
        lambda: read_mapping(path, "experiment"),
    ]  # fmt: skip
    for attempt in attempts:
        refuses("symbolic links", attempt)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "b"] and loop.is_symlink()


# --- kills ---------------------------------------------------------------------------------------------


WRITES = """
import os, sys
from pathlib import Path
from features.storage import files
path, kind, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
steps = 0
def step(event, arguments):
    global steps
    changes = event in ("os.rename", "os.remove", "os.rmdir", "shutil.rmtree", "os.mkdir")
    if changes or (event == "open" and str(arguments[1]) == "w"):
        steps += 1
        if steps == last:
            os.kill(os.getpid(), 9)
sys.addaudithook(step)
if kind == "file":
    with files.atomic_file(path) as temporary:
        temporary.write_text("new")
else:
    with files.atomic_directory(path) as temporary:
        (temporary / "content").write_text("new")
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "directory"])
def test_a_kill_at_any_moment_leaves_the_old_or_the_new(kind: str, tmp_path: Path) -> None:
    """Killed before every change of the file system; the next run leaves nothing of it beside the output."""
    seen = set()
    for last in range(1, 20):
        folder = tmp_path / str(last)
        path = folder / "out"
        content = path if kind == "file" else path / "content"
        content.parent.mkdir(parents=True)
        content.write_text("old")
        done = subprocess.run([sys.executable, "-c", WRITES, str(path), kind, str(last)], check=False)
        if kind == "file":
            assert content.read_text() in ("old", "new"), last
        check_writable(folder / "other")
        seen.add(len(list(folder.iterdir())))
        tidy(path)
        assert content.read_text() in ("old", "new"), last
        assert [left.name for left in folder.iterdir()] == ["out"], last
        if done.returncode == 0:
            break
    assert done.returncode == 0 and content.read_text() == "new" and max(seen) > 1  # kills did leave things


def test_what_a_living_process_writes_is_not_tidied_away(tmp_path: Path) -> None:
    path = tmp_path / "out"
    (tmp_path / ".out.notes").write_text("of the user")
    (tmp_path / ".out.abcdefgh.qe-part").write_text("of a kill")
    with atomic_file(path) as file, atomic_directory(tmp_path / "folder") as folder:
        check_writable(path)
        tidy(tmp_path / "folder")
        assert file.exists() and folder.exists()
        file.write_text("x")
    assert {left.name for left in tmp_path.iterdir()} == {"out", "folder", ".out.notes"}


@pytest.mark.parametrize(("content", "lines"), [(b"a\r", ["a"]), (b"a\r\nb\rc", ["a", "b\rc"])])
def test_carriage_returns_beside_line_feeds_stay(content: bytes, lines: list[str], tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_bytes(content)
    assert list(read_lines(tmp_path / "t.txt")) == lines
