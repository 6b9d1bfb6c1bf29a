"""Bradley-Terry, TrueSkill and playoffs against other tools, closed forms and enumeration."""

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from qe_human.rankings.methods import BradleyTerry, MonteCarloPlayoffs, TrueSkill

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
    """Where plain sweeps swing for ever, shorter steps do not."""
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
