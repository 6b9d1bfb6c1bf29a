"""Bayesian comparisons against baycomp, and by the command line."""

import json
from pathlib import Path
from typing import Any

import baycomp
import numpy as np
import pytest

from qe.statistics.bayesian import bayesian_comparisons, correlated_t, signed_rank
from tests.factories import exit_code


@pytest.mark.parametrize("rope, runs", [(0.0, 1), (0.01, 1), (0.02, 2), (0.5, 2)])
def test_the_correlated_t_test_is_baycomps(rope: float, runs: int) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(0.8, 0.02, 20), rng.normal(0.81, 0.02, 20)
    expected = baycomp.CorrelatedTTest.probs(x, y, rope, runs)
    outcome = correlated_t(y - x, rope, runs)
    assert [outcome.below, outcome.above] == pytest.approx([expected[0], expected[-1]], abs=1e-12)
    assert outcome.below + outcome.within + outcome.above == pytest.approx(1)


@pytest.mark.parametrize("shift", [0.0, 0.3, -0.6])
def test_the_signed_rank_test_is_baycomps(shift: float) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(0, 1, 25), rng.normal(shift, 1, 25)
    expected = baycomp.SignedRankTest.probs(x, y, 0.25, nsamples=4000, random_state=3)
    outcome = signed_rank(y - x, 0.25, samples=4000, seed=3)
    assert [outcome.below, outcome.within, outcome.above] == pytest.approx(expected, abs=0.035)


def test_folds_without_any_spread() -> None:
    same = np.full(5, 0.1)
    assert correlated_t(same, 0.0).above == 1 and correlated_t(same, 0.2).within == 1


@pytest.mark.slow
def test_qe_evaluate_gives_probabilities(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(4)
    gold = rng.uniform(1, 5, 100)
    a, b = gold + rng.normal(0, 0.3, 100), gold + rng.normal(0, 0.5, 100)
    folds = np.arange(100) % 5
    for name, column in (("gold", gold), ("a", a), ("b", b), ("folds", folds)):
        (tmp_path / name).write_text("".join(f"{value}\n" for value in column))
    errors = [[np.abs(side - gold)[folds == k].mean() for k in range(5)] for side in (a, b)]
    expected = baycomp.CorrelatedTTest.probs(np.array(errors[0]), np.array(errors[1]), 0.05)
    arguments: list[Any] = ["evaluate", "--gold", tmp_path / "gold", tmp_path / "a", tmp_path / "b"]
    arguments += ["--margin", "mae=0.05", "--bayes", "--samples", "199"]
    exit_code(*[*arguments, "--bayes-folds", tmp_path / "folds", "--json"])
    (outcome,) = json.loads(capsys.readouterr().out)["bayesian"]
    # a's errors are smaller: b - a above the region is a better than b
    assert [outcome["worse"], outcome["equal"], outcome["better"]] == pytest.approx(expected, abs=1e-9)
    exit_code(*arguments)
    assert "Bayesian signed-rank test of segments, MAE within 0.05" in capsys.readouterr().out
    (tmp_path / "documents").write_text("".join(f"{i // 25}\n" for i in range(100)))
    exit_code(*[*arguments, "--group", tmp_path / "documents"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "a against b cannot be decided: there are 4 groups" in printed and "takes 6 groups" in printed
    assert (
        exit_code(*[*arguments, "--group", tmp_path / "documents", "--bayes-folds", tmp_path / "folds"]) == 2
        and "folds of whole groups" in capsys.readouterr().err
    )


def test_documents_are_the_units_where_they_are_given() -> None:
    """Mean differences of documents, by baycomp; .95 is passed no more often than new documents allow."""
    rng = np.random.default_rng(3)
    documents = np.repeat(np.arange(12), 10)
    gold = np.zeros(120)
    sides = {name: rng.normal(1, 0.1, 120) + rng.normal(0, 0.3, 12)[documents] for name in ("a", "b")}
    (outcome,) = bayesian_comparisons(gold, sides, {"mae": 0.05}, groups=documents, samples=4000)
    means = [np.abs(side).reshape(12, 10).mean(axis=1) for side in sides.values()]
    expected = baycomp.SignedRankTest.probs(*means, 0.05, nsamples=4000, random_state=3)
    assert [outcome.worse, outcome.equal, outcome.better] == pytest.approx(expected[::1], abs=0.035)


@pytest.mark.slow
def test_equal_systems_seldom_look_better_by_documents() -> None:
    """What segments pass off as certain: errors that go together in 8 documents of 20 segments."""
    surest = {"segments": 0, "documents": 0}
    documents = np.repeat(np.arange(8), 20)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sides = {name: np.abs(rng.normal(1, 0.3, 160) + rng.normal(0, 0.3, 8)[documents]) for name in "ab"}
        for name, groups in (("segments", None), ("documents", documents)):
            (outcome,) = bayesian_comparisons(
                np.zeros(160), sides, {"mae": 0.001}, groups=groups, samples=500, seed=seed
            )
            surest[name] += max(outcome.better, outcome.worse) > 0.95
    assert surest["documents"] <= 15 < surest["segments"]  # 6 of 60 are what .95 says


def test_too_few_units_give_no_probability() -> None:
    (outcome,) = bayesian_comparisons(np.zeros(5), {"a": np.ones(5), "b": np.full(5, 2.0)}, {"mae": 0.05})
    assert np.isnan(outcome.better) and "that takes 6 segments" in outcome.undecided
    assert outcome.to_json()["better"] is None
