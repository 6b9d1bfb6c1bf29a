"""Adam against the algorithm written out."""

import numpy as np
import pytest

from features.word_level.network import falling_rates, initial_state, step


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_a_step_is_adams(decay: float) -> None:
    """Kingma and Ba 2015, algorithm 1, written out for numbers, with a rate that falls; the first two of them
    decay apart from the gradients, as in Loshchilov and Hutter 2019, algorithm 2."""
    rng = np.random.default_rng(1)
    decaying = np.array([1, 1, 0])
    state, (values,), (gradients,) = initial_state([rng.normal(size=3)], decaying=2)
    expected, first, second = values.copy(), np.zeros(3), np.zeros(3)
    for t, rate in enumerate(falling_rates(0.01, 5), start=1):
        gradients[:] = rng.normal(size=3)
        first = 0.9 * first + 0.1 * gradients
        second = 0.999 * second + 0.001 * gradients**2
        falling = 0.01 * (1 - (t - 1) / 5)
        away = np.sqrt(second / (1 - 0.999**t)) + 1e-8 / np.sqrt(1 - 0.999**t)
        expected -= falling * (first / (1 - 0.9**t) / away + decay * decaying * expected)
        step(state, rate, falling * decay)
        np.testing.assert_allclose(values, expected, rtol=1e-12)
