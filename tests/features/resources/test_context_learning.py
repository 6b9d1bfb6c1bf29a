"""Learning of the predictor's network: gradients against differences, a step against the whole formula."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from features.resources._context_network import ContextNetwork, Learning, _descend_rows, _rate, inputs_of

OWN, SLOTS, SAMPLED = 2, 3, np.array([1, 2, 5, 9, 11], np.int32)


def learning() -> tuple[Learning, np.ndarray, np.ndarray, np.ndarray]:
    """In double precision; contexts, words (some of them sampled, too), what is kept of hidden units."""
    beginning = vars(ContextNetwork.beginning((12, 10), SLOTS, 4, 6, seed=3))
    rng = np.random.default_rng(4)
    doubles: Any = {name: value.astype(np.float64) for name, value in beginning.items()}
    doubles["output_bias"] += rng.normal(size=12)
    contexts = rng.integers(0, 10, (8, SLOTS)).astype(np.int32)
    words = np.array([2, 3, 3, 11, 0, 5, 7, 2], np.int32)
    return Learning(doubles, OWN), contexts, words, (rng.random((8, 6)) < 0.8) / 0.8


def loss(made: Learning, contexts: np.ndarray, words: np.ndarray, kept: np.ndarray) -> float:
    """The mean of -log of a softmax of the word and the sampled ones that are not the word."""
    p = made.parameters
    units = np.maximum(inputs_of(p["target"], p["source"], contexts, OWN) @ p["hidden"] + p["hidden_bias"], 0)
    drawn = np.log(256 * np.log1p(1 / (np.arange(12) + 1)) / np.log(13))
    logits = (units * kept) @ p["output"].T + p["output_bias"] - drawn
    each = []
    for row, word in zip(logits, words, strict=True):
        others = [k for k in SAMPLED if k != word]
        each.append(logsumexp(row[[word, *others]]) - row[word])
    return float(np.mean(each))


@pytest.mark.slow
def test_gradients_are_those_of_the_loss() -> None:
    made, contexts, words, kept = learning()
    gradients = made.gradients(contexts, words, SAMPLED, kept, len(words))
    assert set(gradients) == set(made.parameters)
    for name, (rows, values) in gradients.items():
        whole = np.zeros_like(made.parameters[name])
        if rows is None:
            whole += values
        else:
            np.add.at(whole, rows, values)
        expected = np.zeros_like(whole)
        for place in np.ndindex(whole.shape):
            sides = []
            for by in (1e-5, -1e-5):
                made.parameters[name][place] += by
                sides.append(loss(made, contexts, words, kept))
                made.parameters[name][place] -= by
            expected[place] = (sides[0] - sides[1]) / 2e-5
        assert np.abs(expected).max() > 1e-4
        np.testing.assert_allclose(whole, expected, atol=2e-6, err_msg=name)


def test_the_rate_rises_for_500_steps_or_a_tenth_and_falls_to_nothing() -> None:
    for steps, top in ((20_000, 500), (300, 31)):
        rates = np.array([_rate(done, steps) for done in range(steps)])
        assert abs(int(rates.argmax()) + 1 - top) <= 1 and 0 < rates[0] < 0.01
        assert (np.diff(rates[:top]) > 0).all() and (np.diff(rates[top:]) < 0).all()
        assert 0.17 < rates.max() <= 0.2 and 0 < rates[-1] < 0.001


def test_a_step_adds_up_the_gradients_of_equal_rows() -> None:
    """Adagrad (Duchi et al. 2011) on the sum of each row; rows without gradient stay as they are."""
    rng = np.random.default_rng(0)
    values, squares = (rng.random((6, 3)).astype(np.float32) for _ in range(2))
    rows, gradient = np.array([4, 1, 4, 4, 0], np.int32), rng.normal(size=(5, 3)).astype(np.float32)
    total = np.zeros((6, 3), np.float32)
    np.add.at(total, rows, gradient)
    expected_squares = squares + total**2
    expected = values - np.float32(0.05) * total / np.sqrt(expected_squares)
    places = np.full(6, -1, np.int32)
    _descend_rows(values, squares, rows, gradient, places, np.float32(0.05))
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    np.testing.assert_allclose(squares, expected_squares, rtol=1e-6)
    assert (places == -1).all()


@pytest.mark.slow
def test_pieces_of_a_batch_are_one_batch() -> None:
    """In turn or side by side; and the sum of two gradients is the gradient of both."""
    made = [learning() for _ in range(3)]
    for (one, contexts, words, _), apply in zip(made[:2], (map, ThreadPoolExecutor(2).map), strict=True):
        one.step(contexts, words, 0.05, np.random.default_rng(1), apply)
    for name, values in made[0][0].parameters.items():
        np.testing.assert_array_equal(made[1][0].parameters[name], values)
        assert np.abs(values - made[2][0].parameters[name]).max() > 1e-3
    network, contexts, words, kept = made[2]
    whole = network.gradients(contexts, words, SAMPLED, kept, 8)["hidden"][1]
    parts = [
        network.gradients(contexts[r], words[r], SAMPLED, kept[r], 8)["hidden"][1]
        for r in (range(3), range(3, 8))
    ]
    np.testing.assert_allclose(parts[0] + parts[1], whole, rtol=1e-9)
