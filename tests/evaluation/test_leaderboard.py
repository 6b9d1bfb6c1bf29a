"""Several experiments under one parent run, side by side."""

from pathlib import Path
from typing import Any

import mlflow
import pytest

from features.core.errors import InputError
from qe.config import experiment
from qe.evaluation import leaderboard
from qe.training.batch import train_all

ROOT = Path(__file__).resolve().parents[2]


def small(demo_run: Any, *overrides: str) -> experiment.Experiment:
    path = ROOT / "qe" / "demo" / "demo.yaml"
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
    outcomes, boards = train_all(experiments, folder, cache=demo_run.output / "cache")
    return folder, outcomes, boards


def test_the_board_ranks_and_compares(batch: Any) -> None:
    folder, outcomes, boards = batch
    (board,) = boards
    assert [entry.name for entry in board.entries] == ["baseline", "constant"]
    best, worst = board.entries
    figures = outcomes[0].report["cross_validation"]["systems"]["baseline"]
    assert best.metrics["mae"] == pytest.approx(figures["mae"])
    assert best.best_cluster and best.p is None and best.published["mae"] == 0.69
    assert worst.p is not None and worst.p < 0.05 and not worst.best_cluster
    for name in ("leaderboard.txt", "leaderboard.md", "leaderboard.html", "leaderboard.json"):
        assert "baseline" in (folder / name).read_text()


def test_all_runs_have_one_parent_that_holds_the_board(batch: Any, demo_client: Any) -> None:
    _, outcomes, _ = batch
    parents = {demo_client.get_run(outcome.run_id).data.tags["mlflow.parentRunId"] for outcome in outcomes}
    (parent,) = parents
    assert "leaderboard.html" in {f.path for f in demo_client.list_artifacts(parent)}


def test_names_are_escaped_in_html(batch: Any) -> None:
    _, _, (board,) = batch
    assert "<script>" not in leaderboard.page(
        leaderboard.Leaderboard("<script>", board.baseline, board.entries, board.report)
    )


def test_folders_without_a_finished_run_and_unknown_baselines_are_errors(batch: Any, tmp_path: Path) -> None:
    _, outcomes, _ = batch
    with pytest.raises(InputError, match="holds no finished run"):
        leaderboard.make([tmp_path])
    with pytest.raises(InputError, match="no run is named 'base'; runs: baseline, constant"):
        leaderboard.make([outcome.output for outcome in outcomes], baseline="base")
