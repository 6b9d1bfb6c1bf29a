"""Many files as one, standard input and output, compressed tables: the scores of one plain table."""

import gzip
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from features.storage.files import read_lines
from qe.cli import main
from qe.data.writing import writing
from qe.scoring.input import files_of, open_all
from tests.factories import Capsys, Monkeypatch, refuses

HEADER = "id\tsource\ttarget"
ROWS = [f"{i}\tthe house {i}\tla casa {i}" for i in range(6)]


def write(path: Path, *rows: str, header: str = HEADER) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([header, *rows]) + "\n", "utf-8")
    return path


def zstd(path: Path, content: bytes) -> Path:
    """By the reference program, in two frames; else by Arrow's codec."""
    if shutil.which("zstd") is None:
        path.write_bytes(pa.compress(content, "zstd", asbytes=True))
        return path
    half = len(content) // 2
    frames = [
        subprocess.run(["zstd", "-q", "-c"], input=part, capture_output=True, check=True).stdout
        for part in (content[:half], content[half:])
    ]
    path.write_bytes(b"".join(frames))
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [row for row, _ in open_all([path]).rows()]


@pytest.mark.parametrize("name", ["day", "day/*.tsv*", "day/[ab].*"])
def test_files_are_read_one_after_the_other(tmp_path: Path, name: str, monkeypatch: Monkeypatch) -> None:
    write(tmp_path / "day" / "b.tsv", *ROWS[2:])
    plain = write(tmp_path / "a.tsv", *ROWS[:2])
    zstd(tmp_path / "day" / "a.tsv.zst", plain.read_bytes())
    for path in (Path(name), tmp_path / name):
        monkeypatch.chdir(tmp_path)
        given = open_all([path])
        assert [row["id"] for row, _ in given.rows()] == list("012345") and given.count() == 6
        assert [file.name for file in files_of([path])] == ["a.tsv.zst", "b.tsv"]
        assert given.notes[0] == "2 files"


@pytest.mark.parametrize("kind", ["parquet", "tsv", "tsv.zst", "jsonl"])
def test_no_more_than_one_of_many_files_is_open(kind: str, tmp_path: Path) -> None:
    """Memory and open files do not grow with the number of parts."""
    for number in range(30):
        path, row = tmp_path / f"{number:02d}.{kind}", {"source": f"the house {number}", "target": "la casa"}
        if kind == "parquet":
            pq.write_table(pa.Table.from_pylist([row]), path)
        elif kind == "jsonl":
            path.write_text(json.dumps(row) + "\n", "utf-8")
        elif kind == "tsv":
            write(path, "\t".join(row.values()), header="source\ttarget")
        else:
            zstd(path, ("source\ttarget\n" + "\t".join(row.values()) + "\n").encode())
    given, process = open_all([tmp_path]), psutil.Process()
    assert given.headers == ["source", "target"] and given.count() == 30 and list(given.types)
    held = [sum(Path(each.path).parent == tmp_path for each in process.open_files()) for _ in given.rows()]
    assert len(held) == 30 and max(held) <= 1


def test_marks_of_spark_are_no_tables(tmp_path: Path) -> None:
    write(tmp_path / "day" / "a.tsv", *ROWS)
    for name in ("_SUCCESS", ".a.tsv.crc"):
        (tmp_path / "day" / name).write_text("")
    assert len(rows_of(tmp_path / "day")) == 6


def test_damaged_zstd_is_told_with_its_line(tmp_path: Path) -> None:
    content = "".join(f"line {i * 7919 % 100_003}\n" for i in range(100_000)).encode()
    path = zstd(tmp_path / "a.tsv.zst", content)
    assert list(read_lines(path)) == content.decode().splitlines()
    path.write_bytes(path.read_bytes()[:-40])
    refuses(r"a\.tsv\.zst:\d+: damaged zstd file", list, read_lines(path))


def test_compressed_bytes_depend_on_the_content_alone(tmp_path: Path) -> None:
    content = bytes(range(256)) * 20_000
    for name, step in (("a.zst", 999), ("b.zst", 3 << 20)):
        with writing(tmp_path / name, tmp_path / name) as stream:
            for start in range(0, len(content), step):
                stream.write(content[start : start + step])
    assert (tmp_path / "a.zst").read_bytes() == (tmp_path / "b.zst").read_bytes()
    if shutil.which("zstd") is not None:
        done = subprocess.run(["zstd", "-dc", tmp_path / "a.zst"], capture_output=True, check=True)
        assert done.stdout == content


def score(monkeypatch: Monkeypatch, *arguments: object, stdin: bytes = b"") -> tuple[int, bytes]:
    """The exit code, and what went to standard output."""
    content = io.BytesIO()
    out = io.TextIOWrapper(content, "utf-8", write_through=True)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
    monkeypatch.setattr(sys, "stdout", out)
    with pytest.raises(SystemExit) as end:
        main(["score", *map(str, arguments), "--workers", "1"])
    return int(str(end.value.code)), content.getvalue()


def test_tables_through_pipes(
    demo_model: Path, tmp_path: Path, monkeypatch: Monkeypatch, capsys: Capsys
) -> None:
    lines = (demo_model.parent / "data" / "new.tsv").read_text("utf-8").splitlines()[:31]
    plain = write(tmp_path / "in.tsv", *lines[1:], header=lines[0])
    kinds = {}
    for kind in ("tsv", "jsonl", "csv", "parquet"):
        kinds[kind] = tmp_path / f"out.{kind}"
        assert (
            score(monkeypatch, "-m", demo_model, "-i", plain, "-o", kinds[kind], "--keep", "--suffix", 1)[0]
            == 0
        )
    before = {path.name for path in Path("/tmp").glob("qe-????????")}
    capsys.readouterr()
    for kind, path in kinds.items():
        for content in (path.read_bytes(), gzip.compress(path.read_bytes())):
            if kind == "parquet" and content[:2] == b"\x1f\x8b":
                continue
            given = ("-m", demo_model, "-i", "-", "-o", "-")
            code, piped = score(monkeypatch, *given, stdin=content)
            assert code == 0 and "30 of 30 rows scored: -" in capsys.readouterr().err
            output = tmp_path / f"again.{kind}"
            output.write_bytes(piped)
            scores = [row["score"] for row in rows_of(output)]
            assert scores == [row["score1"] for row in rows_of(path)]
    assert {path.name for path in Path("/tmp").glob("qe-????????")} == before
    summary = tmp_path / "s.json"
    assert score(monkeypatch, "-m", demo_model, "-i", "-", "-o", tmp_path / "x.tsv", "--summary", summary,
                 stdin=plain.read_bytes())[0] == 0  # fmt: skip
    told = json.loads(summary.read_text())
    assert told["inputs"][0]["path"] == "-" and told["output"]["path"] == str(tmp_path / "x.tsv")


@pytest.mark.parametrize("name", ["day", "day/*.parquet", "day/b*", "day/"])
def test_a_folder_and_a_pattern_are_scored_by_the_command(
    demo_model: Path, tmp_path: Path, monkeypatch: Monkeypatch, name: str
) -> None:
    lines = (demo_model.parent / "data" / "new.tsv").read_text("utf-8").splitlines()[:21]
    plain = write(tmp_path / "in.tsv", *lines[1:], header=lines[0])
    rows = rows_of(plain)
    (tmp_path / "day").mkdir()
    for start, file in ((0, "b1"), (10, "b2")):
        pq.write_table(pa.Table.from_pylist(rows[start : start + 10]), tmp_path / "day" / f"{file}.parquet")
    monkeypatch.chdir(tmp_path)
    assert score(monkeypatch, "-m", demo_model, "-i", plain, "-o", "plain.tsv")[0] == 0
    assert (
        score(monkeypatch, "-m", demo_model, "-i", name, "-o", "out.tsv.zst", "--known", "plain.tsv")[0] == 0
    )
    told = json.loads(Path("out.tsv.zst.json").read_text("utf-8"))
    assert told["reused"] == 20 and len(told["inputs"]) == 2
    assert rows_of(Path("out.tsv.zst")) == rows_of(Path("plain.tsv"))


@pytest.mark.parametrize("more", [["-o", "day/out.tsv"], ["-o", "out.tsv", "--summary", "day/told.tsv"]])
def test_what_a_pattern_would_find_the_next_time_is_no_output(
    demo_model: Path, tmp_path: Path, monkeypatch: Monkeypatch, capsys: Capsys, more: list[str]
) -> None:
    write(tmp_path / "day" / "a.tsv", *ROWS)
    monkeypatch.chdir(tmp_path)
    assert score(monkeypatch, "-m", demo_model, "-i", "day/*", *more)[0] == 2
    assert "would be an input the next time: day/* finds it" in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["day", "a.tsv"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["-i", "-", "-o", "-"], b"", "stdin: is empty"),
        (["-i", "-", "-o", "-", "--resume"], b"a\tb\n", "--resume cannot be combined with -"),
        (["-i", "-", "-i", "-", "-o", "-"], b"a\tb\n", "standard input is one table"),
        (["-i", "-", "-o", "-", "--json"], b"a\tb\n", "both write to stdout"),
    ],
)
def test_pipes_that_cannot_be(
    arguments: list[str],
    stdin: bytes,
    message: str,
    demo_model: Path,
    monkeypatch: Monkeypatch,
    capsys: Capsys,
) -> None:  # fmt: skip
    assert score(monkeypatch, "-m", demo_model, *arguments, stdin=stdin) == (2, b"")
    assert message in capsys.readouterr().err
