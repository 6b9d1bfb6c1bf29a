"""Errors let through: the worst quarter of labels, the setting `bad` of experiments, the plot of a run."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qe import train
from qe.data.dataset import LabelScale
from qe.evaluation.coverage import BadLabels, error_curve
from qe.evaluation.plots import errors_let_through
from qe.training.page import run_page
from tests.factories import refuses

DA, HTER = LabelScale("da", 0, 100, True), LabelScale("hter", 0, None, False)


@pytest.mark.parametrize(
    ("scale", "gold", "text", "bad"),
    [
        (DA, range(1, 101), "da<25.75", 25),
        (HTER, range(1, 101), "hter>75.25", 25),
        (HTER, [0, 0, 0, 0, 1], "hter>0", 1),
        (DA, [1, 1, 1, 5], "da<=1", 3),
        (HTER, [2, 2], "hter>=2", 2),
    ],
)
def test_the_worst_quarter_is_stated_as_a_limit(scale: LabelScale, gold: Any, text: str, bad: int) -> None:
    labels = np.array(gold, np.float64)
    rule = BadLabels.worst_quarter(labels, scale)
    assert str(rule) == text and rule.mask(labels).sum() == bad
    assert BadLabels.parse(text) == rule


def test_the_figure_has_the_shares_of_the_curve() -> None:
    bad = np.array([True, False, True, False])
    curve = error_curve(np.array([1.0, 4.0, 2.0, 3.0]), bad, np.arange(4))
    assert curve.errors[np.searchsorted(curve.published, [0, 0.5, 0.75, 1])].tolist() == [0, 0, 0.5, 1]
    axes = errors_let_through({"": curve}, "bad: da<60").axes[0]
    np.testing.assert_array_equal(
        axes.lines[0].get_xydata().T, 100 * np.array([curve.published, curve.errors])
    )


def experiment(path: Path, bad: str | None) -> dict[str, Any]:
    label = {"name": "da", "low": 0, "high": 100, "higher_is_better": True}
    dataset = {"format": "table", "path": str(path), "label": label, "columns": {"scores": "da"},
               "source_language": "en", "target_language": "de"}  # fmt: skip
    return {
        "name": "x", "dataset": dataset, "features": ["surface"],
        "learner": {"kind": "ridge", "params": {"alpha": 1.0}},
        "evaluation": {"bad": bad, "robustness": False}, "guard": False,
    }  # fmt: skip


@pytest.mark.slow
def test_a_run_refuses_other_labels_and_plots_the_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    texts, path = [f"w {'w ' * i}" for i in range(40)], tmp_path / "t.tsv"
    pd.DataFrame({"source": texts, "target": texts, "da": range(40)}).to_csv(path, sep="\t", index=False)
    refuses("evaluation.bad: ", train, experiment(path, "da"), tmp_path / "a")
    refuses("given as 'da<NUMBER'", train, experiment(path, "hter>1"), tmp_path / "b")
    outputs = [tmp_path / name for name in "cd"]
    for output, bad in zip(outputs, [None, "da<5"], strict=True):
        train(experiment(path, bad), output)
    plots = [(output / "plots/errors_let_through.png").read_bytes() for output in outputs]
    assert plots[0] != plots[1]
    assert "bad segments are let through" in run_page(outputs[0])
