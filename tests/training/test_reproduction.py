"""`qe reproduce`: the figures of a run come back, and what differs is told."""

import json
from pathlib import Path
from typing import Any

import mlflow
import pytest

from features.storage.files import atomic_file
from qe.config import experiment
from qe.config.experiment import of_settings
from qe.getting_started.demo.run import EXPERIMENT
from qe.training.check import check
from qe.training.reproduction import compared, report_of, reproduce
from qe.training.train import train
from tests.factories import Monkeypatch, TempPaths, ran, refuses

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def run(demo_run: Any, tmp_path_factory: TempPaths) -> Path:
    """A small run of its own, untracked."""
    folder = tmp_path_factory.mktemp("run") / "out"
    overrides = [
        "search.trials=3", "tracking=off", "evaluation={samples: 100, robustness: false}", "split.folds=3",
        "intervals.levels=[0.9]",
    ]  # fmt: skip
    made = experiment.load(EXPERIMENT, data_root=demo_run.output, overrides=overrides)
    train(check(made), folder, cache=demo_run.output / "cache")
    return folder


@pytest.mark.slow
def test_settings_make_the_experiment_again() -> None:
    """All experiments of the project, their settings with all defaults written out."""
    paths = sorted((ROOT / "experiments").rglob("*.yaml"))
    assert len(paths) > 20
    for path in paths:
        loaded = experiment.load(path)
        assert of_settings(loaded.settings()).settings() == loaded.settings(), path


@pytest.mark.capability
def test_all_figures_come_back(run: Path, demo_run: Any, tmp_path: Path) -> None:
    found = reproduce(str(run), tmp_path / "again", cache=demo_run.output / "cache")
    assert found.identical and not found.recipe_differences and found.figures > 100
    assert found.to_json()["differences"] == []


def test_a_search_resumed_with_a_smaller_budget_is_recorded_as_it_ran(
    demo_run: Any, tmp_path: Path, monkeypatch: Monkeypatch
) -> None:
    """In report, model and MLflow; and the record gives the same figures again."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlflow.yaml").write_text("artifact_root: artifacts\n")
    fixed = [
        "evaluation={samples: 100, robustness: false}",
        "split={folds: 3, outer: 2}",
        "intervals.levels=[0.9]",
    ]
    cache = demo_run.output / "cache"
    for trials, resume in ((5, False), (2, True)):
        overrides = [*fixed, f"search.trials={trials}"]
        plan = check(experiment.load(EXPERIMENT, data_root=demo_run.output, overrides=overrides))
        outcome = train(plan, tmp_path / "out", cache=cache, resume=resume)
    report = outcome.report
    assert report["experiment"]["search"]["trials"] == report["search"]["trials"] == 5
    assert report["search"]["reproducible"] and report["search"]["ended"] == "5 trials"
    tags = mlflow.MlflowClient().get_run(outcome.run_id).data.tags
    assert tags["resumed.search.trials"] == "5" and "best of 5 trials" in tags["mlflow.note.content"]
    assert reproduce(str(outcome.output), tmp_path / "again", cache=cache).identical


def test_what_differs_is_told(run: Path, demo_run: Any, tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    report = report_of(str(run))
    was = report["test"]["systems"]["demo"]["mae"]
    report["test"]["systems"]["demo"]["mae"] = was + 0.25
    report["recipe"]["versions"]["regex"] = "2020.1.1"
    (tmp_path / "old").mkdir()
    with atomic_file(tmp_path / "old" / "report.json") as temporary:
        temporary.write_text(json.dumps(report), "utf-8")
    told = json.loads(
        ran("reproduce", tmp_path / "old", "--cache-dir", demo_run.output / "cache", "--json", code=1).out
    )
    assert not told["same"]
    assert [(each["place"], each["then"], each["now"]) for each in told["differences"]] == [
        ("test.systems.demo.mae", was + 0.25, was)
    ]
    assert [each["place"] for each in told["made_with"]] == ["versions.regex"]


def test_a_search_that_depended_on_the_clock_has_its_winner_fitted(
    run: Path, demo_run: Any, tmp_path: Path
) -> None:
    report = report_of(str(run))
    report["search"]["reproducible"] = False
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "report.json").write_text(json.dumps(report), "utf-8")
    found = reproduce(str(tmp_path / "old"), tmp_path / "again", cache=demo_run.output / "cache")
    assert [each.place for each in found.differences] in ([], ["cross_validation.selected_on_these_folds"])
    assert "its winner is fitted again" in found.notes[0]


def test_undefined_figures_are_equal_and_absent_ones_differ() -> None:
    then = {"recipe": {}, "test": {"a": float("nan"), "b": 1.0}, "seconds": 3.0}
    now = {"recipe": {}, "test": {"a": float("nan"), "c": 1.0}, "seconds": 4.0}
    found = compared(then, now, set())
    assert [(each.place, each.then, each.now) for each in found.differences] == [
        ("test.b", 1.0, None), ("test.c", None, 1.0),
    ]  # fmt: skip


def test_data_that_have_moved_are_named_with_the_option_for_them(run: Path, tmp_path: Path) -> None:
    report = json.loads((run / "report.json").read_text("utf-8"))
    report["experiment"]["dataset"]["path"] = str(tmp_path / "gone")
    (tmp_path / "report.json").write_text(json.dumps(report), "utf-8")
    refuses(
        r"gone: .*--set dataset\.path=FOLDER",
        lambda: reproduce(str(tmp_path), tmp_path / "again", cache=tmp_path / "cache"),
    )
