"""Outputs that are there already: the same job does nothing, another one is refused, `overwrite` replaces."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from qe.scoring.job_summary import ScoredFile
from qe.scoring.jobs import FinishedOutput
from qe.scoring.scorer import Options
from tests.factories import Monkeypatch, refuses, score_file


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    """What is remembered lies in a folder of the test's."""
    monkeypatch.setenv("QE_CACHE_DIR", str(tmp_path / "cache"))


def finished(path: Path, fingerprint: str = "a") -> FinishedOutput:
    return FinishedOutput(path, fingerprint)


def test_what_made_an_output_is_known_while_nothing_changes_it(tmp_path: Path) -> None:
    path, done = tmp_path / "scores.tsv", ScoredFile(1, 1, {})
    assert finished(path).result(overwrite=False) is None
    path.write_text("1\n")
    refuses(r"scores\.tsv: .*there already; .*--overwrite", finished(path).result, overwrite=False)
    assert finished(path).with_result(done) == done
    assert finished(path).result(overwrite=False) == replace(done, unchanged=True)
    assert finished(path).result(overwrite=True) is None
    refuses("scores of another model", finished(path, "b").result, overwrite=False)
    path.write_text("1\n2\n")
    refuses("is there already", finished(path).result, overwrite=False)


TABLE = "source\ttarget\nZdand dro leyn\tNawanw nisê yêtatê\nA\t\n"
CHANGES: dict[str, dict[str, Any]] = {
    "an option": {"options": Options(interval=0.9)},
    "a column": {"columns": {"source": "target", "target": "source"}},
    "columns that stay": {"keep": True},
}


@pytest.mark.parametrize("resume", [False, True])
def test_a_finished_job_does_nothing(demo_model: Path, tmp_path: Path, resume: bool) -> None:
    path, output = tmp_path / "in.tsv", tmp_path / "out.tsv"
    path.write_text(TABLE, "utf-8")
    first = score_file(demo_model, [path], output, workers=1)
    before = output.stat()
    again = score_file(demo_model, [path], output, workers=2, chunk=1, resume=resume)
    assert output.stat() == before and again.unchanged and not first.unchanged
    assert {**asdict(again), "unchanged": False, "reasons": 0} == {**asdict(first), "reasons": 0}
    assert dict(first.reasons) == dict(again.reasons) == {"empty target": 1}
    for change in CHANGES.values():
        refuses("scores of another model", score_file, demo_model, [path], output, resume=resume, **change)
    path.write_text(TABLE + "B\tC\n", "utf-8")
    refuses("holds scores of another", score_file, demo_model, [path], output, resume=resume)
    assert output.stat() == before
    assert score_file(demo_model, [path], output, overwrite=True).rows == 3
