"""`qe data`: output and exit codes."""

import json
from pathlib import Path

import pytest

from qe.data.format import FORMATS
from tests.factories import Capsys, Find, Monkeypatch, exit_code, ran

TABLE = ["--set", "source_language=en", "--set", "target_language=es", "--set", "columns.scores=score"]
TABLE += ["--set", "label.name=effort", "--set", "label.higher_is_better=true", "--set", "label.low=1"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "a.tsv"
    path.write_text("source\ttarget\tscore\nred house\tcasa roja\t3\nx\ty\t2\n")
    return path


def test_sound_data(shared_data: Find, monkeypatch: Monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    out = ran("data", "check", shared_data("wmt12-qe")).out
    for expected in (
        "wmt12-qe (format wmt12), label effort [1, 5], higher is better",
        "mean 3.446, sd 0.875, median 3.5 in [1.3, 5]",
        "judges of train: Pearson above the diagonal, quadratic kappa below",
        "note: training_set/source.eng: 852 lines with trailing blanks (removed)",
        "no defects",
    ):
        assert expected in out


def test_json(shared_data: Find) -> None:
    path = shared_data("mlqe-pe")
    report = json.loads(
        ran("data", "check", path, "--set", "pair=ro-en", "--set", "label=hter", "--json").out
    )
    assert report["splits"]["dev"]["labels"]["mean"] == pytest.approx(0.195, abs=6e-4)
    assert report["label"] == {
        "name": "hter",
        "low": 0,
        "high": 1,
        "higher_is_better": False,
        "classes": None,
    }
    assert report["splits"]["test20"]["labels"] is None and report["overlaps"]["dev in train"]["source"] == 1


def test_defects_are_exit_code_1(table: Path) -> None:
    assert exit_code("data", "check", table, *TABLE) == 0
    table.write_text("source\ttarget\tscore\nred [b]house[/b]\tcasa roja\t0\nx\t\t2\n")
    out = ran("data", "check", table, *TABLE, code=1).out
    assert "a.tsv:2: the label 'effort' is 0, off the declared scale [1, inf]" in out
    assert "train: 1 segments have an empty target (first: train-2)" in out and "2 defects" in out


def test_unreadable_data_is_exit_code_2(table: Path, capsys: Capsys) -> None:
    table.write_bytes(b"source\ttarget\tscore\n\x81\tb\t1\n")
    assert exit_code("data", "check", table, *TABLE) == 2
    printed = capsys.readouterr()
    assert "a.tsv:2: not UTF-8" in printed.err and "Traceback" not in printed.err
    assert (
        "not UTF-8" in json.loads(ran("data", "check", table, *TABLE, "--json", code=2).out)["unreadable"][0]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--format", "tabel"],
            f"unknown format 'tabel'; known: {', '.join(FORMATS.names)}; did you mean 'table'?",
        ),
        ([], "the format 'table' needs the key 'label'"),
        ([*TABLE, "--set", "quoted=true"], "the format 'table' has no key 'quoted'"),
        ([*TABLE, "--set", "quoting"], "--set: expected key=value, but got 'quoting'"),
    ],
)
def test_bad_settings_are_exit_code_2(table: Path, arguments: list[str], message: str) -> None:
    assert message in ran("data", "check", table, *arguments, code=2).err


def test_the_dataset_of_an_experiment(table: Path) -> None:
    experiment = table.with_name("e.yaml")
    experiment.write_text(
        "name: e\n"
        "dataset: {format: table, path: a.tsv, source_language: en, target_language: es,\n"
        "  columns: {scores: score}, label: {name: effort, low: 1, high: 5, higher_is_better: true}}\n"
        "features: [surface]\nlearner: {kind: ridge}\n"
    )
    assert json.loads(ran("data", "check", experiment, "--json").out)["splits"]["train"]["segments"] == 2


def test_fetch_names_the_known_datasets(tmp_path: Path) -> None:
    assert (
        "unknown public dataset 'wmt13'; known: wmt12-qe, mlqe-pe"
        in ran("data", "fetch", "wmt13", "--output", tmp_path / "x", code=2).err
    )
    assert not (tmp_path / "x").exists()


def test_fetch_without_a_server(tmp_path: Path, capsys: Capsys) -> None:
    assert (
        exit_code("data", "fetch", "wmt12-qe", "--output", tmp_path / "x", "--base-url", "http://127.0.0.1:1")
        == 2
    )
    assert "run the command again: it continues the download" in capsys.readouterr().err
