"""Correlations with people: test vectors of mt-metrics-eval, SciPy, brute force, and laws that all keep."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from features.basics.assignments import configured
from qe_human.correlations.pairs import best_threshold, calibrated_on_all_pairs
from qe_human.human import CORRELATIONS, Human, Preferences
from qe_human.rankings.methods import ExpectedWins

NAN = float("nan")
TEXTS = [*CORRELATIONS.names, "acc_eq:group=none", "pearson:group=item", "spearman:group=system"]


def human(scores: Any) -> Human:
    """Human scores; rows are segments, columns systems."""
    table = np.array(scores, float)
    segments, systems = (
        tuple(f"{letter}{i}" for i in range(n)) for letter, n in zip("sk", table.shape, strict=True)
    )
    return Human(systems, segments, table)


def score(text: str, gold: Human, metric: Any) -> float:
    table = np.array(metric, float)
    problem = configured(CORRELATIONS, text).problem(gold, ~np.isnan(table))
    return problem.score(table[problem.cells[:, 0], problem.cells[:, 1]])


def drawn(
    seed: int, segments: int = 30, systems: int = 5
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    gold = np.round(rng.normal(np.linspace(0, 2, systems), 1.5, (segments, systems)))
    return gold, gold + rng.normal(0, 1.5, gold.shape)


# Of mt-metrics-eval's stats_test.py: two systems, three segments, system by system.
GOLD, METRIC = np.array([[1, 2, 3], [4, 5, 6]]).T, np.array([[2, 1, 4], [3, 3, 7]]).T


@pytest.mark.parametrize(("group", "expected"), [("none", 0.776), ("system", 0.760), ("item", 1.0)])
def test_pearson_as_in_mt_metrics_eval(group: str, expected: float) -> None:
    assert score(f"pearson:group={group}", human(GOLD), METRIC) == pytest.approx(expected, abs=5e-4)


def test_missing_scores_leave_their_group_out_as_in_mt_metrics_eval() -> None:
    gold, metric = [[1, 4], [NAN, 5], [3, 6]], [[2, 3], [1, 5], [8, 6]]
    expected = (stats.pearsonr([1, 4], [2, 3])[0] + stats.pearsonr([3, 6], [8, 6])[0]) / 2
    assert score("pearson:group=item", human(gold), metric) == pytest.approx(expected)


def test_calibrated_accuracy_as_in_mt_metrics_eval() -> None:
    """The examples of tau_optimization_test.py and stats_test.py."""
    metric = np.array([[0, 2, 6, 8]])
    for ranks, accuracy, threshold in (([[1, 2, 3, 4]], 1.0, 0.0), ([[1, 1, 1, 4]], 4 / 6, 4.0)):
        gold = human(ranks)
        assert score("acc_eq", gold, metric) == pytest.approx(accuracy)
        problem = configured(CORRELATIONS, "acc_eq").problem(gold, metric > -1)
        assert problem.details(metric[0].astype(float))["threshold"] == threshold
    rows = [[0, 5, 2, 3, 2], [NAN, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1], [NAN] * 5]
    people = [[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, NAN, 3, 2], [NAN] * 5]
    assert score("acc_eq", human(people), rows) == pytest.approx(0.4916666666666668)
    assert score("acc_eq:calibrate=false", human(people), rows) == pytest.approx(0.4666666666666667)
    one = np.array([[1, 2, 2, 3, 4]]).T, np.array([[2, 1, 1.5, 5, 3]]).T
    assert score("acc_eq:group=none,calibrate=false", human(one[0]), one[1]) == pytest.approx(0.6)
    assert score("acc_eq:group=none", human(one[0]), one[1]) == pytest.approx(0.7)


def test_agreement_of_systems_as_in_mt_metrics_eval() -> None:
    assert score("pairwise_accuracy", human([[1, 2, 3, 3, 4]]), [[1, 1, 2, 1, 2]]) == 5 / 10


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=2, max_size=25),
    st.sampled_from([1.0, 0.37, 1e-9]),
)
@settings(max_examples=60, deadline=None)
def test_calibration_is_that_of_brute_force(points: list[tuple[int, int]], unit: float) -> None:
    """All thresholds tried, each pair looked at: over all pairs without holding them, and sorted."""
    values, gold = (np.array(column, float) for column in zip(*points, strict=True))
    values *= unit
    pairs = list(combinations(range(len(values)), 2))
    sizes = sorted({0.0, *(abs(values[i] - values[j]) for i, j in pairs)})
    best = max(
        sum(
            (gold[i] == gold[j]) if abs(values[i] - values[j]) <= limit
            else (values[i] > values[j]) == (gold[i] > gold[j]) and gold[i] != gold[j]
            for i, j in pairs
        )
        for limit in sizes
    )  # fmt: skip
    threshold, accuracy = calibrated_on_all_pairs(values, gold)
    assert accuracy == pytest.approx(best / len(pairs))
    assert any(abs(threshold - limit) <= 1e-12 * unit for limit in sizes)
    left, right = map(list, zip(*pairs, strict=True))
    weight = np.full(len(pairs), 1 / len(pairs))
    sign = np.sign(gold[left] - gold[right]).astype(int)
    again = best_threshold(values[left] - values[right], sign, weight)
    assert again[1] == pytest.approx(accuracy)


@pytest.mark.parametrize("seed", range(3))
def test_kendall_of_wmt12_is_that_of_brute_force(seed: int) -> None:
    gold, metric = drawn(seed)
    metric = np.round(metric)
    concordant = discordant = 0
    for people, scores in zip(gold, metric, strict=True):
        for a, b in combinations(range(len(people)), 2):
            if people[a] == people[b]:
                continue
            agree = (scores[a] > scores[b]) == (people[a] > people[b]) and scores[a] != scores[b]
            concordant, discordant = concordant + agree, discordant + (not agree)
    expected = (concordant - discordant) / (concordant + discordant)
    assert score("kendall_wmt12", human(gold), metric) == pytest.approx(expected)


def test_kendall_counts_every_judgement_of_rankings() -> None:
    """Three judgements of one pair, two against one, a tie, and one that the metric scores equal."""
    segment, left, right = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 1], [1, 0, 1], [1, 1, 2]]).T
    outcome = np.array([1, 1, -1, 0, 1], np.int8)
    preferences = Preferences(segment, left, right, outcome, ExpectedWins())
    gold = Human(("a", "b", "c"), ("1", "2"), None, preferences)
    metric = np.array([[2.0, 1, 0], [5, 4, 4]])
    assert score("kendall_wmt12", gold, metric) == pytest.approx((2 - 2) / 4)
    # acc_eq: segment 1 has 2 of 3 pairs right; in segment 2 both pairs are within a threshold of 1 (1 right)
    # or the tie is missed and the other is missed, too (0 right).
    assert score("acc_eq:calibrate=false", gold, metric) == pytest.approx((2 / 3 + 0) / 2)
    assert gold.of_systems() == pytest.approx(ExpectedWins().scores(
        np.array([[0, 2, 0], [1, 0, 1], [0, 0, 0.0]]), np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0.0]])
    ))  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_coefficients_are_those_of_scipy(seed: int) -> None:
    gold, metric = drawn(seed)
    flat = gold.ravel(), metric.ravel()
    assert score("pearson", human(gold), metric) == pytest.approx(stats.pearsonr(*flat)[0])
    assert score("spearman", human(gold), metric) == pytest.approx(stats.spearmanr(*flat)[0])
    rows = [stats.spearmanr(g, m)[0] for g, m in zip(gold, metric, strict=True) if np.ptp(g) > 0]
    assert score("spearman:group=item", human(gold), metric) == pytest.approx(np.mean(rows))
    means = gold.mean(axis=0), metric.mean(axis=0)
    assert score("system_pearson", human(gold), metric) == pytest.approx(stats.pearsonr(*means)[0])
    assert score("system_spearman", human(gold), metric) == pytest.approx(stats.spearmanr(*means)[0])


def test_soft_pairwise_accuracy_is_that_of_all_permutations() -> None:
    """All 2^8 flips of the signs, for people and for the metric (Thompson et al. 2024, equations 3 to 5)."""
    gold, metric = drawn(4, segments=8, systems=3)

    def p(table: np.ndarray[Any, Any], a: int, b: int) -> float:
        differences = table[:, a] - table[:, b]
        signs = np.array([[1 - 2 * (i >> j & 1) for j in range(8)] for i in range(256)])
        null, observed = signs @ differences, differences.sum()
        return float(np.mean((null > observed + 1e-9) + (np.abs(null - observed) < 1e-9) / 2))

    expected = 1 - np.mean([abs(p(gold, a, b) - p(metric, a, b)) for a, b in combinations(range(3), 2)])
    scored = score("soft_pairwise_accuracy:samples=50000", human(gold), metric)
    assert scored == pytest.approx(expected, abs=0.01)


def test_soft_pairwise_accuracy_by_the_rule_of_mt_metrics_eval() -> None:
    """pce.py there: p is the share of all sign flips with `>=`, for the system that comes first by name."""
    gold, metric = drawn(4, segments=8, systems=3)
    gold[:, 2] = gold[:, 0]  # people find two systems equal everywhere
    signs = np.array([[1 - 2 * (i >> j & 1) for j in range(8)] for i in range(256)])

    def p(table: np.ndarray[Any, Any], a: int, b: int) -> float:
        differences = table[:, a] - table[:, b]
        return float(np.mean(signs @ differences >= differences.sum() - 1e-9))

    pairs = list(combinations(range(3), 2))
    expected = 1 - np.mean([abs(p(gold, a, b) - p(metric, a, b)) for a, b in pairs])
    text = "soft_pairwise_accuracy:samples=50000"
    assert score(f"{text},equal=whole", human(gold), metric) == pytest.approx(expected, abs=0.01)
    assert abs(score(text, human(gold), metric) - expected) > 0.02
    # The order of columns is not that of names: k0, k1, k2.
    turned = Human(("k2", "k1", "k0"), human(gold).segments, gold[:, ::-1])
    assert score(f"{text},equal=whole", turned, metric[:, ::-1]) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("text", TEXTS)
def test_every_correlation_keeps_the_laws(text: str) -> None:
    gold, metric = drawn(7)
    people = human(gold)
    assert score(text, people, gold) == pytest.approx(1.0)
    own = score(text, people, metric)
    assert score(text, people, -gold) < min(own, 0.5)
    assert score(text, people, 3 * metric + 5) == pytest.approx(own)
    order = np.random.default_rng(1).permutation(len(gold))
    soft = text == "soft_pairwise_accuracy"  # its flips belong to rows
    assert score(text, human(gold[order]), metric[order]) == pytest.approx(own, abs=0.02 if soft else 1e-9)
    assert score(text, human(gold[:, ::-1]), metric[:, ::-1]) == pytest.approx(own)


@pytest.mark.parametrize("text", TEXTS)
def test_weights_are_copies_of_segments_and_systems(text: str) -> None:
    """A bootstrap sample by weights is the same as copies of the rows; of systems, pairs of copies aside."""
    gold, metric = drawn(9, segments=12)
    weights = np.array([2, 0, 1, 1, 3, 1, 0, 1, 1, 1, 1, 0.0])
    copies = np.repeat(np.arange(12), weights.astype(int))
    kind = configured(CORRELATIONS, text)
    known = np.ones(gold.shape, bool)
    problem, repeated = kind.problem(human(gold), known), kind.problem(human(gold[copies]), known[copies])
    values = problem.on_common_scale(metric[problem.cells[:, 0], problem.cells[:, 1]])
    table = np.full(gold.shape, NAN)
    table[problem.cells[:, 0], problem.cells[:, 1]] = values
    same = table[copies][repeated.cells[:, 0], repeated.cells[:, 1]]
    outcome = problem.weighted(values, weights, np.ones(5))
    if "none" in text or text == "spearman":
        # Pairs of copies are no pairs; ranks are those of the whole data.
        assert outcome == pytest.approx(repeated.score(same), abs=0.15)
    elif text.startswith("spearman") or "accuracy" in text or "acc_eq" in text:
        assert outcome == pytest.approx(repeated.score(same), abs=0.06)
    else:
        assert outcome == pytest.approx(repeated.score(same))
    assert np.isnan(problem.weighted(values, weights, np.zeros(5)))


def test_what_is_undefined_is_nan() -> None:
    gold = drawn(3)[0]
    constant = np.zeros(gold.shape)
    for text in ("pearson", "spearman", "pearson:group=item", "system_pearson", "system_spearman"):
        assert np.isnan(score(text, human(gold), constant)), text
    assert score("kendall_wmt12", human(gold), constant) == -1.0  # by its definition


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_exchanges_are_those_of_values_that_changed_sides(text: str, missing: float) -> None:
    """What is rescored for all exchanges at once, one by one."""
    gold, metric = drawn(12, segments=9, systems=4)
    gold[np.random.default_rng(2).random(gold.shape) < missing] = NAN
    if "soft" in text:
        gold[:4] = np.arange(4.0)  # segments that people judged for all systems
    problem = configured(CORRELATIONS, text).problem(human(gold), np.ones(gold.shape, bool))
    rows, columns = problem.cells.T
    own, other = (problem.on_common_scale(table[rows, columns]) for table in (metric, np.round(metric[::-1])))
    heads = np.random.default_rng(1).random((len(own), 40)) < 0.5
    ones = problem.each_segment, problem.each_system
    expected = [
        problem.weighted(np.where(h, other, own), *ones) - problem.weighted(np.where(h, own, other), *ones)
        for h in heads.T
    ]
    assert problem.exchanged(own, other, heads) == pytest.approx(expected, abs=1e-12)
