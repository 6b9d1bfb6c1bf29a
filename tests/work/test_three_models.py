"""Three models compared in MLflow: one command, one leaderboard, one list of runs, best first."""

import re
from pathlib import Path
from typing import Any

import mlflow
import pytest

from qe.getting_started.demo.run import EXPERIMENT
from tests.factories import qe


@pytest.mark.slow
def test_a_sweep_over_three_learners(demo_run: Any, store: Path) -> None:
    output = store / "sweep"
    options = ("--data-root", demo_run.output, "--set", "search.trials=1", "--set", "split.folds=2")
    done = qe("train", EXPERIMENT, "--each", "learner.kind=ridge,mean,extra_trees", *options, "-o", output)
    printed = done.out + done.err
    assert done.code == 0 and "no proven difference from the best" in printed
    assert {"leaderboard.txt", "demo-ridge", "demo-mean"} <= {path.name for path in output.iterdir()}
    client = mlflow.MlflowClient(f"sqlite:///{store}/runs.db")
    runs = list(client.search_runs([each.experiment_id for each in client.search_experiments()]))
    (batch,) = [run for run in runs if run.info.run_name == "batch of 3"]
    named = {
        run.info.run_name: run.data
        for run in runs
        if run.data.tags.get("mlflow.parentRunId") == batch.info.run_id
    }
    assert named.keys() == {"ridge", "mean", "extra_trees"}
    values = {name: data.metrics["MAE"] for name, data in named.items()}
    best_first = re.findall(r"\[(\w+)\]\(#/experiments/\d+/runs/", batch.data.tags["mlflow.note.content"])
    assert best_first == sorted(values, key=lambda name: values[name])
    assert batch.data.metrics["MAE"] == min(values.values())
    files = {
        file.path
        for file in client.list_artifacts(next(r for r in runs if r.info.run_name == "ridge").info.run_id)
    }
    assert {"report.html", "report.json", "tables"} <= files
    compared = qe("compare", output)
    assert compared.code == 0 and "demo-extra_trees" in compared.out
