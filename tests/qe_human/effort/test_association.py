"""Rank correlations with intervals: against scipy, closed forms, exact enumeration and coverage."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from qe_human.effort.correlations import spearman_association
from tests.factories import refuses


def pair(n: int, seed: int, slope: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=n)
    return x, np.round(slope * x + generator.normal(size=n), 1)


def test_rho_equals_scipys_and_p_its_permutation_test() -> None:
    x, y = pair(60, 1, 0.25)
    association = spearman_association(x, y, permutations=20_000)
    expected = stats.spearmanr(x, y)
    assert association.rho == pytest.approx(expected.statistic, abs=1e-12)
    assert association.p == pytest.approx(expected.pvalue, rel=0.12) and 0.002 < association.p < 0.2
    assert association.n == 60


@pytest.mark.slow
def test_p_equals_all_orders_of_six() -> None:
    x, y = np.array([1.0, 2, 3, 4, 5, 6]), np.array([2.0, 1, 4, 3, 6, 5])
    rho = stats.spearmanr(x, y).statistic
    extreme = sum(abs(stats.spearmanr(x, p).statistic) >= rho - 1e-12 for p in permutations(y)) / 720
    assert spearman_association(x, y, permutations=40_000).p == pytest.approx(extreme, abs=0.006)


def test_partial_rho_is_the_correlation_of_residual_ranks() -> None:
    generator = np.random.default_rng(3)
    z = generator.normal(size=200)
    x, y = z + generator.normal(size=200), 2 * z + generator.normal(size=200)
    association = spearman_association(x, y, z)
    ranks = [stats.rankdata(v) for v in (x, y, z)]
    fits = [np.polyval(np.polyfit(ranks[2], r, 1), ranks[2]) for r in ranks[:2]]
    expected = np.corrcoef(ranks[0] - fits[0], ranks[1] - fits[1])[0, 1]
    assert association.rho == pytest.approx(expected, abs=1e-10)
    assert spearman_association(x, y).p < 0.001 < 0.01 < association.p  # only z holds them together


@pytest.mark.slow
def test_intervals_cover() -> None:
    """Normal data with correlation r have Spearman's (6 / pi) asin(r / 2)."""
    truth, inside = 6 / np.pi * np.arcsin(0.5 / 2), 0
    covariance = [[1, 0.5], [0.5, 1]]
    for seed in range(200):
        x, y = np.random.default_rng(seed).multivariate_normal([0, 0], covariance, 80).T
        low, high = spearman_association(x, y, samples=400, permutations=1).ci
        inside += low <= truth <= high
    assert 0.90 <= inside / 200 <= 0.99


@pytest.mark.slow
def test_the_level_is_kept() -> None:
    """Share of independent pairs with p <= .05, ties and a control included."""
    hits = np.zeros(2)
    for seed in range(400):
        x, y, z = np.random.default_rng(seed).integers(0, 4, (3, 30)).astype(float)
        controls = (None, z)
        hits += [spearman_association(x, y, c, samples=1, permutations=199).p <= 0.05 for c in controls]
    assert (hits / 400 >= 0.02).all() and (hits / 400 <= 0.085).all()


def test_undefined_and_wrong_columns() -> None:
    constant = spearman_association(np.ones(5), np.arange(5.0))
    assert np.isnan([constant.rho, *constant.ci, constant.p]).all() and constant.n == 5
    same = spearman_association(np.arange(6.0), np.arange(6.0) * 2, np.arange(6.0))
    assert np.isnan(same.rho)
    refuses("finite and of equal length", spearman_association, np.arange(3.0), np.arange(4.0))
    refuses("finite and of equal length", spearman_association, np.array([1, np.nan]), np.arange(2.0))
