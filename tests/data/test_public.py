"""Fetching public datasets, from a server of our own on loopback."""

import hashlib
import http.server
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from qe.data import public
from qe.data.format import make_format
from qe.data.public import Download, PublicDataset, fetch
from tests.factories import Find, refuses

CONTENT = {"a.txt": b"one\n", "deep/b.txt": b"two\n" * 50_000}


def checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def archive(files: dict[str, bytes]) -> bytes:
    # Names in archives are not trusted.
    return packed({f"../../somewhere/{name}": content for name, content in files.items()})


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
        monkeypatch.setattr(public, "dataset", lambda name, pairs=(): known)
        yield state
        listening.shutdown()


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_files_land_verified_and_nothing_else(server: Server, tmp_path: Path) -> None:
    written, kept = fetch("any", tmp_path / "set", base_url=server.url)
    assert len(written) == 3 and kept == []
    assert names(tmp_path) == ["set/a.txt", "set/deep/b.txt", "set/features/plain.tsv", "set/origin.json"]
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
    refuses(r"plain\.tsv: is there, .*'any'.*move", fetch, "any", tmp_path, base_url=server.url)
    assert names(tmp_path) == ["features/plain.tsv"] and changed.read_text() == "changed"
    assert server.requests == []


@pytest.mark.parametrize("ranges", [True, False])
def test_a_cut_off_download_goes_on(server: Server, tmp_path: Path, ranges: bool) -> None:
    server.cut, server.ranges = 100, ranges
    refuses(r"set\.tar\.gz: .*continues the download", fetch, "any", tmp_path, base_url=server.url)
    assert all(name.startswith(".download/") for name in names(tmp_path))
    server.cut = None
    fetch("any", tmp_path, base_url=server.url)
    assert names(tmp_path) == ["a.txt", "deep/b.txt", "features/plain.tsv", "origin.json"]
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
    refuses(r"checksum for a\.txt", fetch, "any", tmp_path, base_url=server.url)
    assert not (tmp_path / "a.txt").exists()
    server.files["/x/set.tar.gz"] = b"not an archive at all"
    (tmp_path / "deep/b.txt").unlink()
    refuses("damaged archive", fetch, "any", tmp_path, base_url=server.url)
    assert names(tmp_path) == []


def test_server_errors(server: Server, tmp_path: Path) -> None:
    del server.files["/x/set.tar.gz"]
    refuses(r"/x/set\.tar\.gz: .*404", fetch, "any", tmp_path, base_url=server.url)
    refuses("http:// or https://", fetch, "any", tmp_path, base_url="file:///etc")
    refuses("cannot be downloaded", fetch, "any", tmp_path, base_url="http://127.0.0.1:1")


def test_the_tables_name_the_shared_files(shared_data: Find) -> None:
    """Every checksum of the two public datasets is that of the shared file."""
    for name in ("wmt12-qe", "mlqe-pe"):
        folder = shared_data(name)
        files = [pair for download in public.dataset(name).downloads for pair in download.files]
        assert len(files) == {"wmt12-qe": 11, "mlqe-pe": 44}[name]
        for sum_, file in files:
            assert checksum((folder / file).read_bytes()) == sum_


def test_fetching_wmt12_from_a_mirror(
    tmp_path: Path, shared_data: Find, server: Server, monkeypatch: pytest.MonkeyPatch
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


def packed(files: dict[str, bytes]) -> bytes:
    """An archive as it is published: everything in one folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as members:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            members.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


DA = "index\toriginal\ttranslation\tscores\tmean\tz_scores\tz_mean\tmodel_scores\n"


def da_rows(count: int) -> bytes:
    lines = (
        f"{i}\tIt rains {i}.\tSajab {i}.\t[{40 + i}, 60]\t50.0\t[-1.5, 0.5]\t{-i / 9}\t-0.5\n"
        for i in range(count)
    )
    return (DA + "".join(lines)).encode()


@pytest.fixture
def other_pair(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """MLQE-PE's et-en, whose checksums nobody has published, under the addresses of the real table."""
    monkeypatch.undo()
    files: dict[str, dict[str, bytes]] = {
        "direct-assessments": {"df.short.tsv": da_rows(20), "doc_ids": b"doc_id\n" + b"a\n" * 20},
        "post-editing": {name: b"x y\n" * 20 for name in ("src", "mt", "pe")} | {"hter": b"0.5\n" * 20},
    }
    for download in public.dataset("mlqe-pe", ["et-en"]).downloads:
        kind, split = download.into.split("/")[1:]
        names_ = {"df.short.tsv": f"{split}.eten.df.short.tsv"}
        server.files[f"/{download.url}"] = packed(
            {f"et-en-{split}/{names_.get(n, f'{split}.{n}')}": c for n, c in files[kind].items()}
        )
    return server


def test_what_nobody_published_a_checksum_of_is_recorded(other_pair: Server, tmp_path: Path) -> None:
    from qe.data.check import check

    written, kept = fetch("mlqe-pe", tmp_path, pairs=["et-en"], base_url=other_pair.url)
    assert len(written) == 12 and kept == []
    assert "et-en/direct-assessments/train/train.eten.df.short.tsv" in names(tmp_path)
    report = check(tmp_path, None, {"pair": "et-en"})
    assert report.format == "mlqe_pe" and report.splits["train"].segments == 20
    other_pair.requests.clear()
    assert len(fetch("mlqe-pe", tmp_path, pairs=["et-en"], base_url=other_pair.url)[1]) == 12
    assert other_pair.requests == []
    lost = tmp_path / "et-en/post-editing/dev/dev.hter"
    lost.unlink()
    url = public.dataset("mlqe-pe", ["et-en"]).downloads[-1].url
    other_pair.files[f"/{url}"] = packed({"et-en-dev/dev.hter": b"0.9\n" * 20})
    options: dict[str, Any] = {"pairs": ["et-en"], "base_url": other_pair.url}
    refuses("checksum for et-en/post-editing/dev", fetch, "mlqe-pe", tmp_path, **options)
    assert not lost.exists()


def test_an_archive_writes_nowhere_else(other_pair: Server, tmp_path: Path) -> None:
    url = public.dataset("mlqe-pe", ["et-en"]).downloads[0].url
    other_pair.files[f"/{url}"] = packed({"et-en-train/../../../../out": b"x"})
    options: dict[str, Any] = {"pairs": ["et-en"], "base_url": other_pair.url}
    refuses("damaged archive .*outside", fetch, "mlqe-pe", tmp_path / "set", **options)
    assert names(tmp_path) == []


def test_test21_lands_beside_the_pair_where_the_format_reads_it(
    other_pair: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {"src": "Sajab.", "mt": "It rains.", "tok.src": "Sajab .", "tok.mt": "It rains ."}
    for download in public.dataset("mlqe-pe-test21", ["et-en"]).downloads:
        packed_texts = {f"et-en-test21/test21.{end}": f"{text}\n".encode() for end, text in texts.items()}
        other_pair.files[f"/{download.url}"] = packed(packed_texts)
    fetch("mlqe-pe", tmp_path, pairs=["et-en"], base_url=other_pair.url)
    fetch("mlqe-pe-test21", tmp_path, pairs=["et-en"], base_url=other_pair.url)
    test21 = make_format("mlqe_pe", {"pair": "et-en"}).read(tmp_path).splits["test21"]
    assert test21.segments.source == ("Sajab.",) and test21.scores is None


MQM = b"system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n"
MQM += b"A\tn\t1\t1\tr\ta b\tc <v>d</v>\tAccuracy\tMajor\n"
ERRORS = "".join(
    f"{i}\tIt rains {i}.\tPrší {i}.\t[{i % 2}, 0, 1]\t{('NOT', 'ERR')[i % 2]}\n" for i in range(8)
)
# Files of task 1 of 2019 and task 2 of 2020: two words and three gaps per segment.
HTER = {
    "src": b"x y\n", "mt": b"u v\n", "pe": b"u w\n", "hter": b"0.5\n", "tags": b"OK OK OK BAD OK\n",
    "source_tags": b"OK BAD\n", "src-mt.alignments": b"0-0 1-1\n",
}  # fmt: skip


def post_edits(outer: str) -> bytes:
    """One archive has its splits at the top, the other in a folder of the pair."""
    splits = ("train", "dev")
    return packed({f"{outer}{s}/{s}.{end}": 12 * line for s in splits for end, line in HTER.items()})


# Name -> pair, what is served, where the format reads, the format and its keys, segments of each split.
PUBLISHED: dict[str, tuple[str, bytes, str, str, dict[str, Any], dict[str, int]]] = {
    "wmt-mqm": ("en-de", MQM, "generalMT2022/ende/mqm_generalMT2022_ende.tsv", "mqm",
                {"source_language": "en", "target_language": "de"}, {"train": 1}),
    "wmt21-qe": ("en-cs", ERRORS.encode(), ".", "catastrophic_errors",
                 {"pair": "en-cs"}, {"train": 8, "dev": 8}),
    "wmt19-qe": ("en-ru", post_edits(""), "en-ru", "wmt_qe",
                 {"source_language": "en", "target_language": "ru"}, {"train": 12, "dev": 12}),
    "wmt20-qe": ("en-zh", post_edits("en-zh/"), "en-zh", "wmt_qe",
                 {"source_language": "en", "target_language": "zh"}, {"train": 12, "dev": 12}),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_lands_is_where_its_format_reads_it(
    name: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qe.data.check import check

    monkeypatch.undo()
    pair, content, place, kind, keys, sizes = PUBLISHED[name]
    for download in public.dataset(name, [pair]).downloads:
        server.files[f"/{download.url}"] = content
    fetch(name, tmp_path, pairs=[pair], base_url=server.url)
    report = check(tmp_path / place, None if kind != "mqm" else kind, keys)
    assert report.format == kind and not report.unreadable
    assert {split: report.splits[split].segments for split in sizes} == sizes
    assert public.terms_of(tmp_path / place).startswith(f"{name}: ")
    assert public.terms_of(Path("/")) == ""


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as members:
        for name, content in files.items():
            members.writestr(name, content)
    return buffer.getvalue()


def test_zips_of_2022_land_whole_and_damaged_ones_not_at_all(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    downloads = public.dataset("wmt22-qe", ["en-mr"]).downloads
    for download in downloads:
        files = {"en-mr-dev/dev.src": b"a\n", "en-mr-dev/dev.mt": b"b\n", "__MACOSX/en-mr-dev/._dev.mt": b"x"}
        server.files[f"/{download.url}"] = zipped(files)
    fetch("wmt22-qe", tmp_path / "a", pairs=["en-mr"], base_url=server.url)
    kinds = ("direct-assessments", "post-editing")
    assert names(tmp_path / "a") == [
        *(f"en-mr/{k}/dev/dev.{s}" for k in kinds for s in ("mt", "src")),
        "origin.json",
    ]
    whole = server.files[f"/{downloads[0].url}"]
    for broken in (
        whole[:-30],
        b"not an archive",
        zipped({"d/../../../../out": b"x"}),
        whole.replace(b"a\n", b"c\n"),
    ):
        server.files[f"/{downloads[0].url}"] = broken
        refuses("damaged archive", fetch, "wmt22-qe", tmp_path / "b", pairs=["en-mr"], base_url=server.url)
    assert names(tmp_path) == [f"a/{name}" for name in names(tmp_path / "a")]


@pytest.mark.parametrize("name", public.catalogue())
def test_every_pair_of_every_dataset_has_addresses_and_terms(name: str) -> None:
    for pair in public.catalogue()[name]["pairs"]:
        known = public.dataset(name, [pair])
        urls = [download.url for download in known.downloads]
        assert urls and len({*urls}) == len(urls) and known.terms and known.source
        inputs = ("newstest", "data/test21/", "wmt-qe-2024-data/")
        of_tests = [url for url in urls if "test" in url and "wmt12" not in name]
        assert all(any(part in url for part in inputs) for url in of_tests)
        assert not any("goldlabels" in url for url in urls)


def test_the_terms_of_the_data_are_in_the_card(demo_model: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    from qe.models.card import Card
    from qe.models.model import Model

    model = Model.load(demo_model)
    assert "terms of the data" not in Card(model).text()
    about = {**model.about, "data": {**model.about["data"], "terms": ["mlqe-pe: CC0 1.0 (x)"]}}
    assert "| terms of the data | mlqe-pe: CC0 1.0 (x) |" in Card(replace(model, about=about)).text()
