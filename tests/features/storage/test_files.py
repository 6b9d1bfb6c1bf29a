"""Atomic writing and reading: what cannot be written or read is told, and nothing is left half done."""

import errno
import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from features.basics.errors import InputError
from features.storage.files import (
    MAX_LINE,
    atomic_directory,
    atomic_file,
    check_writable,
    read_lines,
    resolved,
    sha256,
    tidy,
)
from features.storage.outputs import check_no_overlap, check_outside, locked_file, locked_folder
from features.storage.strict_yaml import read_mapping
from tests.factories import refuses

TEXT = "".join(f"line {i} of a text that is squeezed\n" for i in range(2000))


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


def damaged(content: bytes, how: str) -> bytes:
    if how == "cut off":
        return content[: len(content) // 2]
    at, flip = {"block type": (10, 0x06), "checksum": (len(content) - 8, 0xFF)}[how]
    return content[:at] + bytes([content[at] ^ flip]) + content[at + 1 :]


@pytest.mark.parametrize("how", ["cut off", "block type", "checksum"])
def test_a_damaged_gzip_file(how: str, tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(damaged(gzip.compress(TEXT.encode(), mtime=0), how))
    refuses(r"text\.gz:\d+: damaged gzip file", list, read_lines(path))


@pytest.mark.parametrize(
    "name, message", [("none", "no such file; check the path"), ("file/x", "no such file"), ("folder", "dir")]
)
def test_what_cannot_be_read(name: str, message: str, places: Path) -> None:
    with pytest.raises(InputError, match=message) as raised:
        list(read_lines(places / name))
    assert raised.value.location == places / name


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


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_that_does_not_end_is_refused(packed: bool, tmp_path: Path) -> None:
    path = tmp_path / "text"
    content = b"short\n" + b"x" * (MAX_LINE + 1)
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(InputError, match="longer than 16 MiB") as raised:
        list(read_lines(path))
    assert raised.value.location == f"{path}:2"


def test_devices_without_an_end_are_refused() -> None:
    refuses("longer than 16 MiB", list, read_lines(Path("/dev/zero")))
    refuses("is a device", sha256, Path("/dev/zero"))


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


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\rb\rc\r", None),  # of an old Mac
        (b"\xef\xbb\xbfa\rb", None),
        (b"a\r", ["a"]),
        (b"a\r\nb\rc", ["a", "b\rc"]),
    ],
)
def test_carriage_returns_alone_are_told(content: bytes, lines: list[str] | None, tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(content)
    if lines is not None:
        assert list(read_lines(path)) == lines
        return
    refuses(r"t\.txt: has no line feed, .* old Mac\); write line feeds", list, read_lines(path))
