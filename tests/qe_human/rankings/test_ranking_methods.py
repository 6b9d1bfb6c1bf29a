"""The same questions to every ranking method, found by themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from features.basics.assignments import configured
from qe_human.ranking_method import RANKINGS, PreferenceMethod, RankingMethod, ScoreMethod
from tests.factories import refuses

Table = tuple[NDArray[np.float64], NDArray[np.float64]]
QUICK = {"monte_carlo_playoffs": "monte_carlo_playoffs:tournaments=2000"}
EXACT = [name for name in RANKINGS.names if name != "monte_carlo_playoffs"]


def made(name: str) -> RankingMethod:
    return configured(RANKINGS, QUICK.get(name, name))


def dense(seed: int, systems: int = 6, low: int = 1) -> Table:
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


@pytest.mark.parametrize(
    "text, message",
    [
        ("soccr", "unknown ranking method 'soccr'.*did you mean 'soccer'"),
        ("bojar:x=1", "unknown option 'x'; known: none"),
        ("bradley_terry:prior=0", "prior must be above 0"),
        ("trueskill:draw=1", "0 <= draw < 1 must hold"),
        ("trueskill:spread=-1", "spread must be above 0"),
        ("trueskill:draw=much", "expected a number or null, but got 'much'"),
        ("monte_carlo_playoffs:tournaments=0", "tournaments must be at least 1"),
    ],
)
def test_bad_options_are_refused(text: str, message: str) -> None:
    refuses(message, configured, RANKINGS, text)
