"""Columns standardised by what is defined of them: the same as by numpy's functions that pass over NaN."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from features.word_level.network import moments, standardised_inputs

pytestmark = pytest.mark.slow

floats = st.one_of(st.just(float("nan")), st.floats(-1e3, 1e3, width=32))
matrices = arrays(np.float32, st.tuples(st.integers(0, 12), st.integers(0, 5)), elements=floats)


@given(matrices)
@example(np.array([[1e-45], [0]], np.float32))  # its deviation is 0 in single precision
def test_moments_are_those_of_numpy(columns: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> None:
    mean, deviation = moments(columns)
    wide = columns.astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns without any value
        expected, spread = np.nanmean(wide, axis=0), np.nanstd(wide, axis=0)
    expected, spread = np.nan_to_num(expected), np.nan_to_num(spread)
    np.testing.assert_allclose(mean, expected, rtol=1e-5, atol=1e-4)
    varied = spread > 1e-3
    np.testing.assert_allclose(deviation[varied], spread[varied], rtol=1e-4)
    assert (deviation > 0).all()


@given(matrices)
def test_inputs_are_cut(columns: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> None:
    vectors = [(np.full((1, 2), 0.5, np.float32), np.zeros(len(columns), np.int32))]
    mean, deviation = moments(columns)
    inputs = standardised_inputs(columns, vectors, mean, deviation)
    scaled = np.clip((columns - mean) / deviation, -4, 4)
    np.testing.assert_array_equal(inputs[:, : columns.shape[1]], np.nan_to_num(scaled))
    assert (inputs[:, columns.shape[1] :] == 1.5).all()
