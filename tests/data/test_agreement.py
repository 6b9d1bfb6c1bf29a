"""Agreement of judges: against published figures, closed forms, and what is undefined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qe.data.judges import krippendorff_alpha, weighted_kappa

# Krippendorff 2011, "Computing Krippendorff's alpha-reliability", section C: four observers, twelve units.
NAN = np.nan
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_equals_the_published_example(level: str, published: float) -> None:
    assert krippendorff_alpha(OBSERVERS, level) == pytest.approx(published, abs=6e-4)  # type: ignore[arg-type]


# The same paper, sections A and B: two observers of ten and of twelve units.
BINARY = [(0, 1), (1, 1), (0, 1), (0, 0), (0, 0), (0, 1), (0, 0), (0, 0), (1, 0), (0, 0)]
LETTERS = zip("aabbdcccedda", "babbbccceddd", strict=True)


@pytest.mark.parametrize(
    ("pairs", "published"), [(BINARY, 0.095), ([(ord(a), ord(b)) for a, b in LETTERS], 0.692)]
)
def test_alpha_of_two_observers_equals_the_published_ones(
    pairs: list[tuple[int, int]], published: float
) -> None:
    assert krippendorff_alpha(np.array(pairs, float), "nominal") == pytest.approx(published, abs=6e-4)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40))
def test_interval_alpha_of_two_judges_equals_its_closed_form(pairs: list[tuple[int, int]]) -> None:
    """1 - mean squared difference / twice the variance of all scores (Krippendorff 1970)."""
    scores = np.array(pairs, float)
    alpha = krippendorff_alpha(scores, "interval")
    if np.ptp(scores) == 0:
        assert alpha is None
    else:
        within = ((scores[:, 0] - scores[:, 1]) ** 2).mean()
        assert alpha == pytest.approx(1 - within / (2 * scores.var(ddof=1)), abs=1e-12)


def test_alpha_where_it_is_undefined() -> None:
    assert krippendorff_alpha(np.array([[1.0, NAN], [NAN, 2.0]])) is None
    assert krippendorff_alpha(np.array([[2.0, 2.0], [2.0, 2.0]])) is None
    many = np.random.default_rng(0).normal(size=(800, 2))
    assert krippendorff_alpha(many, "interval") is None  # a table of 1,600 by 1,600 scores is not made


SCORES = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40)


@pytest.mark.slow
@given(SCORES)
def test_quadratic_kappa_equals_its_closed_form(pairs: list[tuple[int, int]]) -> None:
    """1 - mean squared difference / the one that chance gives (Cohen 1968)."""
    left, right = np.array(pairs, float).T
    by_chance = left.var() + right.var() + (left.mean() - right.mean()) ** 2
    kappa = weighted_kappa(left, right)
    if by_chance == 0:
        assert kappa is None
    else:
        assert kappa == pytest.approx(1 - ((left - right) ** 2).mean() / by_chance, abs=1e-12)


def test_linear_kappa_counts_grades_that_nobody_gave() -> None:
    left, right = np.array([1.0, 1, 5, 5]), np.array([1.0, 1, 5, 3])
    disagreement, by_chance = 2 / 4, np.abs(left[:, None] - right[None, :]).mean()
    assert weighted_kappa(left, right, "linear") == pytest.approx(1 - disagreement / by_chance)


def test_kappa_where_it_is_undefined() -> None:
    assert weighted_kappa(np.array([1.5, 2]), np.array([1.0, 2])) is None
    assert weighted_kappa(np.array([NAN]), np.array([1.0])) is None
    assert weighted_kappa(np.array([0.0, 5000]), np.array([0.0, 5000])) is None
