"""Errors by band: figures by hand."""

import numpy as np
import pytest

from qe.evaluation.plots import error_bands


def test_bands_of_equal_size_by_hand() -> None:
    by = np.array([1.0, 2.0, 3.0, 4.0])
    gold, predicted = np.zeros(4), np.array([1.0, -1.0, 3.0, 2.0])
    first, second = error_bands(by, gold, predicted, bands=2)
    assert (first.low, first.high, first.n, first.mae, first.bias) == (1, 2, 2, 1.0, 0.0)
    assert (second.low, second.high, second.n, second.mae, second.bias) == (3, 4, 2, 2.5, 2.5)
    assert first.ci == (1.0, 1.0)  # every resample of equal errors has their mean
    assert 2.0 <= second.ci[0] <= 2.5 <= second.ci[1] <= 3.0


def test_equal_values_share_a_band() -> None:
    bands = error_bands(np.array([1.0] * 5 + [5.0] * 3), np.zeros(8), np.ones(8))
    assert [(band.low, band.high, band.n) for band in bands] == [(1, 1, 5), (5, 5, 3)]


def test_the_interval_is_that_of_the_normal_approximation_for_many() -> None:
    generator = np.random.default_rng(0)
    errors = generator.exponential(1.0, 2000)
    (band,) = error_bands(np.zeros(2000), np.zeros(2000), errors)
    reach = 1.96 * errors.std() / np.sqrt(2000)
    assert band.ci == pytest.approx((band.mae - reach, band.mae + reach), abs=0.15 * reach)
