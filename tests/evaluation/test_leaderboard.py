"""Several experiments under one parent run, side by side."""

import json
import shutil
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
import pytest

from qe.config import experiment
from qe.display.table import UNBOUNDED
from qe.evaluation import leaderboard
from qe.getting_started.demo.run import EXPERIMENT
from qe.statistics.metric import METRICS
from qe.training.batch import train_all
from qe.training.check import check
from tests.factories import exit_code, ran, refuses


def small(demo_run: Any, *overrides: str) -> experiment.Experiment:
    path = EXPERIMENT
    fixed = ["split.folds=3", "search.trials=2", "tracking={register: false}"]
    return experiment.load(path, data_root=demo_run.output, overrides=[*fixed, *overrides])


@pytest.fixture(scope="module")
def batch(demo_run: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("batch")
    mlflow.set_tracking_uri(f"sqlite:///{demo_run.output / 'mlflow.db'}")
    experiments = [
        small(demo_run, "name=baseline", "learner={kind: ridge}", "published={mae: 0.69}"),
        small(demo_run, "name=constant", "learner={kind: mean}"),
    ]
    outcomes, boards = train_all(
        [check(each) for each in experiments], folder, cache=demo_run.output / "cache"
    )
    return folder, outcomes, boards


def test_the_board_ranks_and_compares(batch: Any) -> None:
    folder, outcomes, boards = batch
    (board,) = boards
    assert [entry.name for entry in board.entries] == ["baseline", "constant"]
    best, worst = board.entries
    figures = outcomes[0].report["cross_validation"]["systems"]["baseline"]
    assert best.scores.metrics["mae"] == pytest.approx(figures["mae"])
    assert best.best_cluster and best.p is None and best.published["mae"] == 0.69
    assert worst.p is not None and worst.p < 0.05 and not worst.best_cluster
    for name in ("leaderboard.txt", "leaderboard.md", "leaderboard.html", "leaderboard.json"):
        assert "baseline" in (folder / name).read_text()


def test_all_runs_have_one_parent_that_holds_the_board(batch: Any, demo_client: Any) -> None:
    _, outcomes, _ = batch
    parents = {demo_client.get_run(outcome.run_id).data.tags["mlflow.parentRunId"] for outcome in outcomes}
    (parent,) = parents
    assert "leaderboard.html" in {f.path for f in demo_client.list_artifacts(parent)}


def test_the_folder_of_several_runs_stands_for_them(batch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder, outcomes, _ = batch
    runs = sorted(str(outcome.output) for outcome in outcomes)
    shown = []
    for arguments in (runs, [str(folder)]):
        assert exit_code("compare", *arguments, "--samples", "200", "--json") == 0
        shown.append(json.loads(capsys.readouterr().out)["systems"])
    assert shown[0] == shown[1]


def test_nested_figures_are_not_compared_with_selected_ones(batch: Any, tmp_path: Path) -> None:
    """Nested figures of one run beside selected ones of another: both by the predictions of their folds."""
    _, outcomes, _ = batch
    folders = [shutil.copytree(outcome.output, tmp_path / str(i)) for i, outcome in enumerate(outcomes)]
    file = folders[0] / "predictions.parquet"
    table = pd.read_parquet(file)
    table.assign(nested=table["predicted"] + 0.5).to_parquet(file)
    reports = [json.loads((folder / "report.json").read_text("utf-8")) for folder in folders]
    reports[0]["nested"] = reports[0]["cross_validation"]
    for selected in (False, True):
        reports[1]["cross_validation"]["selected_on_these_folds"] = selected
        for folder, report in zip(folders, reports, strict=True):
            (folder / "report.json").write_text(json.dumps(report), "utf-8")
        entries = {entry.name: entry for entry in leaderboard.make(folders, samples=200).entries}
        assert any(entry.figures == "nested" for entry in entries.values()) is not selected
        mae = outcomes[0].report["cross_validation"]["systems"]["baseline"]["mae"]
        assert (entries["baseline"].scores.metrics["mae"] == pytest.approx(mae)) is selected


def test_an_unknown_baseline_is_an_error(batch: Any) -> None:
    _, outcomes, _ = batch
    outputs = [outcome.output for outcome in outcomes]
    refuses("named 'base'; runs: baseline, constant", leaderboard.make, outputs, baseline="base")


def columns(text: str) -> list[str]:
    """The headings of a board's table in Markdown."""
    return [cell.strip() for cell in text.splitlines()[2].strip("|").split("|")]


def test_the_metric_of_the_experiments_ranks_and_stands_first(batch: Any) -> None:
    _, _, (board,) = batch
    assert (
        board.metric == "mae"
        and board.entries[0].scores.metrics["mae"] < board.entries[1].scores.metrics["mae"]
    )
    headings = columns(leaderboard.table(board).markdown())
    assert headings[4:6] == ["MAE", "95 % interval"] and headings.count("MAE") == 1
    assert "MAE against baseline" in leaderboard.table(board).text(UNBOUNDED)
    low, high = board.entries[0].scores.ci["mae"]
    assert f"[{low:.3f}, {high:.3f}]" in leaderboard.table(board).text(UNBOUNDED)


@pytest.mark.parametrize("metric", METRICS.names)
def test_every_metric_of_the_catalogue_can_rank(metric: str, batch: Any, tmp_path: Path) -> None:
    """Reports that name it, and hold no figures of it: the board computes them of the predictions."""
    _, outcomes, _ = batch
    for outcome in outcomes:
        copy = tmp_path / outcome.output.name
        shutil.copytree(outcome.output, copy)
        report = json.loads((copy / "report.json").read_text())
        report["experiment"]["evaluation"]["metric"] = metric
        (copy / "report.json").write_text(json.dumps(report))
    board = leaderboard.make([tmp_path / "constant", tmp_path / "baseline"])
    assert columns(leaderboard.table(board).markdown())[4] == METRICS.get(metric).title
    assert {entry.name for entry in board.entries} == {"baseline", "constant"}


def test_runs_are_compared_with_the_first(batch: Any, tmp_path: Path) -> None:
    _, outcomes, _ = batch
    runs = [outcome.output for outcome in outcomes]
    printed = ran("compare", *reversed(runs), "--output", tmp_path / "out").out
    assert "against constant" in printed and "Differences" in printed
    assert {path.suffix for path in (tmp_path / "out").glob("leaderboard.*")} == {
        ".txt", ".md", ".html", ".json",
    }  # fmt: skip
    told = json.loads(ran("compare", *runs, "--json").out)
    assert told["baselines"] == ["baseline"]
    assert {(one["system"], one["baseline"]) for one in told["comparisons"]} == {("constant", "baseline")}


def test_runs_of_one_name_have_those_of_their_folders(batch: Any, tmp_path: Path) -> None:
    _, outcomes, _ = batch
    own = outcomes[0].output
    shutil.copytree(own, tmp_path / "again")
    board = leaderboard.make([own, tmp_path / "again"], baseline=own, samples=100)
    assert {entry.name for entry in board.entries} == {str(own), str(tmp_path / "again")}
    assert board.baseline == str(own) and {entry.p for entry in board.entries} == {None, 1.0}
