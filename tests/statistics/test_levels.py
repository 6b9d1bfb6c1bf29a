"""Levels of units: every level by itself, and virtual test sets that draw all of them."""

import numpy as np
import pytest

from qe.statistics.draws import Levels, bootstrap_counts

DOCUMENT, JUDGE = np.repeat(["a", "b", "c"], 4), np.tile([10, 20], 6)


def test_names_and_sizes() -> None:
    assert Levels.from_groups(None, 5).sizes() == {"segment": 5}
    assert Levels.from_groups(DOCUMENT, 12).sizes() == {"group": 3}
    crossed = Levels.from_groups({"document": DOCUMENT, "judge": JUDGE}, 12)
    assert crossed.sizes() == {"document": 3, "judge": 2} and crossed.crossed and crossed.smallest == 2
    assert Levels.from_groups(crossed, 12) is crossed


def test_one_level_draws_as_the_plain_bootstrap() -> None:
    np.testing.assert_array_equal(
        Levels.from_groups(None, 12).counts(3, 5, 20), bootstrap_counts(12, 3, 5, 20)
    )
    drawn = bootstrap_counts(3, 3, 0, 20)
    np.testing.assert_array_equal(
        Levels.from_groups(DOCUMENT, 12).counts(3, 0, 20), np.repeat(drawn, 4, axis=1)
    )


def test_crossed_levels_multiply_and_sums_are_their_sums() -> None:
    levels = Levels.from_groups({"document": DOCUMENT, "judge": JUDGE}, 12)
    counts = levels.counts(7, 0, 4000)
    by_cell = counts.reshape(4000, 3, 2, 2)
    assert (
        by_cell[:, :, 0] == by_cell[:, :, 1]
    ).all()  # a segment of the same document and judge counts alike
    factors = by_cell[:, :, 0]
    np.testing.assert_array_equal(factors[:, 0, 0] * factors[:, 1, 1], factors[:, 0, 1] * factors[:, 1, 0])
    # Each level is drawn to its size: the whole has 3 x 2 cells of two segments in all.
    assert (counts.sum(axis=1) == 12).all()
    # E[product] = 1; the variance of a product of independent factors with mean 1.
    variance = (1 + 2 / 3) * (1 + 1 / 2) - 1
    assert factors[:, 0, 0].mean() == pytest.approx(1, abs=0.1)
    assert factors[:, 0, 0].var() == pytest.approx(variance, rel=0.15)
    statistics = np.random.default_rng(0).normal(size=(12, 3))
    np.testing.assert_allclose(levels.sums(statistics, 4000, 7), counts @ statistics, atol=1e-12)
