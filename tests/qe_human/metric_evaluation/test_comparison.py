"""Metrics compared: exact permutations by brute force, level of the test, intervals, clusters."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from features.basics.assignments import configured
from qe_human.human import CORRELATIONS, Human
from qe_human.metric_evaluation.comparison import CorrelationResult, compare
from qe_human.metric_evaluation.reading import Evaluation, Metric, from_metrics_eval
from qe_human.settings import CorrelationSettings
from tests.factories import Find

Array = np.ndarray[Any, Any]


def evaluation(gold: Array, *metrics: Array, whole: Array | None = None) -> Evaluation:
    segments, systems = (tuple(map(str, range(n))) for n in gold.shape)
    made = [Metric(f"m{i}", table) for i, table in enumerate(metrics)]
    made += [] if whole is None else [Metric("whole", None, whole)]
    return Evaluation("test", Human(systems, segments, gold), tuple(made))


def compared(text: str, made: Evaluation, **settings: Any) -> CorrelationResult:
    return compare(text, configured(CORRELATIONS, text), made, CorrelationSettings(**settings))


def tables(seed: int, *noise: float, segments: int = 40, systems: int = 5) -> list[Array]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(np.linspace(0, 1, systems), 1.0, (segments, systems))
    return [truth, *(truth + rng.normal(0, sd, truth.shape) for sd in noise)]


def on_one_scale(table: Array) -> Array:
    """What lies between the 10th and 90th percentile has mean 0 and range 1."""
    low, high = np.quantile(table, [0.1, 0.9])
    return (table - table[(table >= low) & (table <= high)].mean()) / (high - low)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exchange", "shape"), [("score", (3, 3)), ("segment", (7, 1)), ("system", (1, 7)), (None, (1, 1))]
)
def test_p_values_are_those_of_all_exchanges(exchange: str | None, shape: tuple[int, int]) -> None:
    """Pearson's correlation by SciPy after all exchanges of scores, of whole segments, of whole systems."""
    segments, systems = (3, 3) if exchange == "score" else (7, 7)
    gold, first, second = tables(1, 0.3, 0.9, segments=segments, systems=systems)
    x, y = on_one_scale(first), on_one_scale(second)

    def difference(heads: Array) -> float:
        one, two = np.where(heads, y, x), np.where(heads, x, y)
        left, right = (stats.pearsonr(gold.ravel(), each.ravel())[0] for each in (one, two))
        return float(left - right)

    def expected(shape: tuple[int, int]) -> float:
        faces = product([False, True], repeat=shape[0] * shape[1])
        null = [difference(np.array(face).reshape(shape)) for face in faces]
        return float(np.mean(np.abs(null) >= abs(observed) - 1e-12))

    observed = difference(np.zeros((1, 1), bool))
    made = evaluation(gold, first, second)
    (one,) = compared("pearson", made, samples=0, permutations=512, exchange=exchange).tests.values()
    assert one.result.difference == pytest.approx(abs(observed))
    assert one.result.exact or exchange is None
    if exchange is None:  # both must show it
        assert one.result.exchange == "segment and system"
        assert one.result.p >= max(expected((7, 1)), expected((1, 7))) - 1e-12
    else:
        assert one.result.exchange == exchange and one.result.p == pytest.approx(expected(shape))


def test_an_outlier_moves_neither_interval_nor_p_of_calibrated_accuracy() -> None:
    """How far a score lies beyond all others says nothing: a grid over the range would be spoilt."""
    gold, first, second = tables(3, 0.3, 0.6, segments=30, systems=4)

    def told(outlier: float) -> list[Any]:
        spoilt = first.copy()
        spoilt[0, 0] = outlier
        made = evaluation(np.round(gold), spoilt, second)
        result = compared("acc_eq", made, samples=100, permutations=200, exchange="score")
        (one,) = result.tests.values()
        return [*result.metrics, one.result.difference, one.result.p]

    assert told(-10_000.0) == told(-100.0)
    assert 0 < told(-100.0)[-1] < 1


@pytest.mark.slow
@pytest.mark.parametrize("text", ["pearson", "kendall_wmt12", "acc_eq", "system_pearson"])
def test_equal_metrics_are_told_apart_as_often_as_the_level_says(text: str) -> None:
    """Errors of their own on every translation: the published test of single scores holds its level."""
    p_values = []
    for seed in range(60):
        made = evaluation(*tables(seed, 1.0, 1.0, segments=15, systems=4))
        (one,) = compared(text, made, samples=0, permutations=99, seed=seed, exchange="score").tests.values()
        p_values.append(one.result.p)
    # Of 60 uniform p-values, more than 13 are below .1 with probability .002; discrete ones are larger.
    assert np.mean(np.array(p_values) <= 0.1) <= 13 / 60


@pytest.mark.slow
@pytest.mark.parametrize("text", ["system_pearson", "pairwise_accuracy", "pearson", "acc_eq"])
@pytest.mark.parametrize("shared", ["system", "segment", "both", "nothing"])
def test_errors_that_translations_share_make_no_difference(text: str, shared: str) -> None:
    """Two metrics of one law on 8 systems: 60 comparisons, of which 3 are expected to be rejected."""
    rejected = []
    for seed in range(60):
        human, *metrics = one_law(seed, shared, segments=20, systems=8)
        made = evaluation(human, *metrics)
        (one,) = compared(text, made, samples=0, permutations=99, seed=seed).tests.values()
        rejected.append(one.result.p <= 0.05)
    assert sum(rejected) <= 8  # 9 or more of 60 have probability .004


def one_law(seed: int, shared: str, segments: int, systems: int) -> list[Array]:
    """People, and two equally good metrics whose errors have parts that go with systems or segments."""
    rng = np.random.default_rng(seed)
    by = {"system": (0.3, 0), "segment": (0, 0.6), "both": (0.3, 0.6), "nothing": (0, 0)}[shared]
    truth = rng.normal(0, 0.3, (1, systems)) + rng.normal(0, 1, (segments, systems))
    people = truth + rng.normal(0, 0.5, truth.shape)
    return [people] + [
        truth
        + rng.normal(0, by[0], (1, systems))
        + rng.normal(0, by[1], (segments, 1))
        + rng.normal(0, 0.5, truth.shape)
        for _ in range(2)
    ]


def test_the_published_test_finds_differences_that_systems_share() -> None:
    """What the exchange of single scores takes for evidence: an error per system, in 60 translations each."""
    found = 0
    for seed in range(20):
        people, *metrics = one_law(seed, "system", segments=60, systems=8)
        made = evaluation(people, *metrics)
        (one,) = compared("system_pearson", made, samples=0, permutations=99, exchange="score").tests.values()
        found += one.result.p <= 0.05
    assert found >= 5  # 1 would be expected of a valid test of new systems


def test_too_few_systems_are_said_with_the_number_needed() -> None:
    made = evaluation(*tables(5, 0.2, 1.5, 1.6, segments=60, systems=5))
    result = compared("pearson", made, samples=50, permutations=200)
    assert result.clusters is None and result.claim == "new segments and new systems"
    assert all(np.isnan(one.p_corrected) for one in result.tests.values())
    assert any("that takes 7 systems" in note for note in result.notes)  # 2 / 128 <= .05 / 3
    assert any("--exchange segment" in note for note in result.notes)
    assert all(metric.ci[0] < metric.ci[1] for metric in result.metrics)
    alone = compared("pearson", made, samples=0, permutations=200, exchange="segment")
    assert alone.clusters is not None and alone.claim == "new segments"
    eight = compared("system_pearson", evaluation(*tables(5, 0.2, 1.5, systems=8)), samples=0)
    (one,) = eight.tests.values()
    assert one.result.min_p == pytest.approx(2 / 2**8)


def test_one_system_makes_a_claim_of_segments_alone() -> None:
    made = evaluation(*tables(5, 0.2, 1.5, segments=60, systems=1))
    for exchange in (None, "segment", "system", "score"):
        result = compared("pearson", made, samples=0, permutations=200, exchange=exchange)
        (one,) = result.tests.values()
        assert one.result.exchange == "segment" and result.claim == "new segments"
        assert result.clusters is not None and one.result.p < 0.05


@pytest.mark.parametrize("metrics", [2, 11])
def test_permutations_follow_the_number_of_pairs_of_metrics(metrics: int) -> None:
    """The 11 metrics of Popovic's tables are 55 pairs; the smallest p, corrected, stays far below .05."""
    made = evaluation(*tables(5, *np.linspace(0.2, 1.5, metrics), segments=30, systems=1))
    result = compared("pearson", made, samples=0)
    pairs = metrics * (metrics - 1) // 2
    drawn = max(one.result.samples for one in result.tests.values())
    assert len(result.tests) == pairs and pairs / (drawn + 1) < 0.05 / 10


def test_copies_of_a_metric_ask_nothing_new() -> None:
    gold, good, poor = tables(5, 0.2, 1.5, segments=60, systems=1)
    two = compared("pearson", evaluation(gold, good, poor), samples=0)
    three = compared("pearson", evaluation(gold, good, poor, good.copy()), samples=0)
    few, more = ({one.p_corrected for one in each.tests.values()} for each in (two, three))
    assert more == {1.0, *few}


def test_system_scores_are_of_translations_that_people_judged() -> None:
    """Three systems, four segments: where people judged, the metric agrees; elsewhere it does not."""
    gold = np.array([[1.0, 2, 3], [1, 2, 3], [np.nan, np.nan, np.nan], [1, np.nan, np.nan]])
    metric = np.array([[1.0, 2, 3], [1, 2, 3], [90, 50, 10], [1, 70, -70]])
    result = compared("system_pearson", evaluation(gold, metric), samples=0)
    assert result.metrics[0].score == pytest.approx(1.0) and result.values == 7
    unscored = metric.copy()
    unscored[0] = np.nan  # nor are people's scores of translations that a metric does not know
    gold[0] = [30, 20, 10]
    again = compared("system_pearson", evaluation(gold, unscored), samples=0)
    assert again.metrics[0].score == pytest.approx(1.0) and again.values == 4


@pytest.mark.slow
def test_system_scores_come_from_official_files_and_tables_name_their_base(shared_data: Find) -> None:
    """People judged 3 of 4 segments: means of those would order the systems as people do."""
    made = from_metrics_eval(shared_data("cases/system-scores"), "en-de", "mqm", None, [])
    people = [-2, -8 / 3, -10 / 3, -13 / 3]
    files = {"neural-refA": [0.625, 0.775, 0.725, 0.6625], "BLEU-refA": [20.0, 30, 27, 33]}
    result = compared("system_pearson", made, samples=0, permutations=0)
    assert result.base == "scores of systems as given" and result.values == 4
    for metric in result.metrics:
        assert metric.score == pytest.approx(stats.pearsonr(people, files[metric.name])[0])
    by_segment = compared("soft_pairwise_accuracy", made, samples=0, permutations=0)
    assert by_segment.base == "means of 3 of 4 segments"
    assert [metric.name for metric in by_segment.metrics] == ["neural-refA", "BLEU-refA"]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["pearson", "spearman", "kendall_wmt12", "acc_eq", "acc_eq:group=none"])
def test_a_better_metric_is_found(text: str) -> None:
    made = evaluation(*tables(5, 1.5, 0.2, 1.6, segments=60))
    result = compared(text, made, samples=100, permutations=200, exchange="segment")
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
    variance = 2 * k * (n - 1) / (n - 3) + (r1 + r2) ** 2 / 4 * (1 - r12) ** 3
    t = (r1 - r2) * np.sqrt((n - 1) * (1 + r12) / variance)
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
    assert result.base == "scores of systems as given (whole), else means of 40 of 40 segments"
    assert scores["whole"] == pytest.approx(stats.pearsonr(gold.mean(axis=0), whole)[0])
    assert scores["m0"] == pytest.approx(stats.pearsonr(gold.mean(axis=0), first.mean(axis=0))[0])
    only_segments = compared("pearson", evaluation(gold, first, whole=whole), samples=0)
    assert [m.name for m in only_segments.metrics] == ["m0"]
    assert only_segments.notes == ("without segment scores, left out: whole",)


@pytest.mark.slow
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
