"""`qe rank` and `qe correlate`: JSON, tables, files, tracking, and what they refuse."""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qe.tracking.connection import connected
from tests.factories import prints, ran


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Two language pairs; a is better than b, b than c."""
    lines = ["source_language,target_language,segment,judge,system,rank"]
    for pair in ("Czech,English", "English,Czech"):
        for segment in range(30):
            ranks = (
                {"a": 1, "b": 2, "c": 4, "_ref": 1} if segment % 5 else {"a": 2, "b": 1, "c": 3, "_ref": 2}
            )
            lines += [f"{pair},{segment},judge{segment % 3},{name},{rank}" for name, rank in ranks.items()]
    path = tmp_path / "judged.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


rank, correlate = partial(ran, "rank"), partial(ran, "correlate")


def test_json_has_the_agreed_form(judged: Path) -> None:
    methods = ["bojar", "expected_wins", "official", "most_probable"]
    arguments = [judged, "--pair", "Czech-English", "--methods", *methods]
    told = json.loads(rank(*arguments, "--json", "--samples", "50").out)
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
    assert "### Czech-English" in rank(judged, *playoffs, "--markdown").out
    assert "\\begin{tabular}" in rank(judged, *playoffs, "--latex").out
    every = json.loads(rank(judged, "--samples", "30", "--pair", "Czech-English", "--json").out)
    told = every["rankings"]["Czech-English"]
    assert next(iter(told)) == "expected_wins" and len(told) >= 12
    assert "ranges" not in told["feedback_arc_set"] and "ranges" not in told["monte_carlo_playoffs"]


@pytest.mark.slow
def test_ranges_and_settings_of_one_method_twice(judged: Path) -> None:
    methods = ["--methods", "trueskill:draw=0.1", "trueskill:draw=0.4", "feedback_arc_set"]
    common = [judged, "--pair", "English-Czech", *methods, "--samples", "20", "--json"]
    told = json.loads(rank(*common, "--ranges", "all").out)["rankings"]["English-Czech"]
    assert list(told) == ["trueskill:draw=0.1", "trueskill:draw=0.4", "feedback_arc_set"]
    assert all("ranges" in entry for entry in told.values())
    told = json.loads(rank(*common, "--ranges", "none").out)["rankings"]["English-Czech"]
    assert not any("ranges" in entry for entry in told.values())
    told = json.loads(rank(*common, "--ranges", "feedback_arc_set").out)["rankings"]["English-Czech"]
    assert [name for name, entry in told.items() if "ranges" in entry] == ["feedback_arc_set"]


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
    captured = rank(judged, *methods, "--samples", "20", "--track", "--json")
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


@pytest.mark.slow
def test_json_holds_all(files: list[str]) -> None:
    told = json.loads(correlate(*files, *QUICK, "--json").out)
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
    told = json.loads(correlate(*files, *asked, "--permutations", 0, "--samples", 0, "--json").out)
    assert list(told["correlations"]) == asked[1:]
    pearson = told["correlations"]["pearson:group=item"]
    assert pearson["groups"] == 20 and pearson["tests"] == [] and pearson["clusters"] is None
    assert pearson["metrics"]["good"]["ci"] == [None, None]


@pytest.mark.slow
def test_tables_and_files(files: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    printed = correlate(*files, *QUICK, "--correlations", "pearson", "system_pearson", "-o", out).out
    assert "metrics against people" not in printed and "good" in printed and "better than" in printed
    names = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    assert names == {"report.json", "report.md", "report.tex", "correlations.png", "significance-pearson.png",
                     "significance-system_pearson.png"}  # fmt: skip
    markdown = correlate(*files, *QUICK, "--correlations", "pearson", "--markdown").out
    assert "| good | 1 |" in markdown and "p (Williams)" in markdown
    latex = correlate(*files, *QUICK, "--correlations", "pearson", "--latex").out
    assert r"\begin{tabular}{lrrrl}" in latex


def test_one_system_has_no_pairs(tmp_path: Path) -> None:
    """Tables without a column `system`, as `qe labels` writes them."""
    (tmp_path / "h.tsv").write_text("id\tscore\n" + "".join(f"{i}\t{i}\n" for i in range(9)))
    (tmp_path / "m.tsv").write_text("id\thter\n" + "".join(f"{i}\t{-i * i}\n" for i in range(9)))
    asked = ["--human", tmp_path / "h.tsv", "--metrics", tmp_path / "m.tsv", "--lower-is-better", "hter"]
    told = json.loads(correlate(*asked, *QUICK, "--json").out)
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
    run_id = correlate(*files, *QUICK, *asked).err.split()[-1]
    logged = mlflow.MlflowClient(os.environ["MLFLOW_TRACKING_URI"]).get_run(run_id)
    assert logged.data.metrics["pearson.good"] > 0.9 and "pearson.good.low" in logged.data.metrics
    assert logged.data.params["permutations"] == "50"


@pytest.fixture
def scored(tmp_path: Path, monkeypatch: Any) -> None:
    """Two systems with two runs, scored as `qe compare` writes them, and two tables of people."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    own = ["system\trun\tsegment\tbleu\tter\tlength"]
    tables = {"human": ["system\tsegment\tscore"], "renamed": ["system\tsegment\tscore"]}
    tables["other"] = ["system\tsegment\tcost\tter"]
    for system in "AB":
        for segment in range(1, 41):
            quality = rng.normal()
            for run in (1, 2):
                bleu, ter = quality + rng.normal(0, 0.5), max(0, 5 - quality + rng.normal(0, 0.5))
                own.append(f"{system}\t{run}\t{segment}\t{bleu}\t{ter}\t{rng.normal()}")
            tables["other"].append(f"{system}\t{segment}\t{-quality + rng.normal(0, 0.5)}\t{quality - 9}")
            tables["human"].append(f"{system}\t{segment}\t{quality}")
            tables["renamed"].append(f"sys{system}\t{segment}\t{quality}")
    for name, lines in {**tables, "segments": own}.items():
        Path(f"{name}.tsv").write_text("\n".join(lines) + "\n")


PRINTED: list[tuple[str, int, list[str], list[str]]] = [
    (
        "--human human.tsv --metrics segments.tsv",
        0,
        ["claim: new segments)", "lower is better, known by name: ter", "(--columns reads it): length",
         "system_spearman (fewer than 7 systems: tests exchange segments; --correlations shows them)"],
        ["\nrun ", "\nlength ", "correlates negatively", "of systems", "cannot be decided", "?"],
    ),
    (
        "--human human.tsv --metrics other.tsv",
        0,
        ["'cost' correlates negatively with people: which direction is better? --lower-is-better names"],
        ["'ter' correlates negatively", "known by name"],
    ),
    (
        "--human renamed.tsv --metrics segments.tsv",
        2,
        ["humans scored systems sysA, sysB and segments 1, 2,", "'bleu' scores systems A, B and segments 1,",
         "systems and segments are joined by their names"],
        [],
    ),
]  # fmt: skip


@pytest.mark.usefixtures("scored")
@pytest.mark.parametrize(("arguments", "code", "contained", "absent"), PRINTED)
def test_what_is_printed(
    arguments: str, code: int, contained: list[str], absent: list[str], monkeypatch: Any
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    prints(f"correlate {arguments} --samples 200 --permutations 200", contained, absent, code)
