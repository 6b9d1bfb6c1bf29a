"""Fetching public datasets, from a server of our own on loopback."""

import hashlib
import http.server
import io
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from features.basics.errors import InputError
from qe.data import public
from qe.data.public import Download, PublicDataset, fetch

CONTENT = {"a.txt": b"one\n", "deep/b.txt": b"two\n" * 50_000}


def checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name, content in files.items():
            member = tarfile.TarInfo(f"../../somewhere/{name}")  # names in archives are not trusted
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@dataclass
class Server:
    """What is served, how, and which requests came."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    cut: int | None = None  # bytes after which the connection closes
    ranges: bool = True


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    state = Server(files={"/x/set.tar.gz": archive(CONTENT), "/x/plain.tsv": b"1\t2\n"})

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.requests.append((self.path, wanted))
            content = state.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and state.ranges else 0
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206 if wanted and state.ranges else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            self.wfile.write(content[start:] if state.cut is None else content[start : state.cut])

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
        state.url = f"http://127.0.0.1:{listening.server_address[1]}"
        wanted = tuple((checksum(content), name) for name, content in CONTENT.items())
        plain = ((checksum(b"1\t2\n"), "features/plain.tsv"),)
        known = PublicDataset(
            (Download("x/set.tar.gz", wanted), Download("x/plain.tsv", plain)), "none", "table"
        )
        monkeypatch.setattr(public, "dataset", lambda name: known)
        yield state
        listening.shutdown()


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_files_land_verified_and_nothing_else(server: Server, tmp_path: Path) -> None:
    written, kept = fetch("any", tmp_path / "set", base_url=server.url)
    assert len(written) == 3 and kept == []
    assert names(tmp_path) == ["set/a.txt", "set/deep/b.txt", "set/features/plain.tsv"]
    assert (tmp_path / "set/deep/b.txt").read_bytes() == CONTENT["deep/b.txt"]


def test_files_that_are_there_are_not_fetched_again(server: Server, tmp_path: Path) -> None:
    fetch("any", tmp_path, base_url=server.url)
    server.requests.clear()
    written, kept = fetch("any", tmp_path, base_url=server.url)
    assert written == [] and len(kept) == 3 and server.requests == []
    (tmp_path / "features/plain.tsv").unlink()
    written, kept = fetch("any", tmp_path, base_url=server.url)
    assert [path.name for path in written] == ["plain.tsv"] and len(kept) == 2
    assert server.requests == [("/x/plain.tsv", None)]


def test_a_file_of_the_users_is_not_replaced(server: Server, tmp_path: Path) -> None:
    changed = tmp_path / "features/plain.tsv"
    changed.parent.mkdir()
    changed.write_text("changed")
    with pytest.raises(InputError, match="is there, and not as 'any' publishes it; move it away"):
        fetch("any", tmp_path, base_url=server.url)
    assert names(tmp_path) == ["features/plain.tsv"] and changed.read_text() == "changed"
    assert server.requests == []


@pytest.mark.parametrize("ranges", [True, False])
def test_a_cut_off_download_goes_on(server: Server, tmp_path: Path, ranges: bool) -> None:
    server.cut, server.ranges = 100, ranges
    with pytest.raises(InputError, match=r"set\.tar\.gz: cannot be downloaded .*goes on where it stopped"):
        fetch("any", tmp_path, base_url=server.url)
    assert all(name.startswith(".download/") for name in names(tmp_path))
    server.cut = None
    fetch("any", tmp_path, base_url=server.url)
    assert names(tmp_path) == ["a.txt", "deep/b.txt", "features/plain.tsv"]
    assert server.requests[1] == ("/x/set.tar.gz", "bytes=100-")


def test_a_complete_part_is_used(server: Server, tmp_path: Path) -> None:
    """Killed between download and unpacking: the server has no more bytes to send."""
    part = hashlib.sha256(b"x/set.tar.gz").hexdigest()[:16] + ".part"
    (tmp_path / ".download").mkdir()
    (tmp_path / ".download" / part).write_bytes(server.files["/x/set.tar.gz"])
    written, _ = fetch("any", tmp_path, base_url=server.url)
    assert len(written) == 3


def test_changed_content_is_refused(server: Server, tmp_path: Path) -> None:
    server.files["/x/set.tar.gz"] = archive({**CONTENT, "a.txt": b"forged\n"})
    with pytest.raises(InputError, match=r"no content with the expected checksum for a\.txt"):
        fetch("any", tmp_path, base_url=server.url)
    assert not (tmp_path / "a.txt").exists()
    server.files["/x/set.tar.gz"] = b"not an archive at all"
    (tmp_path / "deep/b.txt").unlink()
    with pytest.raises(InputError, match="damaged archive"):
        fetch("any", tmp_path, base_url=server.url)
    assert names(tmp_path) == []


def test_server_errors(server: Server, tmp_path: Path) -> None:
    del server.files["/x/set.tar.gz"]
    with pytest.raises(InputError, match=r"/x/set\.tar\.gz: the server answers 404"):
        fetch("any", tmp_path, base_url=server.url)
    with pytest.raises(InputError, match="must begin with http:// or https://"):
        fetch("any", tmp_path, base_url="file:///etc")
    with pytest.raises(InputError, match="cannot be downloaded"):
        fetch("any", tmp_path, base_url="http://127.0.0.1:1")


def test_unknown_name() -> None:
    with pytest.raises(InputError, match="unknown public dataset 'wmt13'; known: wmt12-qe, mlqe-pe"):
        public.dataset("wmt13")


def test_the_tables_name_the_shared_files(shared_data: Callable[[str], Path]) -> None:
    """Every checksum of the two public datasets is that of the file beside the checkout."""
    for name in public.names():
        folder = shared_data(name)
        files = [pair for download in public.dataset(name).downloads for pair in download.files]
        assert len(files) == {"wmt12-qe": 11, "mlqe-pe": 44}[name]
        for sum_, file in files:
            assert checksum((folder / file).read_bytes()) == sum_


def test_fetching_wmt12_from_a_mirror(
    tmp_path: Path, shared_data: Callable[[str], Path], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole way with the real table: what was fetched is the dataset that the format reads."""
    from qe.data.check import check

    monkeypatch.undo()
    folder = shared_data("wmt12-qe")
    for download in public.dataset("wmt12-qe").downloads:
        contents = {Path(file).name: (folder / file).read_bytes() for _, file in download.files}
        packed = archive(contents) if download.url.endswith(".gz") else next(iter(contents.values()))
        server.files[f"/{download.url}"] = packed
    written, _ = fetch("wmt12-qe", tmp_path / "wmt12", base_url=server.url)
    assert len(written) == 11
    assert check(tmp_path / "wmt12").splits["train"].segments == 1832
