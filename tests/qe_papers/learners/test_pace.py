"""Pace regression against closed forms: the mixture's posterior means, least squares, what noise deserves."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LinearRegression

from qe_papers.learners.linear import PaceRegressor, contributions, expectations, mixture


def data(effects: Any, n: int = 300, seed: int = 0) -> tuple[Any, Any]:
    """Orthonormal columns and labels of deviation 1 around effects."""
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(n, len(effects)))
    directions, _ = np.linalg.qr(columns - columns.mean(axis=0))
    return directions, 3 + directions @ np.asarray(effects) + rng.normal(size=n)


def test_expectations_are_the_posteriors_of_a_known_mixture() -> None:
    """Bayes by hand: 0 with weight .7, 4 with weight .3."""
    at, means, weights = np.array([-1.0, 2.0, 3.5]), np.array([0.0, 4.0]), np.array([0.7, 0.3])
    density = norm.pdf(at[:, None] - means) * weights
    np.testing.assert_allclose(expectations(at, means, weights), 4 * density[:, 1] / density.sum(axis=1))


def test_the_mixture_is_found_from_draws() -> None:
    rng = np.random.default_rng(1)
    truth = np.where(rng.random(400) < 0.7, 0.0, 6.0)
    draws = truth + rng.normal(size=400)
    means, weights = mixture(draws)
    assert weights.sum() == pytest.approx(1) and (weights >= 0).all()
    assert weights[means > 3].sum() == pytest.approx((truth > 0).mean(), abs=0.05)
    exact = 6 / (1 + 0.7 / 0.3 * np.exp(18 - 6 * draws))
    assert np.sqrt(np.mean((expectations(draws, means, weights) - exact) ** 2)) < 0.6


def test_contributions_are_the_expected_gain() -> None:
    """E[a^2 - (x - a)^2] over the posterior, summed by hand."""
    x, means, weights = np.array([1.5]), np.array([0.0, 2.0]), np.array([0.5, 0.5])
    posterior = norm.pdf(x - means) * weights
    posterior /= posterior.sum()
    by_hand = posterior @ (means**2 - (x - means) ** 2)
    assert contributions(x, expectations(x, means, weights))[0] == pytest.approx(by_hand)


def test_strong_effects_stay_as_least_squares_has_them() -> None:
    X, y = data([40.0, -40.0, 40.0])
    usual = LinearRegression().fit(X, y)
    for estimator in ("empirical_bayes", "subset", "nested"):
        fitted = PaceRegressor(estimator).fit(X, y)
        np.testing.assert_allclose(fitted.coef_, usual.coef_, atol=1.0)
        assert fitted.intercept_ == pytest.approx(usual.intercept_, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["empirical_bayes", "subset", "nested"])
def test_it_is_nearer_to_the_truth_than_least_squares_where_most_effects_are_nothing(estimator: Any) -> None:
    """Three effects of a hundred: the risk of least squares is the number of columns."""
    truth = np.zeros(100)
    truth[[3, 50, 77]] = 10
    own, usual = [], []
    for seed in range(3):
        X, y = data(truth, seed=seed)
        own.append(((PaceRegressor(estimator).fit(X, y).coef_ - truth) ** 2).sum())
        usual.append(((LinearRegression().fit(X, y).coef_ - truth) ** 2).sum())
    assert np.mean(own) < 0.6 * np.mean(usual)


def test_the_full_model_is_least_squares_of_dependent_columns() -> None:
    """Before the improvement, effects in orthogonal directions are the same fit, whatever the order."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 4)) @ rng.normal(size=(4, 4))
    y = X @ [1, 2, 0, -1] + rng.normal(scale=1e-4, size=80)
    fitted = PaceRegressor().fit(np.column_stack([X, X[:, 0] + X[:, 1]]), y)
    assert len(fitted.order_) == 4 and fitted.coef_.shape == (5,)
    np.testing.assert_allclose(fitted.predict(np.column_stack([X, X[:, 0] + X[:, 1]])), y, atol=0.01)
