"""Lanes: what numpy does with the same words."""

import numba
import numpy as np
from numpy.typing import NDArray

from features.resources._lanes import WORDS, every, load, store


@numba.njit
def _work(a: NDArray[np.uint64], b: NDArray[np.uint64], result: NDArray[np.uint64]) -> None:
    left, right = load(a, 1), load(b, 0)
    for place in range(2):  # lanes in variables that a loop changes
        left = left ^ right if place else left & ~right
    store(result, 0, left)
    store(result, 1, left | every(np.uint64(5)))


def test_operations_are_those_of_numpy() -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(0, 2**64, 2 * WORDS, np.uint64) for _ in range(2))
    result = np.full(3 * WORDS, 7, np.uint64)
    _work(a, b, result)
    expected = (a[WORDS:] & ~b[:WORDS]) ^ b[:WORDS]
    np.testing.assert_array_equal(result[:WORDS], expected)
    np.testing.assert_array_equal(result[WORDS : 2 * WORDS], expected | np.uint64(5))
    np.testing.assert_array_equal(result[2 * WORDS :], 7)  # nothing else is written
