"""Bayesian comparisons against baycomp, and by the command line."""

import json
from pathlib import Path
from typing import Any

import baycomp
import numpy as np
import pytest

from features.basics.errors import InputError
from qe.cli import main
from qe.statistics.bayesian import correlated_t, signed_rank


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


def test_folds_without_any_spread_and_regions_without_width() -> None:
    same = np.full(5, 0.1)
    assert correlated_t(same, 0.0).above == 1 and correlated_t(same, 0.2).within == 1
    with pytest.raises(InputError, match="2 folds or more"):
        correlated_t(same[:1], 0.1)
    with pytest.raises(InputError, match="wider than 0"):
        signed_rank(same, 0.0)


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
    with pytest.raises(SystemExit):
        main([*map(str, [*arguments, "--bayes-folds", tmp_path / "folds", "--json"])])
    (outcome,) = json.loads(capsys.readouterr().out)["bayesian"]
    # a's errors are smaller: b - a above the region is a better than b
    assert [outcome["worse"], outcome["equal"], outcome["better"]] == pytest.approx(expected, abs=1e-9)
    with pytest.raises(SystemExit):
        main([*map(str, arguments)])
    assert "Bayesian signed-rank test, mae within 0.05: P(a better than b) = " in capsys.readouterr().out
