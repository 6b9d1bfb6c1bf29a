"""The engine: one for QE models and MT systems, whatever the metric, test and units."""

from itertools import combinations
from typing import get_args

import numpy as np
import pytest

from qe.statistics import Mae, Pair
from qe.statistics.comparisons import Comparisons, Scored
from qe.statistics.draws import Levels
from qe.statistics.metric import METRICS
from qe.statistics.result import Measure
from qe.statistics.settings import Interval, ResamplingSettings, Test

GROUPS = np.repeat(np.arange(12), 5)


def columns(seed: int = 0, n: int = 60) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    gold = rng.normal(size=n)
    return gold, {f"s{i}": gold + rng.normal(0, 1 + 0.3 * i, n) for i in range(3)}


def engines(test: Test, interval: Interval = "jackknife") -> list[Comparisons]:
    """MAE of predictions, and the same errors as the statistics of MT systems in one run."""
    gold, sides = columns()
    metric, how = Mae(), ResamplingSettings(test=test, samples=300, seed=3, interval=interval)
    statistics = {name: metric.statistics(gold, side)[None] for name, side in sides.items()}
    both = [
        Scored.from_predictions(gold, sides, {"mae": metric}),
        Scored(statistics, {"mae": Measure(slice(0, 2), metric.aggregate)}),
    ]
    return [Comparisons(scored, Levels.from_groups(GROUPS, len(gold)), how) for scored in both]


@pytest.mark.parametrize("test", get_args(Test))
def test_models_and_systems_get_the_same_answers(test: Test) -> None:
    models, systems = engines(test)
    pairs = list(combinations(models.scored.systems, 2))
    for key, result in models.tests(pairs).items():
        assert systems.tests(pairs)[key] == result and result.units <= 12


@pytest.mark.parametrize("interval", get_args(Interval))
def test_their_intervals_are_the_same(interval: Interval) -> None:
    models, systems = engines("ar", interval)
    low, high = models.interval(("s0", "s2", "mae"))
    assert systems.interval(("s0", "s2", "mae")) == (low, high)
    assert low < models.difference("s0", "s2", "mae") < high


def test_a_copy_is_not_dealt_as_a_further_system() -> None:
    """Tukey's test of three systems: p does not change because one of them is there twice."""
    gold, sides = columns(1)
    kinds = {name: METRICS.get(name)() for name in ("mae", "spearman")}
    levels, how = Levels.from_groups(None, 60), ResamplingSettings(test="tukey", samples=300, seed=0)
    pairs = list(combinations(sides, 2))
    alone = Comparisons(Scored.from_predictions(gold, sides, kinds), levels, how).tests(pairs)
    more = Comparisons(Scored.from_predictions(gold, sides | {"copy": sides["s1"]}, kinds), levels, how)
    again = more.tests([*pairs, ("copy", "s1"), ("copy", "s2")])
    for key, result in alone.items():
        assert again[key].p == result.p
    assert again["copy", "s1", "mae"].p == 1 and again["copy", "s2", "mae"].p == alone["s1", "s2", "mae"].p


@pytest.mark.parametrize("test", get_args(Test))
def test_what_is_undefined_has_no_p_value(test: Test) -> None:
    gold, sides = columns(2)
    kinds = {name: METRICS.get(name)() for name in ("mae", "spearman")}
    scored = Scored.from_predictions(gold, sides | {"constant": np.ones(60)}, kinds, {("s0", "mae")})
    engine = Comparisons(
        scored, Levels.from_groups(None, 60), ResamplingSettings(test=test, samples=100, seed=0)
    )
    results = engine.tests([("s0", "s1"), ("s1", "constant")])
    assert np.isnan(results["s0", "s1", "mae"].p) and results["s0", "s1", "spearman"].p <= 1
    assert np.isnan(results["s1", "constant", "spearman"].p) and results["s1", "constant", "mae"].p <= 1
    assert np.isnan(engine.interval(("s0", "s1", "mae"))).all()


def test_ranks_need_no_draws() -> None:
    gold, sides = columns(3)
    engine = Comparisons(
        Scored.from_predictions(gold, sides, {"mae": Mae()}),
        Levels.from_groups(None, 60),
        ResamplingSettings(samples=100, seed=0),
    )
    judged = {
        key: Pair(*key, one, one.p, "mae") for key, one in engine.tests(list(combinations(sides, 2))).items()
    }
    assert engine.ranks(judged, {"mae": False}, {})["mae"]["s0"].bootstrap is None
    drawn = engine.ranks(judged, {"mae": False}, engine.virtual_scores)["mae"]["s0"].bootstrap
    assert drawn is not None and drawn[0] == 1
