"""Batch scoring: every row comes back, in order; killed jobs go on to the same bytes."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qe.data.table_rows import read_rows
from qe.models.model import Model
from tests.factories import refuses, score_file
from tests.patience import PATIENCE


@pytest.fixture(scope="session")
def rows(demo_model: Path) -> list[dict[str, str]]:
    """The demo's new translations."""
    path = demo_model.parent / "data" / "new.tsv"
    return [columns for columns, _ in read_rows(path)]


def write_tsv(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text(
        "id\tsource\ttarget\n" + "".join(f"{r['id']}\t{r['source']}\t{r['target']}\n" for r in rows)
    )
    return path


@pytest.mark.capability
def test_one_row_out_for_every_row_in(demo_model: Path, rows: list[dict[str, str]], tmp_path: Path) -> None:
    path = write_tsv(tmp_path / "in.tsv", [*rows[:40], {"id": "e", "source": "a b", "target": "  "}])
    with path.open("a") as stream:
        stream.write("broken\n")
    summary = score_file(demo_model, [path], tmp_path / "out.tsv", chunk=7, workers=1)
    out = pd.read_csv(tmp_path / "out.tsv", sep="\t", keep_default_na=False)
    assert (summary.rows, summary.scored) == (42, 40)
    assert out["id"].tolist() == [r["id"] for r in rows[:40]] + ["e", "broken"]
    assert out["reason"].tolist()[-2:] == ["empty target", "1 fields where the header has 3"]
    assert out["score"].tolist()[-2:] == ["", ""]
    expected = Model.load(demo_model)
    segments = expected.segments({k: [r[k] for r in rows[:40]] for k in ("source", "target")})
    assert np.array_equal(out["score"][:40].astype(float), expected.predict(segments))
    assert not (tmp_path / "out.tsv.partial").exists()


def test_a_job_of_one_chunk_starts_no_process(
    demo_model: Path, rows: list[dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process is started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    path = write_tsv(tmp_path / "in.tsv", rows[:30])
    assert score_file(demo_model, [path], tmp_path / "out.tsv", chunk=30, workers=2).scored == 30
    with pytest.raises(AssertionError, match="a process is started"):
        score_file(demo_model, [path], tmp_path / "two.tsv", chunk=29, workers=2)


@pytest.mark.capability
def test_a_killed_job_goes_on_to_the_same_bytes(
    demo_model: Path, rows: list[dict[str, str]], tmp_path: Path
) -> None:
    path = write_tsv(tmp_path / "in.tsv", rows * 10)
    score_file(demo_model, [path], tmp_path / "whole.tsv", chunk=200, workers=1)
    output = tmp_path / "out.tsv"
    command = [sys.executable, "-m", "qe", "score", "--model", str(demo_model), "--input", str(path)]
    command += ["--output", str(output), "--chunk", "200", "--workers", "1"]
    process = subprocess.Popen(command, start_new_session=True)
    partial = tmp_path / "out.tsv.partial"
    deadline = time.monotonic() + PATIENCE
    while len(list(partial.glob("*.piece"))) < 3 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not output.exists() and len(list(partial.glob("*.piece"))) >= 3
    refuses("unfinished job; use --resume", score_file, demo_model, [path], output, chunk=200, workers=1)
    summary = score_file(demo_model, [path], output, chunk=200, workers=1, resume=True)
    assert summary.resumed_chunks >= 3
    assert output.read_bytes() == (tmp_path / "whole.tsv").read_bytes()


def test_a_full_disk_leaves_the_chunks_and_no_half_of_the_output(
    demo_model: Path, rows: list[dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def full(path: Path, *_: object, **__: object) -> Iterator[Callable[[bytes], None]]:
        path.write_bytes(b"half")
        yield lambda _: None
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = write_tsv(tmp_path / "in.tsv", rows[:9])
    with monkeypatch.context() as patched:
        patched.setattr("qe.scoring.jobs.table_writer", full)
        refuses("No space .* finished chunks are kept", score_file, demo_model, [path], tmp_path / "out.tsv")
    assert {file.name for file in (tmp_path / "out.tsv.partial").iterdir()} == {
        "job.json", "000000000.json", "000000000.piece",
    }  # fmt: skip
    assert score_file(demo_model, [path], tmp_path / "out.tsv", resume=True).scored == 9


def test_memory_does_not_grow_with_the_input(
    demo_model: Path, rows: list[dict[str, str]], tmp_path: Path
) -> None:
    script = (
        "import resource, sys; from pathlib import Path; from qe.scoring.jobs import score_file;"
        "from qe.scoring.settings import JobSettings; settings = JobSettings(workers=1, chunk=2000);"
        "score_file(Path(sys.argv[1]), [Path(sys.argv[2])], Path(sys.argv[3]), settings);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = []
    for copies in (2, 20):
        path = write_tsv(tmp_path / f"{copies}.tsv", rows * copies)
        out = tmp_path / f"{copies}.out.tsv"
        command = [sys.executable, "-c", script, str(demo_model), str(path), str(out)]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert peaks[1] < peaks[0] + 60_000  # kilobytes; the larger input alone is 36,000 rows more
