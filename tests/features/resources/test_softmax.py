"""What a softmax says of words, beside scipy's in double precision."""

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import entropy

from features.resources._context_network import summarise


@pytest.mark.slow
@pytest.mark.parametrize("words", [1, 63, 64, 65, 20_003])
@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0, 300.0])
def test_summaries_are_those_of_scipy(words: int, spread: float) -> None:
    """Logits from all alike to so far apart that most of e^x are below what single precision holds."""
    rng = np.random.default_rng(words)
    logits = (rng.normal(size=(20, words)) * spread).astype(np.float32)
    bias = rng.normal(size=words).astype(np.float32)
    chosen = rng.integers(0, words, 20).astype(np.int32)
    exact = (logits + bias).astype(np.float64)
    expected = log_softmax(exact, axis=1)
    own = expected[np.arange(20), chosen]
    result = np.empty((20, 4), np.float32)
    summarise(logits.copy(), bias, chosen, result)
    np.testing.assert_allclose(result[:, 0], own, rtol=1e-6, atol=3e-6)
    np.testing.assert_allclose(np.expm1(result[:, 1]), (expected > own[:, None]).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(result[:, 2], expected.max(axis=1) - own, rtol=1e-6, atol=3e-6)
    np.testing.assert_allclose(result[:, 3], entropy(np.exp(expected), axis=1), rtol=1e-5, atol=1e-5)
