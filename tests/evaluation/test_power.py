"""Power of QE comparisons by simulation: closed forms, realised power, `qe power`."""

import json
from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from features.basics.progress import silent
from qe.evaluation.power import _Pilot, power
from qe.statistics.metric import METRICS
from qe.statistics.settings import PowerSettings
from tests.factories import Monkeypatch, ran, refuses

Floats = np.ndarray
SMALL = PowerSettings(simulations=300, samples=99)


def pilot(n: int, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    gold = np.round(rng.uniform(1, 5, n), 1)
    shared = rng.normal(0, 0.8, n)
    return gold, gold + shared + rng.normal(0, 0.5, n), gold + shared + rng.normal(0, 0.5, n)


@pytest.mark.slow
def test_mae_has_the_closed_form_of_a_paired_t_test() -> None:
    gold, a, b = pilot(300)
    spread = float(np.std(np.abs(a - gold) - np.abs(b - gold), ddof=1))
    gain = power(gold, a, b, metrics=["mae"], size=120, gains={"mae": 0.08}, settings=SMALL).metrics[0]
    effect = TTestPower().solve_power(nobs=120, alpha=0.05, power=0.8)
    assert gain.detectable == pytest.approx(effect * spread, rel=0.1)
    assert gain.needed == pytest.approx(
        TTestPower().solve_power(0.08 / spread, alpha=0.05, power=0.8), rel=0.2
    )
    assert gain.at_detectable is not None and gain.at_detectable.power == pytest.approx(0.8, abs=0.08)


@pytest.mark.slow
def test_no_gain_is_found_as_often_as_half_the_level_says_and_small_gains_are_overstated() -> None:
    gold, a, b = pilot(80, seed=1)
    curve = power(gold, a, b, metrics=["spearman"], settings=SMALL).metrics[0].by_gain
    assert curve[0].difference == 0 and curve[0].power < 0.06
    powers = [point.power for point in curve]
    assert powers == sorted(powers) and powers[-1] > 0.95
    assert curve[1].exaggeration > 1.2 > curve[-1].exaggeration


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["delta_avg", "spearman", "kendall", "mae"])
def test_without_a_gain_one_is_found_as_often_as_half_the_level_says(metric: str) -> None:
    """On average over pilots: a single skewed one is its own population, whose tests lean to one side.

    Of 5 x 200 test sets, .025 and three standard errors (.005 of the draws, .005 between pilots) is .046.
    """
    settings = PowerSettings(simulations=200, samples=59)
    shares = []
    for seed in range(5):
        pilots = _Pilot.from_data(metric, METRICS.get(metric)(), *pilot(80, seed), None, settings)
        shares.append(pilots.point(80, 0.0, 0, silent).power)
    assert 0.008 < np.mean(shares) < 0.046


@pytest.mark.parametrize("metric", ["delta_avg", "spearman"])
@pytest.mark.parametrize("errors", [0.0, 2.0])
def test_virtual_test_sets_have_the_gain_in_question_on_average(metric: str, errors: float) -> None:
    """The score of one pilot moves in steps, and it is not the mean of smaller sets."""
    settings = PowerSettings(simulations=200, samples=59)
    pilots = _Pilot.from_data(metric, METRICS.get(metric)(), *pilot(80), None, settings)
    draws = pilots.draws(40, 0)
    moved = pilots.moved(pilots._centred_share(errors * pilots.error, draws))
    score = pilots.metric.score
    gains = [score(pilots.gold[d.rows], moved[d.rows]) - score(pilots.gold[d.rows], pilots.baseline[d.rows])
             for d in draws]  # fmt: skip
    assert np.mean(gains) == pytest.approx(errors * pilots.error, abs=0.02 * np.std(gains))


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["delta_avg", "kendall", "pearson", "rmse"])
def test_larger_test_sets_see_smaller_gains(metric: str) -> None:
    gold, a, b = pilot(80)
    settings = PowerSettings(simulations=100, samples=59)
    small, large = (
        power(gold, a, b, metrics=[metric], size=size, settings=settings).metrics[0].detectable
        for size in (40, 160)
    )
    assert 1.6 < small / large < 2.6  # the root of four, and what is lost with few segments


@pytest.mark.slow
def test_corrected_comparisons_need_more() -> None:
    gold, a, b = pilot(100)
    one = power(gold, a, b, metrics=["mae"], settings=SMALL).metrics[0].detectable
    many = PowerSettings(simulations=300, samples=299, comparisons=10)
    reach = [TTestPower().solve_power(nobs=100, alpha=alpha, power=0.8) for alpha in (0.05, 0.005)]
    outcome = power(gold, a, b, metrics=["mae"], settings=many).metrics[0].detectable
    assert outcome / one == pytest.approx(reach[1] / reach[0], rel=0.12)


@pytest.mark.slow
def test_documents_are_drawn_whole() -> None:
    """Segments that agree within a document say no more than the document."""
    gold, a, b = (np.repeat(column, 5) for column in pilot(60))
    documents = np.repeat(np.arange(60), 5)
    alone = power(*(column[::5] for column in (gold, a, b)), metrics=["mae"], settings=SMALL).metrics[0]
    gain = power(gold, a, b, metrics=["mae"], settings=SMALL, groups=documents).metrics[0]
    assert gain.size == 60 and gain.detectable == pytest.approx(alone.detectable, rel=0.1)


@pytest.mark.slow
def test_what_no_predictions_can_reach_is_said() -> None:
    gold, a, b = pilot(50)
    refuses("better by 3 in mae", power, gold, a, b, metrics=["mae"], gains={"mae": 3.0}, settings=SMALL)
    refuses("do not differ", power, gold, a, a, metrics=["mae"], settings=SMALL)
    almost = gold + 0.001 * np.sign(a - gold)
    planned = power(gold, gold + 0.9 * (a - gold), almost, metrics=["spearman"], size=8, settings=SMALL)
    assert np.isnan(planned.metrics[0].detectable)
    assert any("no possible gain" in note for note in planned.notes)


@pytest.mark.slow
def test_the_command(tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for name, column in zip(("gold", "a", "b"), pilot(60), strict=True):
        (tmp_path / f"{name}.txt").write_text("".join(f"{value:.4f}\n" for value in column))
    given = [
        "--gold",
        tmp_path / "gold.txt",
        "--predictions",
        f"new={tmp_path / 'a.txt'}",
        tmp_path / "b.txt",
    ]
    given += ["--metrics", "mae", "--simulations", "100", "--samples", "59", "--gain", "mae=0.1"]
    told = ran("power", *given, "--output", tmp_path / "out").out
    assert "gain seen in 60 segments" in told and "a pilot of 60" in told
    report = json.loads((tmp_path / "out" / "power.json").read_text())
    assert json.loads(ran("power", *given, "--json").out) == {"schema": 1, **report}
    assert report["metrics"][0]["needed"] > 60 and report["recipe"]["simulations"] == 100
    assert (tmp_path / "out" / "power.png").read_bytes().startswith(b"\x89PNG")
