"""Metrics compared: exact permutations by brute force, level of the test, intervals, clusters."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from features.basics.errors import InputError
from features.basics.options import configured
from qe.people.correlation import CORRELATIONS
from qe.people.human import Human
from qe.people.metric_evaluation.comparison import CorrelationResult, Settings, compare
from qe.people.metric_evaluation.scores import Evaluation, Metric

Array = np.ndarray[Any, Any]


def evaluation(gold: Array, *metrics: Array, whole: Array | None = None) -> Evaluation:
    segments, systems = (tuple(map(str, range(n))) for n in gold.shape)
    made = [Metric(f"m{i}", table) for i, table in enumerate(metrics)]
    made += [] if whole is None else [Metric("whole", None, whole)]
    return Evaluation("test", Human(systems, segments, gold), tuple(made))


def compared(text: str, made: Evaluation, **settings: Any) -> CorrelationResult:
    return compare(text, configured(CORRELATIONS, text), made, Settings(**settings))


def tables(seed: int, *noise: float, segments: int = 40, systems: int = 5) -> list[Array]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(np.linspace(0, 1, systems), 1.0, (segments, systems))
    return [truth, *(truth + rng.normal(0, sd, truth.shape) for sd in noise)]


def test_p_values_are_those_of_all_exchanges() -> None:
    """Pearson's correlation of nine scores: all 2^9 exchanges of the standardised scores, by SciPy."""
    gold, first, second = tables(1, 0.3, 1.2, segments=3, systems=3)
    result = compared("pearson", evaluation(gold, first, second), samples=0, permutations=512)
    x, y = ((table.ravel() - table.mean()) / table.std() for table in (first, second))
    observed = stats.pearsonr(gold.ravel(), x)[0] - stats.pearsonr(gold.ravel(), y)[0]
    null = [
        stats.pearsonr(gold.ravel(), np.where(heads, y, x))[0]
        - stats.pearsonr(gold.ravel(), np.where(heads, x, y))[0]
        for heads in product([False, True], repeat=9)
    ]
    (one,) = result.tests.values()
    assert one.result.exact and one.result.samples == 512
    assert one.result.p == pytest.approx(np.mean(np.abs(null) >= abs(observed) - 1e-12))
    assert one.result.difference == pytest.approx(abs(observed))


@pytest.mark.slow
@pytest.mark.parametrize("text", ["pearson", "kendall_wmt12", "acc_eq", "system_pearson"])
def test_equal_metrics_are_told_apart_as_often_as_the_level_says(text: str) -> None:
    p_values = []
    for seed in range(60):
        made = evaluation(*tables(seed, 1.0, 1.0, segments=15, systems=4))
        (one,) = compared(text, made, samples=0, permutations=99, seed=seed).tests.values()
        p_values.append(one.result.p)
    # Of 60 uniform p-values, more than 13 are below .1 with probability .002; discrete ones are larger.
    assert np.mean(np.array(p_values) <= 0.1) <= 13 / 60


@pytest.mark.parametrize("text", ["pearson", "spearman", "kendall_wmt12", "acc_eq", "acc_eq:group=none"])
def test_a_better_metric_is_found(text: str) -> None:
    made = evaluation(*tables(5, 1.5, 0.2, 1.6, segments=60))
    result = compared(text, made, samples=100, permutations=200)
    assert result.metrics[0].name == "m1"
    assert result.clusters is not None and result.clusters[0] == ("m1",)
    assert set(result.worse_than("m1", 0.05)) == {"m0", "m2"} and result.cluster_of("m0") == 2
    for metric in result.metrics:
        assert metric.ci[0] < metric.ci[1]


def test_williams_is_that_of_the_three_correlations() -> None:
    gold, first, second = tables(2, 0.8, 1.4)
    result = compared("pearson", evaluation(gold, first, second), samples=0)
    r = [stats.pearsonr(a.ravel(), b.ravel())[0] for a, b in ((gold, first), (gold, second), (first, second))]
    n, (r1, r2, r12) = gold.size, r
    k = 1 - r1**2 - r2**2 - r12**2 + 2 * r1 * r2 * r12
    t = (r1 - r2) * np.sqrt(
        (n - 1) * (1 + r12) / (2 * k * (n - 1) / (n - 3) + (r1 + r2) ** 2 / 4 * (1 - r12) ** 3)
    )
    (one,) = result.williams.values()
    assert one.p == pytest.approx(2 * stats.t.sf(abs(t), n - 3))


def test_scores_of_whole_systems_exchange_systems() -> None:
    """A metric without segment scores: 2^5 exchanges, all of them enumerated."""
    gold, first = tables(3, 0.5)
    whole = gold.mean(axis=0) + np.array([0.1, 0, 0.2, -0.1, 0])
    result = compared("system_pearson", evaluation(gold, first, whole=whole), samples=50)
    (one,) = result.tests.values()
    assert one.result.exchange == "system" and one.result.exact and one.result.samples == 32
    scores = {metric.name: metric.score for metric in result.metrics}
    assert scores["whole"] == pytest.approx(stats.pearsonr(gold.mean(axis=0), whole)[0])
    assert scores["m0"] == pytest.approx(stats.pearsonr(gold.mean(axis=0), first.mean(axis=0))[0])
    only_segments = compared("pearson", evaluation(gold, first, whole=whole), samples=0)
    assert [m.name for m in only_segments.metrics] == ["m0"]
    assert only_segments.notes == ("without segment scores, left out: whole",)


def test_all_metrics_are_measured_on_the_same_translations() -> None:
    gold, first, second = tables(4, 0.5, 0.6)
    second[:10] = np.nan
    result = compared("pearson", evaluation(gold, first, second), samples=0, permutations=0)
    assert result.values == 30 * 5 and result.clusters is None
    scores = {metric.name: metric.score for metric in result.metrics}
    assert scores["m0"] == pytest.approx(stats.pearsonr(gold[10:].ravel(), first[10:].ravel())[0])


def test_intervals_hold_what_they_promise() -> None:
    """Pearson's correlation of .8 with new segments: 95 % intervals of segments, in 60 samples of 150."""
    inside = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        gold = rng.normal(size=(150, 1))
        metric = 0.8 * gold + 0.6 * rng.normal(size=gold.shape)
        result = compared("pearson", evaluation(gold, metric), samples=200, permutations=0)
        low, high = result.metrics[0].ci
        inside += low <= 0.8 <= high
    assert inside >= 51  # 57 are expected; 50 or fewer have probability .007


def test_the_same_seed_gives_the_same_report() -> None:
    made = evaluation(*tables(6, 0.5, 0.7))
    first, again, other = (compared("acc_eq", made, samples=50, seed=seed) for seed in (1, 1, 2))
    assert first.metrics == again.metrics and first.metrics != other.metrics
    assert [one.result.p for one in first.tests.values()] == [one.result.p for one in again.tests.values()]


def test_settings_that_cannot_be() -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"confidence": 1.0}, "0 < confidence < 1"),
        ({"permutations": 5}, "at least 19"),
        ({"resample": "judges"}, "both, segments"),
        ({"correct": "sidak"}, "unknown correction"),
        ({"level": 0.0}, "0 < level < 1"),
        ({"seed": -1}, "negative"),
    )
    for settings, message in cases:
        with pytest.raises(InputError, match=message):
            Settings(**settings)
