"""Ranking reports: bootstrap, rank ranges, sign tests, agreement, circles; JSON, tables, text and plots."""

import json
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest, kendalltau, spearmanr
from sklearn.metrics import cohen_kappa_score

from qe.display.files import folder_name
from qe.display.table import UNBOUNDED
from qe.statistics.draws import bootstrap_counts
from qe_human import feedback_arcs as _feedback_arcs
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
from qe_human.judgements.collection import (
    Comparisons,
    JudgedPair,
    PairwiseCounts,
    circles,
    comparisons,
    knots,
)
from qe_human.judgements.ranking_report import (
    RankingReport,
    method_correlations,
    ranking_report,
)
from qe_human.judgements.ranking_tables import latex, markdown, ranking_table, rankings_json, report_json
from qe_human.judgements.report_files import plots, power_plot, rank_range_plot, write_reports
from qe_human.ranking_method import RANKINGS
from qe_human.rankings.methods import ExpectedWins, FeedbackArcSet
from qe_human.settings import RankSettings
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
    for kappa, within in ((agreed["between"], False), (agreed["within"], True)):
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
    assert agreed["between"].pairs == m and agreed["within"].pairs == 0 and np.isnan(agreed["within"].kappa)
    assert agreed["between"].kappa == pytest.approx(cohen_kappa_score(first, second), abs=0.01)


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
    expected = [drawn.judgements[1] / 2, tasks.counts().total / 10]
    assert drawn.judgements.tolist() == pytest.approx(expected, rel=0.01)


SYSTEMS = ("_ref", "best", "good_one", "poor", "worst")


def judged_pair(tasks: int = 400, seed: int = 0) -> JudgedPair:
    """Tasks of four of the systems, the first of which is best."""
    generator = np.random.default_rng(seed)
    shown = np.stack([generator.permutation(5)[:4] for _ in range(tasks)]).astype(np.int32)
    ranks = np.clip(np.round(shown + generator.normal(1, 1.2, shown.shape)), 1, 5).astype(np.int16)
    segment, judge = (generator.integers(0, n, tasks).astype(np.int32) for n in (90, 6))
    judged = comparisons(SYSTEMS, shown, ranks, segment, judge)
    return JudgedPair("Czech-English", judged.counts(), judged)


def made(**settings: Any) -> RankingReport:
    names = ("expected_wins", "official", "feedback_arc_set", "most_probable", "trueskill")
    methods = {name: RANKINGS.get(name)() for name in names}
    return ranking_report(judged_pair(), methods, RankSettings(**settings))


@pytest.fixture(scope="module")
def report() -> RankingReport:
    return made(samples=200)


@pytest.mark.slow
def test_the_reference_counts_where_a_method_says_so(report: RankingReport) -> None:
    assert report.counts.systems == SYSTEMS[1:]
    assert report.methods["official"].order[0] == "_ref"
    assert "_ref" not in report.methods["expected_wins"].order
    with_reference = made(samples=0, with_reference=True)
    assert with_reference.methods["expected_wins"].order == with_reference.methods["official"].order
    assert with_reference.methods["feedback_arc_set"].order[0] == "_ref"
    no_reference = made(samples=0, reference="nobody")
    assert no_reference.counts.systems == SYSTEMS


def test_clear_systems_are_told_apart(report: RankingReport) -> None:
    result = report.methods["expected_wins"]
    assert result.order == SYSTEMS[1:] and result.clusters == tuple((name,) for name in SYSTEMS[1:])
    assert result.ranges == {name: (i, i) for i, name in enumerate(SYSTEMS[1:], start=1)}
    assert report.winners == ("best",) and not report.circles
    assert (report.corrected[np.triu_indices(4, 1)] < 0.01).all()
    assert report.methods["feedback_arc_set"].ranges is None  # exponential: only if asked for


def test_corrections_decide_where_they_are_asked_for() -> None:
    plain = made(samples=0, level=0.001)
    strict = made(samples=0, level=0.001, correct="bonferroni")
    assert (plain.decisive == plain.p_values)[np.triu_indices(4, 1)].all()
    expected = np.minimum(1, 6 * plain.p_values[np.triu_indices(4, 1)])  # six pairs of four systems
    np.testing.assert_allclose(strict.decisive[np.triu_indices(4, 1)], expected)


def test_tests_leave_ranks_open_and_constrained_systems_win_among_themselves() -> None:
    report = made(samples=0, constrained=["good_one", "poor", "nobody"])
    assert report.tested == {name: (i, i) for i, name in enumerate(SYSTEMS[1:], start=1)}
    assert report.winners == ("best",) and report.constrained_winners == ("good_one",)
    assert report_json(report)["tested_ranks"]["poor"] == [3, 3]
    careful = made(samples=0, level=1e-300)
    assert set(careful.tested.values()) == {(1, 4)}


def test_segments_and_judges_are_drawn_whole() -> None:
    """One judge: every sample of judges is the sample itself, and ranges have no width."""
    judged = judged_pair(60)
    tasks = judged.comparisons
    assert tasks is not None
    alone = replace(tasks, judge=np.zeros_like(tasks.judge))
    drawn = next(iter(resampled_tables(alone, 5, draw="judges")))
    for wins in drawn[0]:
        np.testing.assert_array_equal(wins, tasks.counts().wins)
    methods = {"expected_wins": RANKINGS.get("expected_wins")()}
    one = replace(judged, comparisons=alone)
    told = ranking_report(one, methods, RankSettings(samples=20, draw="judges"))
    assert told.methods["expected_wins"].ranges is None
    by_segment = np.concatenate([wins for wins, _ in resampled_tables(tasks, 300, draw="segments")])
    by_task = np.concatenate([wins for wins, _ in resampled_tables(tasks, 300)])
    mean = tasks.counts().wins
    np.testing.assert_allclose(by_segment.mean(axis=0), mean, atol=1.0)
    np.testing.assert_allclose(by_task.mean(axis=0), mean, atol=1.0)
    assert by_segment.std(axis=0).mean() > by_task.std(axis=0).mean()


def test_counts_alone_have_no_ranges_but_all_else() -> None:
    pair = judged_pair()
    counts = JudgedPair("x", pair.counts, None, ("only counts",))
    report = ranking_report(counts, {"bojar": RANKINGS.get("bojar")()})
    assert report.methods["bojar"].ranges is None and report.power is None and report.agreement is None
    assert report.methods["bojar"].order == SYSTEMS[1:] and report.winners == ("best",)
    assert set(plots(report)) == {"heat_map", "methods"}
    assert report_json(report)["power"] is None
    refuses("no report has tasks", power_plot, [report], error=ValueError)
    refuses("bojar has no rank ranges", rank_range_plot, report, "bojar", error=ValueError)


def test_a_method_that_cannot_rank_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_feedback_arcs, "LARGEST", 2)
    wins = np.array([[0, 5, 1], [1, 0, 5], [5, 1, 0]])
    pair = JudgedPair("x", PairwiseCounts(("a", "b", "c"), wins, np.zeros((3, 3), np.int64)), None)
    methods = {name: RANKINGS.get(name)() for name in ("bojar", "feedback_arc_set")}
    refuses("x, feedback_arc_set: the preferences of 3 systems run in circles", ranking_report, pair, methods)
    report = ranking_report(pair, methods, optional=True)
    assert list(report.methods) == ["bojar"] and not report.methods["bojar"].unique
    assert any("feedback_arc_set is left out" in note for note in report.notes)


def test_a_system_with_ties_alone_is_undefined_and_told_of() -> None:
    wins, ties = np.zeros((3, 3), np.int64), np.zeros((3, 3), np.int64)
    wins[0, 1], ties[0, 2], ties[2, 0] = 4, 3, 3
    pair = JudgedPair("x", PairwiseCounts(("a", "b", "c"), wins, ties), None)
    report = ranking_report(pair, {"bojar": RANKINGS.get("bojar")()})
    assert "bojar is undefined for c" in report.notes
    assert rankings_json(report)["bojar"]["ranking"] == [["a", 1.0], ["b", 0.0], ["c", None]]
    assert "nan" not in (markdown(report) + latex(report) + ranking_table(report).text(UNBOUNDED)).lower()


@pytest.mark.slow
def test_files(report: RankingReport, tmp_path: Path) -> None:
    write_reports([report, report], tmp_path)
    own = ["heat_map.png", "methods.png", "rank_ranges.png", "report.json", "report.md", "report.tex"]
    written = {"Czech-English", "Czech-English-2", "power.png", "rankings.json"}
    assert {p.name for p in tmp_path.iterdir()} == written
    for folder in ("Czech-English", "Czech-English-2"):
        assert sorted(p.name for p in (tmp_path / folder).iterdir()) == own
    rankings = json.loads((tmp_path / "rankings.json").read_text())
    assert rankings["Czech-English"] == json.loads(json.dumps(rankings_json(report)))
    names = {"../a": "a", "...": "pair", "Haitian Creole (Raw)-English": "Haitian-Creole-Raw-English"}
    assert [folder_name(name) for name in names] == list(names.values())
