"""Equivalence: two one-sided tests against statsmodels, their error, and the verdicts of both verbs."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.weightstats import ttost_paired

from qe.data.dataset import LabelScale
from qe.evaluation.evaluate import evaluate
from qe.evaluation.tables import notes
from qe.statistics.ranks import tost
from qe.statistics.settings import SignificanceSettings
from tests.factories import exit_code

EFFORT = LabelScale("effort", 1, 5, True)


def two_systems(n: int, seed: int, gap: float = 0.0) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    gold = rng.uniform(1, 5, n)
    return gold, {"a": gold + rng.normal(0, 0.5 + gap, n), "b": gold + rng.normal(0, 0.5, n)}


@pytest.mark.parametrize("margin", [0.01, 0.05, 0.2])
def test_mae_is_the_paired_tost_of_statsmodels(margin: float) -> None:
    gold, systems = two_systems(60, seed=1, gap=0.1)
    errors = [np.abs(values - gold) for values in systems.values()]
    expected, _, below = ttost_paired(*errors, -margin, margin)
    report = evaluate(
        gold, systems, EFFORT, SignificanceSettings(samples=199), metrics=["mae"], margins={"mae": margin}
    )
    (outcome,) = report.equivalences
    assert outcome.p == pytest.approx(expected, rel=1e-9)
    assert outcome.p_noninferior == pytest.approx(below[1], rel=1e-9)  # of MAE, more is worse
    drawn = evaluate(
        gold,
        systems,
        EFFORT,
        SignificanceSettings(samples=199, test="bootstrap"),
        metrics=["mae"],
        margins={"mae": margin},
    )
    assert drawn.equivalences[0].p == outcome.p


@pytest.mark.slow
@pytest.mark.parametrize("units", [6, 10, 80])
def test_systems_a_margin_apart_are_called_equivalent_as_often_as_the_level_says(units: int) -> None:
    """The border of the null hypothesis: a true difference of exactly the margin."""
    rng, hits, simulations = np.random.default_rng(5), 0, 2000
    for _ in range(simulations):
        values = rng.normal(0.5, 1, units)
        left_out = (values.sum() - values) / (units - 1)
        hits += max(tost(float(values.mean()), [left_out], 0.5)) <= 0.05
    assert hits / simulations <= 0.065  # .05 and three standard errors
    assert units < 80 or hits / simulations >= 0.035


@pytest.mark.parametrize("documents", [2, 3, 5, 6])
@pytest.mark.parametrize("test", ["ar", "bootstrap"])
def test_few_documents_answer_none_of_the_three_questions(documents: int, test: str) -> None:
    """Two systems that hardly differ: 6 documents are needed, for a difference as for equivalence."""
    gold, systems = two_systems(300, seed=3)
    groups = np.repeat(np.arange(documents), 300 // documents)
    report = evaluate(
        gold,
        systems,
        EFFORT,
        SignificanceSettings(samples=199, test=test),
        metrics=["mae"],
        margins={"mae": 2.0},
        groups=groups,
    )
    (outcome,), (difference,) = report.equivalences, report.comparisons
    told = "\n".join(notes(report))
    if documents < 6:
        assert np.isnan([outcome.p, outcome.p_corrected, outcome.p_noninferior, difference.p_corrected]).all()
        assert outcome.verdict == "cannot be decided" and "that takes 6 groups" in outcome.undecided
        assert "equivalence within a margin cannot be decided" in told and "(equivalent" not in told
    else:
        assert outcome.verdict == "equivalent" and outcome.p <= 0.05


def test_systems_that_differ_in_few_segments_can_be_equivalent() -> None:
    """Three differing segments show no difference; that the others do not differ is evidence all the same."""
    gold, systems = two_systems(200, seed=3)
    systems["b"] = systems["a"].copy()
    systems["b"][:3] += 0.1
    report = evaluate(
        gold, systems, EFFORT, SignificanceSettings(samples=199), metrics=["mae"], margins={"mae": 0.1}
    )
    assert report.comparisons[0].result.undecided and report.equivalences[0].verdict == "equivalent"


def test_copies_dilute_no_equivalence() -> None:
    gold, systems = two_systems(300, seed=3, gap=0.1)
    systems["c"] = systems["a"] + 0.01
    plain = evaluate(
        gold, systems, EFFORT, SignificanceSettings(samples=199), metrics=["mae"], margins={"mae": 0.15}
    )
    more = systems | {"copy": systems["a"].copy()}
    copied = evaluate(
        gold, more, EFFORT, SignificanceSettings(samples=199), metrics=["mae"], margins={"mae": 0.15}
    )
    told = {(one.system, one.baseline): one.p_corrected for one in copied.equivalences}
    for one in plain.equivalences:
        assert told[one.system, one.baseline] == one.p_corrected
    assert told["copy", "b"] if ("copy", "b") in told else told["b", "copy"] == told["a", "b"]


@pytest.mark.parametrize(
    "n, gap, margin, verdict",
    [
        (30, 0.0, 0.02, "undecided"),
        (2000, 0.0, 0.1, "equivalent"),
        (300, 0.5, 0.05, "different"),
        (4000, 0.1, 0.3, "different, within the margin"),
    ],
)
def test_verdicts(n: int, gap: float, margin: float, verdict: str) -> None:
    gold, systems = two_systems(n, seed=3, gap=gap)
    report = evaluate(
        gold, systems, EFFORT, SignificanceSettings(samples=199), metrics=["mae"], margins={"mae": margin}
    )
    assert report.equivalences[0].verdict == verdict
    told = "\n".join(notes(report))
    assert f"MAE within {margin:g}" in told and verdict in told
    if verdict == "equivalent":
        assert f"(equivalent within {margin:g})" in told


def test_copies_are_equivalent_and_what_is_undefined_is_undecided() -> None:
    gold, systems = two_systems(40, seed=2)
    systems = {"a": systems["a"], "copy": systems["a"].copy(), "constant": np.full(40, 3.0)}
    report = evaluate(
        gold,
        systems,
        EFFORT,
        SignificanceSettings(samples=199),
        metrics=["spearman"],
        margins={"spearman": 0.1},
    )
    by_pair = {(pair.system, pair.baseline): pair for pair in report.equivalences}
    assert by_pair["a", "copy"].verdict == "equivalent" and 0 < by_pair["a", "copy"].p < 1e-9
    undefined = by_pair["a", "constant"]
    assert np.isnan(undefined.p) and undefined.verdict == "undecided"
    assert json.loads(json.dumps(report.to_json(), allow_nan=False))["equivalences"][1]["p"] is None


def test_qe_compare_tests_equivalence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By MT metrics from tables of values: the mean, for which statsmodels has the answer."""
    rng = np.random.default_rng(4)
    a, b = rng.normal(50, 5, (2, 200))
    for name, values in (("a", a), ("b", b)):
        (tmp_path / name).write_text("".join(f"{value}\n" for value in values))
    metric = "table:score_of=mean"
    arguments: list[Any] = ["--system", f"a={tmp_path / 'a'}", "--system", f"b={tmp_path / 'b'}"]
    arguments += ["--metrics", metric, "--margin", f"{metric}=1.5", "--quiet"]
    exit_code("compare", *arguments, "--json")
    equivalence = json.loads(capsys.readouterr().out)["comparisons"][0]["equivalence"]
    assert equivalence["p"] == pytest.approx(ttost_paired(b, a, -1.5, 1.5)[0])
    exit_code("compare", *arguments)
    assert f"within 1.5: {equivalence['verdict']}" in capsys.readouterr().out
