"""The small network of tokens: gradients against differences, and that it learns what decides."""

import numpy as np
import pytest
from scipy.special import expit

from features.word_level import network
from features.word_level.network import Layers, Network, NetworkInputs, batch_gradients
from tests.features.differences import check_gradient


def layers(rng: np.random.Generator, width: int = 5, hidden: int = 7) -> Layers:
    return Layers(
        rng.normal(size=(width, hidden)), rng.normal(size=hidden), rng.normal(size=hidden), rng.normal(size=1)
    )


def loss(inputs: np.ndarray, bad: np.ndarray, its: Layers) -> float:
    logit = np.maximum(inputs @ its.weights + its.bias, 0) @ its.output + its.output_bias
    penalty = network._DECAY / 2 * (its.weights**2).sum()
    return float((np.logaddexp(0, logit) - bad * logit).mean() + penalty)


@pytest.mark.parametrize("name", Layers._fields)
def test_gradients_are_differences_of_the_loss(name: str) -> None:
    rng = np.random.default_rng(3)
    its = layers(rng)
    inputs, bad = rng.normal(size=(20, 5)), (rng.random(20) < 0.4).astype(np.float64)
    slopes = Layers(*(np.full_like(value, np.nan) for value in its))
    batch_gradients(inputs, bad, its, slopes)
    check_gradient(lambda: loss(inputs, bad, its), getattr(its, name), getattr(slopes, name), 1e-7)


def test_what_decides_is_learned() -> None:
    rng = np.random.default_rng(2)
    columns, rows = rng.normal(size=(25_000, 4)).astype(np.float32), np.zeros(25_000, np.int32)
    vectors = np.zeros((1, 2), np.float32)
    likely = expit(3 * np.abs(columns[:, 1]) - 2)
    bad = rng.random(25_000) < likely
    learned = Network.fit(
        NetworkInputs.from_columns(columns[:24_000], [(vectors, rows[:24_000])]), bad[:24_000], seed=0
    )
    assert (
        np.corrcoef(learned.probability(columns[24_000:], [(vectors, rows[24_000:])]), likely[24_000:])[0, 1]
        > 0.9
    )
