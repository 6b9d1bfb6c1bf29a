"""The columns of the list of runs: those of the last run, and some of others before it."""

import json
from pathlib import Path

import pytest

from qe.tracking import runs
from qe.tracking.ui import show_columns, with_previous_metrics

REGRESSION = ["MAE", "cross-validation/MAE", "RMSE", "Pearson", "Spearman", "DeltaAvg"]


@pytest.mark.parametrize(
    ("metrics", "earlier", "columns"),
    [
        (REGRESSION, [], REGRESSION),
        (REGRESSION, REGRESSION, REGRESSION),
        (REGRESSION, REGRESSION[1:], REGRESSION),
        (["MCC", "F1", "AUC"], REGRESSION, ["MCC", "F1", "AUC", "MAE", "cross-validation/MAE", "RMSE"]),
        (REGRESSION, ["MCC", "F1", "AUC"], [*REGRESSION[:5], "MCC"]),
    ],
)
def test_metrics_of_other_runs_keep_columns(
    metrics: list[str], earlier: list[str], columns: list[str]
) -> None:
    assert with_previous_metrics(metrics, earlier) == columns


@pytest.mark.slow
def test_an_experiment_with_runs_of_two_kinds_of_labels(store: Path) -> None:
    for metrics in (["MAE", "RMSE"], ["MCC", "F1"]):
        with runs.run("one", description="") as run:
            show_columns(run, metrics)
    state = json.loads(run.client.get_experiment(run.experiment_id).tags["mlflow.sharedViewState.qe"])
    shown = ["metrics.`MCC`", "metrics.`F1`", "metrics.`MAE`", "metrics.`RMSE`"]
    assert state["selectedColumns"] == [*shown, "attributes.`Dataset`"]
