"""Bootstrap, rank ranges, sign tests, agreement, circles, violations: laws, loops, and other tools."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest, kendalltau, spearmanr
from sklearn.metrics import cohen_kappa_score

from qe.statistics.draws import bootstrap_counts
from qe_human.judgements.certainty import (
    agreement,
    clusters,
    corrected,
    power,
    rank_ranges,
    resampled_ranks,
    resampled_tables,
    sign_tests,
    stars,
    winners,
)
from qe_human.judgements.collection import Comparisons, PairwiseCounts, circles, comparisons, knots
from qe_human.judgements.ranking_report import method_correlations
from qe_human.rankings.methods import ExpectedWins, FeedbackArcSet
from tests.factories import refuses


def judged(
    seed: int = 0, tasks: int = 60, systems: int = 5, segments: int = 20, judges: int = 3
) -> Comparisons:
    """Random tasks of four of the systems each; lower indices are better."""
    generator = np.random.default_rng(seed)
    shown = np.stack([generator.permutation(systems)[:4] for _ in range(tasks)]).astype(np.int32)
    ranks = np.clip(np.round(shown / 2 + generator.normal(1.5, 1, shown.shape)), 1, 5).astype(np.int16)
    names = tuple("abcdefgh"[:systems])
    segment, judge = (generator.integers(0, n, tasks).astype(np.int32) for n in (segments, judges))
    return comparisons(names, shown, ranks, segment, judge)


def of_wins(wins: list[list[int]]) -> PairwiseCounts:
    array = np.array(wins)
    return PairwiseCounts(tuple("abcdefgh"[: len(wins)]), array, np.zeros_like(array))


def test_samples_are_tasks_drawn_with_replacement() -> None:
    tasks = judged()
    wins, ties = (np.concatenate(part) for part in zip(*resampled_tables(tasks, 150, seed=3), strict=True))
    drawn = bootstrap_counts(tasks.tasks, 3, 0, 150)
    for sample in (0, 77, 149):
        times = drawn[sample][tasks.task]
        columns = (tasks.first, tasks.second, tasks.outcome, tasks.task)
        repeated = (np.repeat(column, times) for column in columns)
        expected = Comparisons(tasks.systems, *repeated, tasks.segment, tasks.judge).counts()
        np.testing.assert_array_equal(wins[sample], expected.wins)
        np.testing.assert_array_equal(ties[sample], expected.ties)
    np.testing.assert_allclose(wins.mean(axis=0), tasks.counts().wins, rtol=0.25, atol=2)


def test_ranks_of_samples_are_those_of_their_tables() -> None:
    tasks = judged(1)
    methods = {"expected_wins": ExpectedWins(), "feedback_arc_set": FeedbackArcSet()}
    own = {"expected_wins": [0, 1, 2, 4], "feedback_arc_set": [4, 2, 0]}
    ranks = resampled_ranks(tasks, methods, own, samples=90, seed=5)
    assert ranks["expected_wins"].shape == (90, 4) and ranks["feedback_arc_set"].shape == (90, 3)
    wins, ties = (np.concatenate(part) for part in zip(*resampled_tables(tasks, 90, seed=5), strict=True))
    for sample in range(0, 90, 17):
        cells = np.ix_(own["feedback_arc_set"], own["feedback_arc_set"])
        order = FeedbackArcSet().ranking(wins[sample][cells], ties[sample][cells]).order
        assert np.argsort(ranks["feedback_arc_set"][sample]).tolist() == order.tolist()
    refuses("samples must be", list, resampled_tables(tasks, 0))


@given(
    st.lists(st.lists(st.integers(1, 6), min_size=3, max_size=3), min_size=1, max_size=60),
    st.sampled_from([0.5, 0.8, 0.9, 0.95]),
)
def test_rank_ranges_hold_the_share_and_no_less(ranks: list[list[int]], confidence: float) -> None:
    array = np.array(ranks)
    for system, (low, high) in enumerate(rank_ranges(array, confidence)):
        inside = (array[:, system] >= low) & (array[:, system] <= high)
        assert inside.mean() >= confidence - 1e-9
        below, above = (array[:, system] < low).sum(), (array[:, system] > high).sum()
        assert max(below, above) <= len(ranks) * (1 - confidence) / 2 + 1e-9


def test_rank_ranges_drop_2_5_percent_on_each_side() -> None:
    ranks = np.repeat([1, 2, 3, 4], [25, 475, 475, 25])[:, None]
    assert rank_ranges(ranks).tolist() == [[2, 3]]
    assert rank_ranges(np.repeat([1, 2, 3], [26, 949, 25])[:, None]).tolist() == [[1, 2]]


def test_clusters_are_cut_where_no_range_reaches() -> None:
    ranges = np.array([[4, 5], [1, 2], [1, 3], [3, 3], [4, 5]])
    assert clusters([1, 2, 3, 0, 4], ranges) == [[1, 2, 3], [0, 4]]
    assert clusters([0, 1], np.array([[1, 1], [2, 2]])) == [[0], [1]]


@given(st.integers(0, 400), st.integers(0, 400))
def test_sign_test_against_scipy(won: int, lost: int) -> None:
    p = sign_tests([[0, won], [lost, 0]])
    expected = binomtest(won, won + lost).pvalue if won + lost else 1.0
    assert p[0, 1] == p[1, 0] == pytest.approx(expected, rel=1e-9)
    assert np.isnan(p[0, 0])


def test_winners_are_beaten_by_nobody() -> None:
    """b beats c, c beats a: a is beaten, although nobody above it in score does it."""
    wins = np.array([[0, 5, 10], [5, 0, 40], [40, 10, 0]])
    p = sign_tests(wins)
    assert winners(wins, p, 0.10).tolist() == [False, True, False]
    assert winners(wins, p, 1e-9).tolist() == [True, True, True]
    assert [stars(x) for x in (0.01, 0.02, 0.05, 0.1, 0.11, float("nan"))] == ["‡", "†", "†", "*", "", ""]


def test_holm_over_all_pairs_by_hand() -> None:
    p = np.array([[np.nan, 0.01, 0.04], [0.01, np.nan, 0.03], [0.04, 0.03, np.nan]])
    expected = [0.03, 0.06, 0.06]
    result = corrected(p)
    assert result[np.triu_indices(3, 1)].tolist() == pytest.approx(expected)
    np.testing.assert_array_equal(result, result.T)


def kappa_by_loops(tasks: Comparisons, within: bool) -> tuple[int, float, float]:
    """Pairs, P(A), kappa: every pair of judgements looked at."""
    rows = [
        (tasks.segment[t], a, b, tasks.judge[t], o)
        for t, a, b, o in zip(tasks.task, tasks.first, tasks.second, tasks.outcome, strict=True)
    ]
    both = [
        (x, y) for x, y in combinations(rows, 2) if x[:3] == y[:3] and (x[3] == y[3]) == within
    ]  # fmt: skip
    observed = np.mean([x[4] == y[4] for x, y in both])
    ties = np.mean(tasks.outcome == 0)
    chance = ties**2 + 2 * ((1 - ties) / 2) ** 2
    return len(both), float(observed), float((observed - chance) / (1 - chance))


@pytest.mark.parametrize("seed", range(3))
def test_agreement_counts_every_pair_of_judgements(seed: int) -> None:
    tasks = judged(seed, tasks=80, segments=12)
    agreed = agreement([tasks], samples=100)
    for kappa, within in ((agreed.between, False), (agreed.within, True)):
        pairs, observed, expected = kappa_by_loops(tasks, within)
        assert (kappa.pairs, kappa.observed, kappa.kappa) == pytest.approx((pairs, observed, expected))
        assert kappa.ci[0] <= kappa.kappa <= kappa.ci[1]


def test_agreement_of_two_judges_against_sklearn() -> None:
    """Two judges who see all: Cohen's kappa where both use < and > equally often and ties alike."""
    generator = np.random.default_rng(0)
    first = generator.permutation(np.repeat([-1, 0, 1], 100))
    second = np.where(generator.random(300) < 0.6, first, generator.permutation(first))
    m = 300
    tasks = Comparisons(
        ("a", "b"), np.zeros(2 * m, np.int32), np.ones(2 * m, np.int32),
        np.concatenate([first, second]).astype(np.int8), np.arange(2 * m, dtype=np.int32),
        np.tile(np.arange(m, dtype=np.int32), 2), np.repeat([0, 1], m).astype(np.int32),
    )  # fmt: skip
    agreed = agreement([tasks], samples=50)
    assert agreed.between.pairs == m and agreed.within.pairs == 0 and np.isnan(agreed.within.kappa)
    assert agreed.between.kappa == pytest.approx(cohen_kappa_score(first, second), abs=0.01)


def three_circles_by_loops(margins: NDArray[np.int64]) -> set[frozenset[int]]:
    return {
        frozenset(triple)
        for triple in permutations(range(len(margins)), 3)
        if all(margins[a, b] > 0 for a, b in zip(triple, (*triple[1:], triple[0]), strict=True))
    }


@settings(max_examples=80)
@given(seed=st.integers(0, 100_000), systems=st.integers(2, 7), most=st.integers(1, 4))
def test_every_circle_of_three_once(seed: int, systems: int, most: int) -> None:
    counts = of_wins(np.random.default_rng(seed).integers(0, most + 1, (systems, systems)).tolist())
    listed = circles(counts)
    expected = three_circles_by_loops(counts.margins)
    threes = [c for c in listed if len(c.systems) == 3]
    assert {frozenset(map(counts.systems.index, c.systems)) for c in threes} == expected
    assert len(threes) == len(expected)
    for circle in listed:
        places = [counts.systems.index(name) for name in circle.systems]
        steps = zip(places, (*places[1:], places[0]), strict=True)
        assert circle.margins == tuple(counts.margins[a, b] for a, b in steps)
        assert circle.weakest > 0 and places[0] == min(places)
    weakest = [circle.weakest for circle in listed]
    assert weakest == sorted(weakest, reverse=True)
    joined = {name for circle in listed for name in circle.systems}
    assert joined <= {name for knot in knots(counts) for name in knot}
    assert bool(listed) == bool(knots(counts)) == (not is_acyclic(counts.margins))


def is_acyclic(margins: NDArray[np.int64]) -> bool:
    remaining = list(range(len(margins)))
    while remaining:
        tops = [a for a in remaining if not any(margins[b, a] > 0 for b in remaining)]
        if not tops:
            return False
        remaining = [a for a in remaining if a not in tops]
    return True


def test_a_circle_of_four_without_one_of_three() -> None:
    wins = [[0, 3, 1, 0], [0, 0, 4, 1], [1, 0, 0, 5], [2, 1, 0, 0]]
    (circle,) = circles(of_wins(wins))
    assert (circle.systems, circle.margins, circle.weakest) == (("a", "b", "c", "d"), (3, 4, 5, 2), 2)
    assert knots(of_wins(wins)) == [["a", "b", "c", "d"]]


def test_correlations_against_scipy() -> None:
    orders = {"one": list("abcde"), "two": list("acbed"), "three": list("edcba")}
    correlations = method_correlations(orders)
    ranks = {name: [order.index(s) for s in "abcde"] for name, order in orders.items()}
    for i, a in enumerate(orders):
        for j, b in enumerate(orders):
            assert correlations.spearman[i, j] == pytest.approx(spearmanr(ranks[a], ranks[b]).statistic)
            assert correlations.kendall[i, j] == pytest.approx(kendalltau(ranks[a], ranks[b]).statistic)
    assert np.isnan(method_correlations({"one": ["a"]}).spearman).all()


def test_power_of_all_tasks_is_that_of_the_counts() -> None:
    tasks = judged(3, tasks=300)
    drawn = power(tasks, range(5), fractions=(0.5, 1.0), levels=(0.05,), repeats=4)
    p = sign_tests(tasks.counts().wins)[np.triu_indices(5, 1)]
    assert drawn.shares[0, 1].tolist() == [float((p <= 0.05).mean())] * 4
    assert drawn.judgements.tolist() == pytest.approx(
        [drawn.judgements[1] / 2, tasks.counts().total / 10], rel=0.01
    )
