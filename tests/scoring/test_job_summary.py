"""Which model made the scores, of what, and when a job that ended has failed."""

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy
import pyarrow.parquet as pq
import pytest

from qe.scoring.job_summary import Condition, failures, summary_of
from tests.factories import Done, costs_file, exit_code, ran, refuses


@pytest.fixture
def rows(demo_model: Path, tmp_path: Path) -> Path:
    """Twenty rows of the demo, and five without a translation."""
    header, *lines = (demo_model.parent / "data" / "new.tsv").read_text("utf-8").splitlines()[:21]
    assert header.split("\t")[:3] == ["id", "source", "target"]
    empty = [f"e{i}\tthe house\t" for i in range(5)]
    (tmp_path / "rows.tsv").write_text("\n".join([header, *lines, *empty]) + "\n", "utf-8")
    return tmp_path / "rows.tsv"


def ended(*arguments: str | Path, code: int = 0) -> Done:
    return ran("score", *arguments, "--quiet", code=code)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_summary_names_the_model_and_what_was_done(demo_model: Path, rows: Path, tmp_path: Path) -> None:
    output, summary = tmp_path / "scores.tsv", tmp_path / "scores.json"
    given = ["--model", demo_model, "--input", rows, "--output", output, "--summary", summary]
    ended(*given, "--interval", "0.9", "--fail-if", "unscored>5")
    told: dict[str, Any] = json.loads(summary.read_text("utf-8"))
    about = json.loads((demo_model / "model.json").read_text("utf-8"))
    assert told["model"] == {
        "named": str(demo_model), "name": about["name"], "registered": None, "version": None,
        "fingerprint": sha256(demo_model / "model.json"), "signed_by": None,
    }  # fmt: skip
    assert told["inputs"] == [{"path": str(rows), "bytes": rows.stat().st_size, "sha256": sha256(rows)}]
    assert told["output"] == {"path": str(output), "sha256": sha256(output)}
    assert (told["rows"], told["scored"], sum(told["reasons"].values())) == (25, 20, 5)
    assert told["options"]["interval"] == 0.9 and told["options"]["fail-if"] == ["unscored>5"]
    assert told["packages"]["numpy"] == numpy.__version__ and told["drift"]["n"] == 20
    assert datetime.fromisoformat(told["begun"]) <= datetime.fromisoformat(told["ended"])
    assert told["schema"] == 1


def test_a_report_is_of_these_scores_and_of_this_model(demo_model: Path, rows: Path, tmp_path: Path) -> None:
    output, summary, page = tmp_path / "scores.tsv", tmp_path / "scores.json", tmp_path / "page.html"
    ended("--model", demo_model, "--input", rows, "--output", output, "--summary", summary)
    exit_code("report", output, "--model", demo_model, "--summary", summary, "-o", page)
    told = json.loads(summary.read_text("utf-8"))
    text = page.read_text("utf-8")
    assert f"Scored {told['begun']} by fingerprint {told['model']['fingerprint'][:12]}." in text
    assert "Not measured" not in text and "Features that differ most" in text  # drift is the summary's
    identity = told["model"]["fingerprint"]
    refuses(f"another model: .*, fingerprint {identity[:12]}", summary_of, summary, output, "0" * 64)
    refuses("summary of other scores", summary_of, summary, rows, identity)
    head = '{"kind": "scoring job", "schema": '
    for content in ("{}", '{"kind": "x"}', "[]", "{", head + "2}", head + '1, "model": 3}'):
        summary.write_text(content)
        refuses("summary", summary_of, summary, output, identity)


def told(path: Path) -> dict[str, Any]:
    """The JSON of a file."""
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return content


def test_the_summary_lies_beside_the_output(demo_model: Path, rows: Path, tmp_path: Path) -> None:
    output, place = tmp_path / "scores.tsv", tmp_path / "scores.tsv.json"
    given = ["--model", demo_model, "--input", rows, "--output", output]
    ended(*given, "--no-summary")
    assert not place.exists()
    ended(*given, "--summary", tmp_path / "other.json")
    assert not place.exists()
    assert told(tmp_path / "other.json")["unchanged"]
    ended(*given, "--overwrite")
    assert told(place)["output"]["sha256"] == sha256(output)
    before = place.read_bytes()
    ended(*given)
    assert place.read_bytes() == before  # nothing was to do


def test_a_parquet_file_names_its_model(demo_model: Path, rows: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    given = ["--model", demo_model, "--input", rows, "--no-summary", "--with-model"]
    ended(*given, "--output", first)
    ended(*given, "--output", second, "--workers", "1", "--chunk", "7", "--no-cache")
    own = [json.loads(pq.read_schema(path).metadata[b"qe"]) for path in (first, second)]
    assert own[0] == own[1]
    identity = sha256(demo_model / "model.json")
    assert own[0]["model"]["fingerprint"] == identity and own[0]["packages"]["numpy"] == numpy.__version__
    assert own[0]["inputs"] == [{"bytes": rows.stat().st_size, "sha256": sha256(rows)}]
    assert own[0]["rows"] == 25 and own[0]["reasons"] == {"empty target": 5}
    table = pq.read_table(first).to_pydict()
    assert table["model"] == [f"{own[0]['model']['name']} {identity[:12]}"] * 20 + [None] * 5
    ended("--model", demo_model, "--input", rows, "--output", first, "--overwrite", "--outside")


def test_scores_of_another_model_are_refused(demo_model: Path, rows: Path, tmp_path: Path) -> None:
    output, place = tmp_path / "scores.tsv", tmp_path / "scores.tsv.json"
    ended("--model", demo_model, "--input", rows, "--output", output)
    page = ["report", str(output), "--model", str(demo_model)]
    ran(*page)
    assert f"Scored {told(place)['begun']} by fingerprint" in output.with_suffix(".html").read_text("utf-8")
    (tmp_path / "gold.tsv").write_text("score\n" + "3\n" * 25, "utf-8")
    costs_file(tmp_path)
    find = ["triage", "--gold", str(tmp_path / "gold.tsv"), "--predictions", str(output)]
    find += ["--costs", str(tmp_path / "costs.yaml"), "--model", str(demo_model)]
    place.write_text(place.read_text("utf-8").replace(sha256(demo_model / "model.json"), "0" * 64), "utf-8")
    for command in ([*page, "--overwrite"], find):
        assert "was scored by another model: " in ran(*command, code=2).err
    output.write_text(output.read_text("utf-8") + "x\t1\t\n", "utf-8")
    assert "is the summary of other scores" in ran(*page, "--overwrite", code=2).err


def test_a_job_fails_by_its_conditions(demo_model: Path, rows: Path, tmp_path: Path) -> None:
    given = ["--model", demo_model, "--input", rows, "--output", tmp_path / "s.tsv"]
    assert (
        "failed: unscored>10%: 5 of 25 rows (20.0 %) have no score"
        in ended(*given, "--fail-if", "unscored>10%", code=1).err
    )
    assert (tmp_path / "s.tsv").exists()
    header, *lines = rows.read_text("utf-8").splitlines()
    rows.write_text("\n".join([header, *lines[20:]]) + "\n", "utf-8")
    assert "failed: none of 5 rows was scored" in ended(*given, "--overwrite", code=1).err


@pytest.mark.parametrize(
    ("text", "rows", "scored", "drift", "fails"),
    [
        ("unscored>1%", 100, 99, (), False),
        ("unscored>1%", 100, 98, (), True),
        ("unscored>0", 10, 9, (), True),
        ("unscored > 1", 10, 9, (), False),
        ("unscored>0.5%", 1000, 995, (), False),
        ("unscored>0.5%", 1000, 994, (), True),
        ("drift", 10, 10, ("features moved",), True),
        ("drift", 10, 10, (), False),
    ],
)
def test_conditions(text: str, rows: int, scored: int, drift: tuple[str, ...], fails: bool) -> None:
    told = list(failures([Condition.parsed(text)], rows, scored, drift))
    assert bool(told) == fails and all(sentence.startswith(text) for sentence in told)
