"""Ranking methods: the same questions to all; other tools, closed forms, all orders tried."""

from collections.abc import Callable
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from features.basics.assignments import configured
from qe_human import feedback_arcs as _feedback_arcs
from qe_human.feedback_arcs import circles_in_order, cost_of, least_cost_order, least_cost_ranks
from qe_human.ranking_method import RANKINGS, PreferenceMethod, RankingMethod, ScoreMethod
from qe_human.rankings.methods import (
    BradleyTerry,
    FeedbackArcSet,
    FeedbackArcSetNetWins,
    MonteCarloPlayoffs,
    MostProbable,
    TrueSkill,
)
from tests.factories import refuses

Counts = NDArray[np.float64]
EXACT = [name for name in RANKINGS.names if name != "monte_carlo_playoffs"]


def made(name: str) -> RankingMethod:
    return configured(RANKINGS, f"{name}:tournaments=2000" if name == "monte_carlo_playoffs" else name)


def dense(seed: int, systems: int = 6, low: int = 1) -> tuple[Counts, Counts]:
    """Random wins, every one at least `low`, and ties."""
    generator = np.random.default_rng(seed)
    wins = generator.integers(low, 40, (systems, systems)).astype(np.float64)
    ties = generator.integers(0, 12, (systems, systems)).astype(np.float64)
    ties += ties.T
    np.fill_diagonal(wins, 0)
    np.fill_diagonal(ties, 0)
    return wins, ties


@pytest.mark.parametrize("name", RANKINGS.names)
def test_an_order_of_all_systems_sorted_by_score(name: str) -> None:
    method = made(name)
    wins, ties = dense(0)
    ranking = method.ranking(wins, ties)
    assert sorted(ranking.order.tolist()) == list(range(6))
    assert (ranking.scores is None) == isinstance(method, PreferenceMethod)
    if isinstance(method, ScoreMethod):
        assert method.unit
        assert ranking.scores is not None and np.isfinite(ranking.scores).all()
        falling = ranking.scores[ranking.order] * (1 if method.higher_is_better else -1)
        assert (np.diff(falling) <= 0).all()
    else:
        assert ranking.cost is not None and ranking.cost >= 0


@pytest.mark.parametrize("name", RANKINGS.names)
def test_a_system_that_beats_all_comes_first_and_the_beaten_last(name: str) -> None:
    wins, ties = dense(1)
    wins[2], wins[:, 2], wins[4], wins[:, 4] = 60, 3, 2, 50
    wins[2, 4], wins[4, 2], wins[2, 2], wins[4, 4] = 60, 1, 0, 0
    order = made(name).ranking(wins, ties).order.tolist()
    assert (order[0], order[-1]) == (2, 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), systems=st.integers(2, 7))
def test_the_order_of_the_table_plays_no_part(name: str, seed: int, systems: int) -> None:
    method = made(name)
    wins, ties = dense(seed, systems)
    moved = np.random.default_rng(seed).permutation(systems)
    ranking = method.ranking(wins, ties)
    again = method.ranking(wins[np.ix_(moved, moved)], ties[np.ix_(moved, moved)])
    assert again.unique == ranking.unique
    if ranking.scores is not None and again.scores is not None:
        np.testing.assert_allclose(again.scores, ranking.scores[moved], atol=1e-5)
    if ranking.unique:
        assert moved[again.order].tolist() == ranking.order.tolist()
    if ranking.cost is not None:
        assert again.cost == pytest.approx(ranking.cost)


@pytest.mark.parametrize("name", RANKINGS.names)
def test_a_batch_ranks_as_one_by_one(name: str) -> None:
    method = made(name)
    tables = [dense(seed) for seed in range(10)]
    wins, ties = (np.stack(part) for part in zip(*tables, strict=True))
    ranks = method.ranks(wins.reshape(2, 5, 6, 6), ties.reshape(2, 5, 6, 6)).reshape(10, 6)
    for table, own in zip(tables, ranks, strict=True):
        ranking = method.ranking(*table)
        assert method.ranks(*table).tolist() == own.tolist()
        if ranking.unique:
            assert np.argsort(own).tolist() == ranking.order.tolist()


@pytest.mark.parametrize("name", EXACT)
def test_systems_alike_have_no_unique_order_and_share_a_rank(name: str) -> None:
    method = made(name)
    even = np.full((3, 3), 4.0) - 4 * np.eye(3)
    ranking = method.ranking(even, np.zeros((3, 3)))
    assert not ranking.unique
    if isinstance(method, ScoreMethod):
        assert method.ranks(even, np.zeros((3, 3))).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "name", [n for n in EXACT if isinstance(made(n), ScoreMethod) and n not in ("bojar", "expected_wins")]
)
def test_a_system_without_judgements_is_undefined_and_last(name: str) -> None:
    wins, ties = dense(2, 4)
    wins[1], wins[:, 1], ties[1], ties[:, 1] = 0, 0, 0, 0
    ranking = made(name).ranking(wins, ties)
    assert ranking.scores is not None and np.isnan(ranking.scores).tolist() == [False, True, False, False]
    assert ranking.order[-1] == 1 and not ranking.unique


@pytest.mark.parametrize("name", ["bojar", "expected_wins"])
def test_ties_alone_say_nothing_to_methods_that_ignore_them(name: str) -> None:
    wins, ties = dense(3, 3)
    wins[0], wins[:, 0] = 0, 0
    ranking = made(name).ranking(wins, ties)
    assert ranking.scores is not None and np.isnan(ranking.scores[0]) and ranking.order[-1] == 0


Cost = Callable[[tuple[int, ...], Counts, Counts], float]


def violated(order: tuple[int, ...], wins: Counts, ties: Counts) -> float:
    """Findings of WMT 2012, Eq. 6 and 7."""
    return sum(max(0.0, wins[low, high] - wins[high, low]) for high, low in combinations(order, 2))


def violated_net(order: tuple[int, ...], wins: Counts, ties: Counts) -> float:
    cost = 0.0
    for high, low in combinations(order, 2):
        judged = wins[low, high] + wins[high, low] + ties[low, high]
        cost += 2 * max(0.0, wins[low, high] - wins[high, low]) / judged if judged else 0.0
    return cost


def improbability(order: tuple[int, ...], wins: Counts, ties: Counts) -> float:
    """Minus the log of findings of WMT 2012, Eq. 9; a million for each factor that is 0."""
    cost = 0.0
    for high, low in combinations(order, 2):
        won, lost = wins[high, low], wins[low, high]
        if won + lost:
            cost += 1e6 if won == 0 else -np.log(won / (won + lost))
    return cost


@pytest.mark.slow
@pytest.mark.parametrize(
    "method, cost",
    [(FeedbackArcSet(), violated), (FeedbackArcSetNetWins(), violated_net), (MostProbable(), improbability)],
)
@settings(max_examples=150)
@given(
    seed=st.integers(0, 100_000),
    systems=st.integers(2, 6),
    most=st.sampled_from([1, 2, 5, 50]),
    met=st.sampled_from([0.4, 1.0]),
)
def test_no_other_order_costs_less(
    method: RankingMethod, cost: Cost, seed: int, systems: int, most: int, met: float
) -> None:
    generator = np.random.default_rng(seed)
    compared = generator.random((systems, systems)) < met
    compared &= compared.T
    wins = np.where(compared, generator.integers(0, most + 1, (systems, systems)), 0).astype(np.float64)
    ties = np.where(compared, 1.0, 0.0)
    np.fill_diagonal(wins, 0)
    np.fill_diagonal(ties, 0)
    costs = {order: cost(order, wins, ties) for order in permutations(range(systems))}
    least = min(costs.values())
    orders = [order for order, value in costs.items() if value <= least + 1e-9]
    ranking = method.ranking(wins, ties)
    assert tuple(ranking.order.tolist()) in orders
    assert ranking.unique == (len(orders) == 1)
    assert ranking.cost == (pytest.approx(least, abs=1e-9) if least < 1e6 else np.inf)


def test_the_circle_of_the_findings() -> None:
    """4.5: three orders violate 20; ABC has probability 0.27, BCA 0, CAB 0.20."""
    wins = np.zeros((3, 3))
    wins[0, 1], wins[1, 2], wins[2, 1], wins[2, 0], wins[0, 2] = 20, 40, 20, 60, 40
    ranking = FeedbackArcSet().ranking(wins, np.zeros((3, 3)))
    assert (ranking.cost, ranking.unique) == (20, False)
    probable = MostProbable().ranking(wins, np.zeros((3, 3)))
    assert probable.order.tolist() == [0, 1, 2] and probable.unique and probable.cost is not None
    assert np.exp(-probable.cost) == pytest.approx(0.27, abs=0.005)


def test_a_knot_of_twenty_systems_with_a_known_optimum() -> None:
    """A planted order with heavy edges, and one light edge from last to first: all are on one circle."""
    planted = np.random.default_rng(4).permutation(20)
    preferences = np.zeros((20, 20))
    for place, system in enumerate(planted):
        preferences[system, planted[place + 1 :]] = 5
    first, last = planted[0], planted[-1]
    preferences[first, last], preferences[last, first] = 0, 3
    assert np.unique(circles_in_order(preferences)).tolist() == [0]
    order, unique = least_cost_order(preferences)
    assert order.tolist() == planted.tolist() and unique
    assert cost_of(order, preferences) == 3


def test_more_systems_than_can_be_exact_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_feedback_arcs, "LARGEST", 4)
    circle = np.roll(np.eye(5), 1, axis=1)
    refuses("5 systems run in circles.*up to 4.*leave this method out", least_cost_order, circle)
    refuses("5 systems run in circles", least_cost_ranks, circle[None])
    acyclic = np.triu(np.ones((40, 40)), 1)  # no bound where nothing runs in circles
    assert least_cost_order(acyclic)[0].tolist() == list(range(40))


WINS = np.array([[0, 7, 3, 5], [2, 0, 4, 1], [6, 3, 0, 8], [0, 2, 5, 0]], np.float64)
TIES = np.array([[0, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 0], [0, 1, 0, 0]], np.float64)
NONE = np.zeros((2, 2))


def test_bradley_terry_against_choix() -> None:
    """choix 0.4.1: ilsr_pairwise_dense(WINS + TIES / 2, alpha=0, tol=1e-12), strengths scaled to sum 1."""
    expected = [0.373404506, 0.191932835, 0.288667582, 0.145995077]
    assert BradleyTerry(prior=1e-9).scores(WINS, TIES).tolist() == pytest.approx(expected, abs=1e-8)
    assert BradleyTerry().scores(WINS, TIES).tolist() == pytest.approx(expected, abs=5e-4)


def test_bradley_terry_has_an_estimate_where_the_likelihood_has_none() -> None:
    won_all = BradleyTerry().scores(np.triu(np.full((4, 4), 10_000.0), 1), np.zeros((4, 4)))
    assert (np.diff(won_all) < 0).all() and won_all.sum() == pytest.approx(1)
    apart = np.zeros((4, 4))
    apart[0, 1], apart[1, 0], apart[2, 3], apart[3, 2] = 3, 1, 3, 1
    scores = BradleyTerry().scores(apart, np.zeros((4, 4)))
    assert scores[[0, 1]] == pytest.approx(scores[[2, 3]])


@pytest.mark.parametrize(
    "method, means, deviations",
    [
        (TrueSkill(), [26.782661, 24.314569, 25.779648, 23.123122], [1.428699, 1.393297, 1.243927, 1.580289]),
        (
            TrueSkill(draw=0.3),
            [26.973342, 24.216778, 25.865198, 22.944683],
            [1.396870, 1.372938, 1.217597, 1.537958],
        ),
    ],
)
def test_trueskill_through_time(method: TrueSkill, means: list[float], deviations: list[float]) -> None:
    """trueskillthroughtime 1.1.0, every judgement a game of one time, gamma=0, converged to 1e-10.

    Its p_draw is the share of ties, 7 of 53, and 0.3.
    """
    posterior = method.posterior(WINS, TIES)
    assert posterior[0].tolist() == pytest.approx(means, abs=2e-6)
    assert posterior[1].tolist() == pytest.approx(deviations, abs=2e-6)


def test_one_game_of_trueskill() -> None:
    """trueskill 0.4.5, rate_1vs1 of two new ratings; it adds tau = 25 / 300 to their deviation."""
    method = TrueSkill(deviation=float(np.hypot(25 / 3, 25 / 300)), draw=0.1)
    means, deviations = method.posterior(np.array([[0.0, 1], [0, 0]]), NONE)
    assert means.tolist() == pytest.approx([29.395832, 20.604168], abs=2e-6)
    assert deviations.tolist() == pytest.approx([7.171476, 7.171476], abs=2e-6)
    means, deviations = method.posterior(NONE, np.array([[0.0, 1], [1, 0]]))
    assert means.tolist() == pytest.approx([25, 25])
    assert deviations.tolist() == pytest.approx([6.457520, 6.457520], abs=5e-6)


def test_trueskill_of_one_sided_tables_settles() -> None:
    """Plain sweeps swing for ever here, shorter steps do not."""
    for times in (1.0, 1e3, 1e5):
        scores = TrueSkill().scores(np.triu(np.full((5, 5), times), 1), np.zeros((5, 5)))
        assert (np.diff(scores) < 0).all() and scores.mean() == pytest.approx(25)
    two = TrueSkill().scores(np.array([[0, 1e5], [0, 0]]), NONE)
    assert np.isfinite(two).all() and two[0] > 35
    assert TrueSkill().scores(NONE, np.array([[0, 9.0], [9, 0]])).tolist() == pytest.approx([25, 25])


def exact_places(chance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean places by all seedings and all outcomes of a bracket of 2 or 4, byes lose."""
    k = len(chance)
    size = 2 if k == 2 else 4
    totals = np.zeros(k)
    seedings = list(permutations(range(k)))
    for seeding in seedings:
        slots: list[int | None] = [*seeding, *([None] * (size - k))]
        for share, order in bracket(slots, chance):
            for place, system in enumerate((s for s in order if s is not None), start=1):
                totals[system] += share * place / len(seedings)
    return totals


def bracket(slots: list[int | None], chance: NDArray[np.float64]) -> list[tuple[float, list[int | None]]]:
    """(probability, final order) of all outcomes."""
    if len(slots) == 1:
        return [(1.0, slots)]
    outcomes: list[tuple[float, list[int | None], list[int | None]]] = [(1.0, [], [])]
    for a, b in zip(slots[: len(slots) // 2], slots[::-1], strict=False):
        share = 1.0 if b is None else 0.0 if a is None else float(chance[a, b])
        outcomes = [
            (p * q, [*won, w], [*lost, x])
            for p, won, lost in outcomes
            for q, w, x in ((share, a, b), (1 - share, b, a))
            if q > 0
        ]
    return [
        (p * q * r, [*upper, *lower])
        for p, won, lost in outcomes
        for q, upper in bracket(won, chance)
        for r, lower in bracket(lost[::-1], chance)
    ]


@pytest.mark.parametrize("systems", [2, 3, 4])
def test_playoffs_against_all_tournaments(systems: int) -> None:
    wins = WINS[:systems, :systems]
    wins = np.where(wins + wins.T > 0, wins, 0)
    decided = np.where(wins + wins.T > 0, wins + wins.T, 1)
    chance = np.where(wins + wins.T > 0, wins / decided, 0.5)
    places = MonteCarloPlayoffs(tournaments=200_000, seed=1).scores(wins, np.zeros_like(wins))
    np.testing.assert_allclose(places, exact_places(chance), atol=0.012)
    assert places.sum() == pytest.approx(systems * (systems + 1) / 2)


def test_playoffs_repeat_by_seed_and_toss_a_coin_for_the_undecided() -> None:
    first, again, other = (MonteCarloPlayoffs(1000, seed).scores(WINS, TIES) for seed in (3, 3, 4))
    assert first.tolist() == again.tolist() != other.tolist()
    even = MonteCarloPlayoffs(100_000).scores(NONE, NONE)
    assert even.tolist() == pytest.approx([1.5, 1.5], abs=0.01)
