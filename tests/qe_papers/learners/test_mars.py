"""MARS against the R package earth's published model, brute force, and the laws of the method."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.basics.array_types import FloatArray
from qe_papers.learners.mars import MarsRegressor

# The data set `trees` of R (Ryan et al. 1976): girth, height, volume of 31 black cherry trees.
GIRTH = """
    8.3 8.6 8.8 10.5 10.7 10.8 11.0 11.0 11.1 11.2 11.3 11.4 11.4 11.7 12.0 12.9 12.9 13.3 13.7 13.8 14.0
    14.2 14.5 16.0 16.3 17.3 17.5 17.9 18.0 18.0 20.6"""
HEIGHT = """70 65 63 72 81 83 66 75 80 75 79 76 76 69 75 74 85 86 71 64 78 80 74 72 77 81 82 80 80 80 87"""
VOLUME = """
    10.3 10.3 10.2 16.4 18.8 19.7 15.6 18.2 22.6 19.9 24.2 21.0 21.4 21.3 19.1 22.2 33.8 27.4 25.7 24.9 34.5
    31.7 36.3 38.3 42.6 55.4 55.7 58.3 51.5 51.0 77.0"""


def column(text: str) -> FloatArray:
    return np.asarray(text.split(), np.float64)


def test_earth_on_trees() -> None:
    """`earth(Volume ~ ., data = trees)` as printed in the package's documentation."""
    X, y = np.column_stack([column(GIRTH), column(HEIGHT)]), column(VOLUME)
    model = MarsRegressor().fit(X, y)
    terms = {
        (int(f[0]), float(k[0]), int(s[0])): float(c)
        for f, k, s, c in zip(model.features_, model.knots_, model.signs_, model.coefficients_, strict=True)
    }
    assert terms == {
        (-1, 0.0, 0): pytest.approx(29.0599535, abs=5e-6),
        (0, 14.2, 1): pytest.approx(6.2295143, abs=5e-6),
        (0, 14.2, -1): pytest.approx(-3.4198062, abs=5e-6),
        (1, 75.0, 1): pytest.approx(0.5813644, abs=5e-6),
    }
    assert model.forward_terms_ == 5
    assert model.gcv_ == pytest.approx(11.25439, abs=5e-6)
    assert model.rss_ == pytest.approx(209.1139, abs=5e-5)
    assert 1 - model.rss_ / ((y - y.mean()) ** 2).sum() == pytest.approx(0.9742029, abs=5e-8)


def test_description() -> None:
    X, y = np.column_stack([column(GIRTH), column(HEIGHT)]), column(VOLUME)
    text = MarsRegressor().fit(X, y).describe(["Girth", "Height"], "Volume")
    assert "  - 3.41981 * h(14.2 - Girth)" in text
    assert "  + 0.581364 * h(Height - 75)" in text


class Unpruned(MarsRegressor):
    """Knots cost nothing, so that every pair that was found stays."""

    def _gcv(self, rss: float, terms: int, n: int) -> float:
        return rss


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(6, 10))
@settings(max_examples=25)
def test_first_pair_by_brute_force(seed: int, minspan: int, endspan: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    spans = {"minspan": minspan, "endspan": endspan}
    model = Unpruned(max_terms=3, threshold=0.0, **spans).fit(X, y)

    def outside(B: FloatArray, values: FloatArray) -> FloatArray:
        """What least squares on the columns of B leave of values."""
        return np.asarray(values - B @ np.linalg.lstsq(B, values, rcond=None)[0])

    def rss(feature: int, knot: float) -> float:
        x = X[:, feature]
        B = np.column_stack([np.ones(40), np.maximum(0, x - knot), np.maximum(0, knot - x)])
        return float((outside(B, y) ** 2).sum())

    def bends(feature: int, knot: float) -> bool:
        """More than 1 % of the hinge's variance is not that of the straight line: others are refused."""
        x = X[:, feature]
        hinge = np.maximum(0, x - knot)
        line = np.column_stack([np.ones(40), x])
        return bool((outside(line, hinge) ** 2).sum() > 0.01 * ((hinge - hinge.mean()) ** 2).sum())

    # The knots are centred: as many segments remain at one end as at the other, or one more.
    inside = 40 - 2 * endspan
    first = endspan + (inside - 1 - (inside - 1) // minspan * minspan) // 2
    ranks = range(first, 40 - endspan, minspan)
    knots = [(f, float(np.sort(X[:, f])[::-1][r])) for f in range(3) for r in ranks]
    least = min(rss(*knot) for knot in knots if bends(*knot))
    assert model.rss_ == pytest.approx(least, rel=1e-9)


def test_interaction_needs_degree_two() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(400, 3))
    y = 2 + 3 * np.maximum(0, X[:, 0]) * np.maximum(0, X[:, 2]) + 0.02 * rng.normal(size=400)
    errors = [np.std(y - MarsRegressor(max_degree=degree).fit(X, y).predict(X)) for degree in (1, 2)]
    assert errors[1] < 0.03 < 0.2 < errors[0]


@given(st.integers(0, 10_000), st.sampled_from([1e-3, 40.0]), st.floats(-50, 50))
@settings(max_examples=15)
def test_units_do_not_matter(seed: int, factor: float, shift: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 2))
    y = np.abs(X[:, 0]) + 0.3 * rng.normal(size=80)
    base = MarsRegressor(max_terms=7).fit(X, y).predict(X)
    moved = X * [factor, 1] + [shift, 0]
    other = MarsRegressor(max_terms=7).fit(moved, 5 * y - 1).predict(moved)
    np.testing.assert_allclose(other, 5 * base - 1, atol=1e-5)
