"""`--log json`: every line on stderr is an object; each stage has its counts and its time."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from qe.cli import main
from tests.factories import Capsys


def told(capsys: Capsys, *arguments: object, code: int = 0) -> list[dict[str, Any]]:
    """The objects on stderr of `qe score` that ends with this code."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(["score", *map(str, arguments), "--log", "json"])
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert end.value.code == code, lines
    assert all(datetime.fromisoformat(line["time"]).tzinfo is not None for line in lines)
    return lines


def test_a_job_in_lines_of_json(demo_model: Path, tmp_path: Path, capsys: Capsys) -> None:
    header, *lines = (demo_model.parent / "data" / "new.tsv").read_text("utf-8").splitlines()[:21]
    rows = tmp_path / "rows.tsv"
    rows.write_text("\n".join([header, *lines, "x\tthe house\t"]) + "\n", "utf-8")
    given = ("--model", demo_model, "-i", rows, "-o", tmp_path / "a.tsv", "--workers", 1)
    events = told(capsys, *given, "--quiet", "--fail-if", "unscored>0", code=1)
    assert [line["event"] for line in events if line["event"] not in ("note", "warning")] == [
        "begin", "stage", "stage", "end", "failed",
    ]  # fmt: skip
    begin, *stages = (line for line in events if line["event"] in ("begin", "stage"))
    assert len(begin["model"]["fingerprint"]) == 64 and begin["inputs"] == [str(rows)]
    assert [(line["stage"], line["done"], line["total"]) for line in stages] == [
        ("scoring (segments)", 21, 21), ("joining (segments)", 21, 21),
    ]  # fmt: skip
    end = next(line for line in events if line["event"] == "end")
    assert (end["rows"], end["scored"], end["reasons"]) == (21, 20, {"empty target": 1})
    assert end["seconds"] >= sum(line["seconds"] for line in stages) > 0
    assert events[-1]["message"] == "failed: unscored>0: 1 of 21 rows (4.8 %) have no score"


def test_mistakes_are_lines_of_json_too(demo_model: Path, tmp_path: Path, capsys: Capsys) -> None:
    given = ("--model", demo_model, "-o", tmp_path / "a.tsv", "-i")
    for arguments, message in (
        ((*given, tmp_path / "none.tsv"), "none.tsv: no such file"),
        ((*given, tmp_path / "none.tsv", "--chunk", "x"), "--chunk"),
        (given[:-1], "--input"),
    ):
        error = told(capsys, *arguments, code=2)
        assert [line["event"] for line in error][-1] == "error" and message in error[-1]["message"]
        assert error[-1]["exit"] == 2
