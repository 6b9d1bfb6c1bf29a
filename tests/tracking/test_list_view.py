"""The columns of the list of runs: those of the last run, and some of others before it."""

import json
from pathlib import Path
from typing import Any

import pytest

from qe.tracking import runs
from qe.tracking.runs import Data
from qe.tracking.ui import show_columns, with_previous_metrics
from qe.training.tracked import log_batch, log_figures

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


def finished(name: str, mae: float) -> tuple[str, str, dict[str, Any]]:
    section = {"systems": {name: {"mae": mae}}}
    settings = {"name": name, "evaluation": {"metric": "mae"}}
    return name, name, {"experiment": settings, "data": {"name": "news"}, "test": None, "nested": None,
                        "cross_validation": section}  # fmt: skip


def test_a_sweep_is_open_at_its_best_runs(store: Path) -> None:
    """Its page begins with links to them, and one to a list of its runs alone, best first."""
    ranked = [finished("ridge", 0.25), finished("trees", 0.5), finished("svr", 0.6), finished("mean", 0.75)]
    with runs.run("batch of 4") as run:
        show_columns(run, ["MAE"])
        log_batch(run, [ranked])
    data, experiment = run.client.get_run(run.id).data, run.client.get_experiment(run.experiment_id)
    first, *_ = data.tags["mlflow.note.content"].splitlines()
    assert f"[ridge](#/experiments/{run.experiment_id}/runs/ridge) MAE 0.2500; [trees](" in first
    assert f"&viewStateShareKey=qe-{run.id}). **news**: " in first and "mean" not in first
    assert data.metrics == {"MAE": 0.25}
    state = json.loads(experiment.tags[f"mlflow.sharedViewState.qe-{run.id}"])
    assert state["searchFilter"] == f"tags.mlflow.parentRunId = '{run.id}'"
    assert (state["orderByKey"], state["orderByAsc"]) == ("metrics.`MAE`", True)
    assert state["selectedColumns"][0] == "metrics.`MAE`"


def test_a_sweep_over_several_datasets_has_no_figures_of_its_own(store: Path) -> None:
    with runs.run("batch of 2") as run:
        log_batch(run, [[finished("ridge", 0.25)], [finished("trees", 0.5)]])
    data = run.client.get_run(run.id).data
    assert data.metrics == {} and data.tags["mlflow.note.content"].count("**news**") == 2


def test_nested_figures_do_not_stand_under_the_name_of_plain_ones(store: Path) -> None:
    report: dict[str, Any] = {"experiment": {"name": "one", "evaluation": {"metric": "mae"}}, "test": None}
    report["cross_validation"] = {"systems": {"one": {"mae": 0.5, "pearson": 0.6}}}
    report |= {"intervals": {"coverage": []}, "words": None, "robustness": None}
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
