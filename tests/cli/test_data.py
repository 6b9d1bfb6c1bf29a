"""`qe data`: output and exit codes."""

import json
from pathlib import Path

import pytest

from tests.factories import Find, exit_code, ran

TABLE = ["--set", "source_language=en", "--set", "target_language=es", "--set", "columns.scores=score"]
TABLE += ["--set", "label.name=effort", "--set", "label.higher_is_better=true", "--set", "label.low=1"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "a.tsv"
    path.write_text("source\ttarget\tscore\nred house\tcasa roja\t3\nx\ty\t2\n")
    return path


def test_json(shared_data: Find) -> None:
    path = shared_data("mlqe-pe")
    given = ("data", "check", path, "--set", "pair=ro-en", "--set", "label=hter")
    report = json.loads(ran(*given, "--json").out)
    assert report["splits"]["dev"]["labels"]["mean"] == pytest.approx(0.195, abs=6e-4)
    assert (report["label"]["low"], report["label"]["high"]) == (0, 1)
    assert report["label"]["higher_is_better"] is False
    assert report["splits"]["test20"]["labels"] is None and report["overlaps"]["dev in train"]["source"] == 1
    assert "0.195" in ran(*given).out


def test_defects_are_exit_code_1(table: Path) -> None:
    assert exit_code("data", "check", table, *TABLE) == 0
    table.write_text("source\ttarget\tscore\nred [b]house[/b]\tcasa roja\t0\nx\t\t2\n")
    out = ran("data", "check", table, *TABLE, code=1).out
    assert "a.tsv:2: the label 'effort' is 0" in out and "first: train-2" in out and "2 defects" in out


def test_unreadable_data_is_exit_code_2(table: Path) -> None:
    table.write_bytes(b"source\ttarget\tscore\n\x81\tb\t1\n")
    assert "a.tsv:2: not UTF-8" in ran("data", "check", table, *TABLE, code=2).err
    report = json.loads(ran("data", "check", table, *TABLE, "--json", code=2).out)
    assert "not UTF-8" in report["unreadable"][0]
    ran("data", "check", table, *TABLE, "--set", "quoting", code=2)


def test_the_dataset_of_an_experiment(table: Path) -> None:
    experiment = table.with_name("e.yaml")
    experiment.write_text(
        "name: e\n"
        "dataset: {format: table, path: a.tsv, source_language: en, target_language: es,\n"
        "  columns: {scores: score}, label: {name: effort, low: 1, high: 5, higher_is_better: true}}\n"
        "features: [surface]\nlearner: {kind: ridge}\n"
    )
    assert json.loads(ran("data", "check", experiment, "--json").out)["splits"]["train"]["segments"] == 2
