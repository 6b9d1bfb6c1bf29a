"""The columns of the list of runs: those of the last run, and some of others before it."""

import json
from pathlib import Path
from typing import Any

import pytest

from qe.tracking import runs
from qe.tracking.runs import Data
from qe.tracking.ui import show_columns, with_previous_metrics
from qe.training.tracked import log_figures

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


def test_nested_figures_do_not_stand_under_the_name_of_plain_ones(store: Path) -> None:
    report: dict[str, Any] = {"experiment": {"name": "one", "evaluation": {"metric": "mae"}}, "test": None}
    report["cross_validation"] = {"systems": {"one": {"mae": 0.5, "pearson": 0.6}}}
    nested = report | {"nested": {"systems": {"one": {"mae": 0.75, "pearson": 0.4}}}}
    data = dict.fromkeys(("cross_validation", "nested"), Data("data", "1"))
    logged = []
    for each in (report | {"nested": None}, nested):
        with runs.run("one") as run:
            log_figures(run, each, data, "")
        logged.append(run.client.get_run(run.id).data.metrics)
    assert [metrics["MAE"] for metrics in logged] == [0.5, 0.5]
    assert [metrics.get("MAE nested") for metrics in logged] == [None, 0.75]
    state = json.loads(run.client.get_experiment(run.experiment_id).tags["mlflow.sharedViewState.qe"])
    assert state["selectedColumns"][:2] == ["metrics.`MAE`", "metrics.`MAE nested`"]
