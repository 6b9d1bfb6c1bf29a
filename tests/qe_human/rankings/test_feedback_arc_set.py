"""Feedback arc sets and the most probable order: all orders tried, and the examples of the papers."""

from collections.abc import Callable
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from qe_human import feedback_arcs as _feedback_arcs
from qe_human.feedback_arcs import circles_in_order, cost_of, least_cost_order, least_cost_ranks
from qe_human.rankings.methods import FeedbackArcSet, FeedbackArcSetNetWins, MostProbable
from tests.factories import refuses

Counts = NDArray[np.float64]
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


def best_orders(cost: Cost, wins: Counts, ties: Counts) -> tuple[float, list[tuple[int, ...]]]:
    costs = {order: cost(order, wins, ties) for order in permutations(range(len(wins)))}
    least = min(costs.values())
    return least, [order for order, value in costs.items() if value <= least + 1e-9]


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
    method: FeedbackArcSet | FeedbackArcSetNetWins | MostProbable,
    cost: Cost,
    seed: int,
    systems: int,
    most: int,
    met: float,
) -> None:
    generator = np.random.default_rng(seed)
    compared = generator.random((systems, systems)) < met
    compared &= compared.T
    wins = np.where(compared, generator.integers(0, most + 1, (systems, systems)), 0).astype(np.float64)
    ties = np.where(compared, 1.0, 0.0)
    np.fill_diagonal(wins, 0)
    np.fill_diagonal(ties, 0)
    least, orders = best_orders(cost, wins, ties)
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
