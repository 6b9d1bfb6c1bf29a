"""`qe rank` from the command line: JSON, tables, files, tracking, and what it refuses."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from qe.tracking.connection import connected
from tests.factories import Done, ran

ROWS = [("a", 1), ("b", 2), ("c", 4), ("_ref", 1)]


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Two language pairs; a is better than b, b than c."""
    lines = ["source_language,target_language,segment,judge,system,rank"]
    for pair in ("Czech,English", "English,Czech"):
        for segment in range(30):
            ranks = ROWS if segment % 5 else [("a", 2), ("b", 1), ("c", 3), ("_ref", 2)]
            lines += [f"{pair},{segment},judge{segment % 3},{system},{rank}" for system, rank in ranks]
    path = tmp_path / "judged.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(arguments: list[Any], code: int = 0) -> Done:
    return ran("rank", *arguments, code=code)


def test_json_has_the_agreed_form(judged: Path) -> None:
    methods = ["bojar", "expected_wins", "official", "most_probable"]
    arguments = [judged, "--pair", "Czech-English", "--methods", *methods]
    told = json.loads(run([*arguments, "--json", "--samples", "50"]).out)
    assert told["schema"] == 1 and list(told["rankings"]) == ["Czech-English"]
    assert list(told["rankings"]["Czech-English"]) == methods
    methods = told["rankings"]["Czech-English"]
    assert methods["bojar"]["ranking"] == [["a", 54 / 60], ["b", 36 / 60], ["c", 0.0]]
    assert methods["bojar"]["violations"] == 0.0 and methods["bojar"]["unique"] is True
    assert methods["most_probable"]["ranking"] == [["a", None], ["b", None], ["c", None]]
    # a: 24 wins over b, 30 over c; against the reference 30 ties
    assert dict(methods["official"]["ranking"])["a"] == pytest.approx(84 / 90)
    assert methods["bojar"]["ranges"]["c"] == [3, 3]


@pytest.mark.slow
def test_text_markdown_latex_and_all_methods(judged: Path) -> None:
    playoffs = ["--methods", "expected_wins", "monte_carlo_playoffs:tournaments=500", "--samples", "30"]
    assert "### Czech-English" in run([judged, *playoffs, "--markdown"]).out
    assert "\\begin{tabular}" in run([judged, *playoffs, "--latex"]).out
    every = json.loads(run([judged, "--samples", "30", "--pair", "Czech-English", "--json"]).out)
    told = every["rankings"]["Czech-English"]
    assert next(iter(told)) == "expected_wins" and len(told) >= 12
    assert "ranges" not in told["feedback_arc_set"] and "ranges" not in told["monte_carlo_playoffs"]


@pytest.mark.slow
def test_ranges_and_settings_of_one_method_twice(judged: Path) -> None:
    methods = ["--methods", "trueskill:draw=0.1", "trueskill:draw=0.4", "feedback_arc_set"]
    common = [judged, "--pair", "English-Czech", *methods, "--samples", "20", "--json"]
    told = json.loads(run([*common, "--ranges", "all"]).out)["rankings"]["English-Czech"]
    assert list(told) == ["trueskill:draw=0.1", "trueskill:draw=0.4", "feedback_arc_set"]
    assert all("ranges" in entry for entry in told.values())
    told = json.loads(run([*common, "--ranges", "none"]).out)["rankings"]["English-Czech"]
    assert not any("ranges" in entry for entry in told.values())
    told = json.loads(run([*common, "--ranges", "feedback_arc_set"]).out)["rankings"]["English-Czech"]
    assert [name for name, entry in told.items() if "ranges" in entry] == ["feedback_arc_set"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--pair", "Czech-Englsh"], "no judgements of 'Czech-Englsh'; there are Czech-English"),
        (["--ranges", "soccr"], "--ranges: no method 'soccr' is among --methods"),
        (["--samples", "-1"], "samples must be at least 0"),
        (["--json", "--latex"], "only one of"),
    ],
)
def test_refusals(judged: Path, arguments: list[str], message: str) -> None:
    captured = run([judged, *arguments], 2)
    assert message in captured.err and captured.out == ""


def test_unwritable_output_is_told_before_any_work(judged: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "is a file, not a" in run([judged, "--output", tmp_path / "file", "--overwrite"], 2).err
    assert "is an input too" in run([judged, "--output", judged], 2).err


@pytest.mark.slow
def test_tracking_logs_figures_tables_and_plots(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mlflow

    for name in [name for name in os.environ if name.startswith("MLFLOW_")]:
        monkeypatch.delenv(name)
    (tmp_path / "mlflow.yaml").write_text(
        "tracking_uri: sqlite:///runs.db\nartifact_root: files\nexperiment: rankings\n"
    )
    monkeypatch.chdir(tmp_path)
    methods = ["--methods", "expected_wins", "feedback_arc_set"]
    captured = run([judged, *methods, "--samples", "20", "--track", "--json"])
    json.loads(captured.out)
    run_id = captured.err.split("MLflow run ")[1].split()[0]
    with connected():
        client = mlflow.MlflowClient()
    logged = client.get_run(run_id)
    assert logged.data.params["samples"] == "20"
    assert logged.data.params["methods.expected_wins"] == "ExpectedWins()"
    assert logged.data.metrics["Czech-English.expected_wins.a"] == pytest.approx((24 / 30 + 1) / 2)
    assert logged.data.metrics["English-Czech.feedback_arc_set.violations"] == 0
    files = {item.path for item in client.list_artifacts(run_id, "rank/Czech-English")}
    assert "rank/Czech-English/heat_map.png" in files and "rank/Czech-English/report.md" in files
