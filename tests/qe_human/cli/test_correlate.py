"""`qe correlate` from the command line: JSON, tables, files, tracking, and what it refuses."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.factories import Done, ran

QUICK = ["--samples", "50", "--permutations", "50"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Seven systems, 20 segments; `good` is nearer to people than `poor`."""
    rng = np.random.default_rng(0)
    truth = rng.normal(np.linspace(0, 2, 7), 1, (20, 7))
    poor = truth + rng.normal(0, 3, truth.shape)
    human, metrics = ["system\tsegment\tscore"], ["system\tsegment\tgood\tpoor"]
    for i in range(20):
        for j in range(7):
            human.append(f"s{j}\t{i}\t{truth[i, j]:.1f}")
            metrics.append(f"s{j}\t{i}\t{truth[i, j]:.3f}\t{-poor[i, j]:.3f}")
    (tmp_path / "human.tsv").write_text("\n".join(human) + "\n")
    (tmp_path / "metrics.tsv").write_text("\n".join(metrics) + "\n")
    return ["--human", str(tmp_path / "human.tsv"), "--metrics", str(tmp_path / "metrics.tsv"),
            "--lower-is-better", "poor"]  # fmt: skip


def run(arguments: list[Any], code: int = 0) -> Done:
    return ran("correlate", *arguments, code=code)


@pytest.mark.slow
def test_json_holds_all(files: list[str]) -> None:
    told = json.loads(run([*files, *QUICK, "--json"]).out)
    assert told["systems"] == 7 and told["segments"] == 20 and told["judged_translations"] == 140
    names = ["acc_eq", "acc_eq:group=none", "kendall_wmt12", "pearson", "spearman", "pairwise_accuracy",
             "soft_pairwise_accuracy", "system_pearson", "system_spearman"]  # fmt: skip
    assert list(told["correlations"]) == names
    for name in names:
        outcome = told["correlations"][name]
        good, poor = (outcome["metrics"][metric] for metric in ("good", "poor"))
        assert good["score"] >= poor["score"] and 0.9 < good["score"] <= 1
        assert good["ci"][0] <= good["ci"][1]
        (test,) = outcome["tests"]
        assert test["metrics"] == ["good", "poor"] and 0 < test["p_corrected"] <= 1
        assert (test["p_williams"] is None) == ("pearson" not in name and "spearman" not in name)
    assert told["correlations"]["pearson"]["clusters"] == [["good"], ["poor"]]
    assert told["correlations"]["pearson"]["claim"] == "new segments and new systems"


def test_settings_of_a_correlation_and_no_tests(files: list[str]) -> None:
    asked = ["--correlations", "pearson:group=item", "acc_eq:calibrate=false"]
    told = json.loads(run([*files, *asked, "--permutations", 0, "--samples", 0, "--json"]).out)
    assert list(told["correlations"]) == asked[1:]
    pearson = told["correlations"]["pearson:group=item"]
    assert pearson["groups"] == 20 and pearson["tests"] == [] and pearson["clusters"] is None
    assert pearson["metrics"]["good"]["ci"] == [None, None]


@pytest.mark.slow
def test_tables_and_files(files: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    printed = run([*files, *QUICK, "--correlations", "pearson", "system_pearson", "-o", out]).out
    assert "metrics against people" not in printed and "good" in printed and "better than" in printed
    names = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    assert names == {"report.json", "report.md", "report.tex", "correlations.png", "significance-pearson.png",
                     "significance-system_pearson.png"}  # fmt: skip
    markdown = run([*files, *QUICK, "--correlations", "pearson", "--markdown"]).out
    assert "| good | 1 |" in markdown and "p (Williams)" in markdown
    latex = run([*files, *QUICK, "--correlations", "pearson", "--latex"]).out
    assert r"\begin{tabular}{lrrrl}" in latex


def test_one_system_has_no_pairs(tmp_path: Path) -> None:
    """Tables without a column `system`, as `qe labels` writes them."""
    (tmp_path / "h.tsv").write_text("id\tscore\n" + "".join(f"{i}\t{i}\n" for i in range(9)))
    (tmp_path / "m.tsv").write_text("id\thter\n" + "".join(f"{i}\t{-i * i}\n" for i in range(9)))
    asked = ["--human", tmp_path / "h.tsv", "--metrics", tmp_path / "m.tsv", "--lower-is-better", "hter"]
    told = json.loads(run([*asked, *QUICK, "--json"]).out)
    assert list(told["correlations"]) == ["acc_eq:group=none", "pearson", "spearman"]
    assert told["correlations"]["spearman"]["metrics"]["hter"]["score"] == pytest.approx(1.0)
    (note,) = (note for note in told["notes"] if "system_pearson" in note)
    assert note.startswith("not shown: pairwise_accuracy, ") and "(needs at least 2 systems" in note


@pytest.mark.slow
def test_tracking(files: list[str], tmp_path: Path, monkeypatch: Any) -> None:
    import mlflow

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    asked = ["--correlations", "pearson", "--track"]
    run_id = run([*files, *QUICK, *asked]).err.split()[-1]
    logged = mlflow.MlflowClient(os.environ["MLFLOW_TRACKING_URI"]).get_run(run_id)
    assert logged.data.metrics["pearson.good"] > 0.9 and "pearson.good.low" in logged.data.metrics
    assert logged.data.params["permutations"] == "50"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no human judgements; give one of --human, --rankings and --metrics-eval"),
        (["--human", "h.tsv", "--metrics-eval", "x"], "got --human and --metrics-eval"),
        (["--human", "h.tsv", "--metrics", "m.tsv", "--correlations", "person"], "did you mean 'pearson'"),
        (["--human", "h.tsv", "--metrics", "m.tsv", "--resample", "x"], "--resample"),
    ],
)
def test_what_cannot_be_asked(arguments: list[str], message: str) -> None:
    assert message in run(arguments, 2).err
