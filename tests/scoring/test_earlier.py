"""Scores of an earlier job are kept where the texts are the same, and the output is the same to the byte."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from qe.scoring import Options, Scorer
from tests.factories import exit_code, refuses, score_file


@pytest.fixture
def texts(demo_model: Path) -> list[str]:
    """Header and rows of the demo's new translations."""
    lines = (demo_model.parent / "data" / "new.tsv").read_text("utf-8").splitlines()
    return lines[:61]


def table(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def summary_at(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.with_name(f"{path.name}.json").read_text("utf-8"))
    return content


OPTIONS = {
    "tsv": ("--interval", "0.9", "--explain", "2", "--flags", "--outside"),
    "csv": ("--keep", "--suffix", "_qe", "--with-model"),
    "jsonl": ("--keep", "--explain", "1", "--interval", "0.8"),
    "parquet": ("--outside", "--flags", "--keep"),
    "tsv.gz": (),
}


@pytest.mark.parametrize(("kind", "options"), OPTIONS.items())
def test_the_output_is_the_same_to_the_byte(
    demo_model: Path,
    texts: list[str],
    tmp_path: Path,
    kind: str,
    options: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Forty rows are known, thirty are new, in another order; one has no translation."""
    header, *rows = texts
    first = table(tmp_path / "monday.tsv", [header, *rows[:40], "x\tthe house\t"])
    second = table(tmp_path / "tuesday.tsv", [header, *rows[60:19:-1], "x\tthe house\t", *rows[:20]])
    previous, plain, known = (tmp_path / f"{name}.{kind}" for name in ("previous", "plain", "known"))
    given = ["--model", demo_model, *options, "--workers", "1", "--chunk", "17"]
    assert exit_code("score", *given, "--input", first, "--output", previous) == 0
    assert exit_code("score", *given, "--input", second, "--output", plain) == 0
    computed: list[int] = []
    real = Scorer._computed

    def counted(self: Scorer, rows: Any) -> Any:
        computed.append(len(rows))
        return real(self, rows)

    monkeypatch.setattr(Scorer, "_computed", counted)
    capsys.readouterr()
    assert exit_code("score", *given, "--input", second, "--output", known, "--reuse-scores", previous) == 0
    assert known.read_bytes() == plain.read_bytes()
    there = {tuple(row.split("\t")[1:3]) for row in rows[:40]}
    kept = sum(tuple(row.split("\t")[1:3]) in there for row in rows)
    assert summary_at(known)["reused"] == kept and 40 <= kept < 60
    assert sum(computed) == len({tuple(row.split("\t")[1:3]) for row in rows[40:]} - there)
    assert f"  {kept} ({100 * kept / 60:.1f} %) reused the score of an earlier job" in capsys.readouterr().out
    assert summary_at(known)["drift"]["n"] == 60 - kept


def test_worker_processes_know_them_too(demo_model: Path, texts: list[str], tmp_path: Path) -> None:
    rows = table(tmp_path / "in.tsv", texts)
    previous, again = tmp_path / "a.tsv", tmp_path / "b.tsv"
    assert exit_code("score", "--model", demo_model, "-i", rows, "-o", previous) == 0
    done = score_file(demo_model, [rows], again, reuse_scores=previous, workers=2, chunk=20)
    assert done.reused == 60 and done.repeated == 0 and again.read_bytes() == previous.read_bytes()
    assert done.drift is None


@pytest.mark.parametrize("change", ["options", "model"])
def test_other_scores_are_not_kept_and_that_is_told(
    demo_model: Path, texts: list[str], tmp_path: Path, change: str
) -> None:
    rows, previous = table(tmp_path / "in.tsv", texts), tmp_path / "a.tsv"
    assert exit_code("score", "--model", demo_model, "-i", rows, "-o", previous) == 0
    if change == "model":
        content = summary_at(previous)
        content["model"]["fingerprint"] = "0" * 64
        (tmp_path / "a.tsv.json").write_text(json.dumps(content))
    options = Options(explain=1) if change == "options" else Options()
    done = score_file(
        demo_model, [rows], tmp_path / "b.tsv", reuse_scores=previous, options=options, workers=1
    )
    assert done.reused == 0 and done.scored == 60
    why = "other options" if change == "options" else "another model made them: .*, fingerprint 000000000000"
    assert len([note for note in done.notes if "no score of" in note]) == 1
    assert re.search(why, done.notes[-1])


def test_a_file_that_cannot_be_known_is_refused(demo_model: Path, texts: list[str], tmp_path: Path) -> None:
    rows, previous = table(tmp_path / "in.tsv", texts), tmp_path / "a.tsv"

    def score(place: str) -> None:
        refuses(place, score_file, demo_model, [rows], tmp_path / "b.tsv", reuse_scores=previous, workers=1)
        assert not list(tmp_path.glob("b.tsv*"))

    score("a.tsv: no such file")
    previous.write_text("id\tscore\treason\n1\t3\t\n")
    score("no record of the model")
    assert exit_code("score", "--model", demo_model, "-i", rows, "-o", previous, "--overwrite") == 0
    table(tmp_path / "in.tsv", texts[:30])
    score("no texts, and its input .*in.tsv .*; score into JSONL")
    previous.write_text(previous.read_text("utf-8") + "61\t3\t\n", "utf-8")
    score("summary of other scores")
    refuses("input too", score_file, demo_model, [rows], previous, reuse_scores=previous, overwrite=True)
