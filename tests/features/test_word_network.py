"""Networks that pool words: gradients against differences, laws of pooling, and that bad words are found."""

import numpy as np
import pytest

from features.word_level import pooling
from features.word_level import pooling as training
from features.word_level.columns import Longs
from features.word_level.model import Inputs
from features.word_level.network import initial_state
from features.word_level.pooling import (
    LabelledTexts,
    Layers,
    Learned,
    PoolingNetwork,
    Texts,
    batch_gradients,
    epoch,
    standardised,
)
from features.word_level.two_sides import Side, TextModel
from tests.features.differences import check_gradient

LENGTHS = np.array([3, 1, 5, 2])


def offsets_of(lengths: Longs) -> Longs:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


def small(rng: np.random.Generator, width: int = 4) -> tuple[pooling.Parameters, Texts, Learned]:
    """Parameters in double precision, texts of 1 to 5 tokens, and labels for them."""
    parameters = {k: v.astype(np.float64) for k, v in training.random_beginning(rng, width, 2).items()}
    size = int(LENGTHS.sum())
    learned = Learned(
        rng.normal(size=(4, 2)), rng.uniform(0.5, 2, 4), (rng.random(size) < 0.5).astype(np.float64)
    )
    return parameters, Texts(rng.normal(size=(size, width)), offsets_of(LENGTHS)), learned


def loss(parameters: pooling.Parameters, texts: Texts, learned: Learned) -> float:
    outcome = pooling._forward(parameters, texts)
    error = outcome.units @ parameters["outcome"] + parameters["outcome_bias"] - learned.outcomes
    logit = outcome.hidden @ parameters["bad"] + parameters["bad_bias"]
    cross_entropy = np.logaddexp(0, logit) - learned.bad * logit
    return float((learned.weights[:, None] * error**2).sum() / 2 / len(error) + cross_entropy.mean())


@pytest.mark.slow
@pytest.mark.parametrize("name", Layers._fields)
def test_gradients_are_differences_of_the_loss(name: str) -> None:
    parameters, texts, learned = small(np.random.default_rng(5))
    parameters["attention"] *= 5
    slopes = Layers(**{name: np.full_like(value, np.nan) for name, value in parameters.items()})
    batch_gradients(labelled(texts, learned), Layers(**parameters), slopes, decay=0.3)

    def penalised() -> float:
        return loss(parameters, texts, learned) + 0.3 / 2 * float((parameters["text"] ** 2).sum())

    size = parameters[name].size
    places = np.random.default_rng(6).choice(size, min(size, 12), replace=False).tolist()
    check_gradient(penalised, parameters[name], getattr(slopes, name), 1e-6, places)


@pytest.mark.slow
def test_a_step_learns_from_the_inputs_that_its_batch_sees() -> None:
    """Two of four texts, two of their four inputs, twice as large; the others only have the penalty."""
    parameters, texts, learned = small(np.random.default_rng(7))
    state, values, gradients = initial_state([parameters[name] for name in Layers._fields])
    layers, slopes = Layers(*values), Layers(*gradients)
    before, order, seen = state.values.copy(), np.array([2, 0]), np.array([[False, True, True, False]])
    rates = np.zeros(1)  # so that the parameters stay where the gradient is asked for
    epoch(labelled(texts, learned), np.array([0, 2]), order, seen, 2.0, rates, 0.3, layers, slopes, state)
    np.testing.assert_array_equal(state.values, before)

    offsets, tokens = texts.places(order)
    shown = Texts(texts.inputs[tokens] * seen[0] * 2.0, offsets)
    its = Learned(learned.outcomes[order], learned.weights[order], learned.bad[tokens])

    def penalised() -> float:
        penalty = 0.3 / 2 * float((layers.token**2).sum() + (layers.text**2).sum())
        return loss(layers._asdict(), shown, its) + penalty

    for name in ("token", "attention", "text", "outcome"):
        size = getattr(layers, name).size
        places = np.random.default_rng(8).choice(size, min(size, 40), replace=False).tolist()
        check_gradient(penalised, getattr(layers, name), getattr(slopes, name), 1e-6, places)


def labelled(texts: Texts, learned: Learned) -> LabelledTexts:
    return LabelledTexts(texts.inputs, texts.offsets, learned.outcomes, learned.weights, learned.bad)


def test_pooling_does_not_see_the_order_of_words_or_other_texts() -> None:
    rng = np.random.default_rng(1)
    parameters, texts, _ = small(rng)
    network = PoolingNetwork(parameters)
    expected = network.outcomes(texts)
    first = texts.offsets[2]
    mixed = texts.inputs.copy()
    mixed[first : first + 5] = mixed[first : first + 5][rng.permutation(5)]
    np.testing.assert_allclose(network.outcomes(Texts(mixed, texts.offsets)), expected)
    alone = texts.take(np.array([2]))
    np.testing.assert_allclose(network.outcomes(alone), expected[2:3])
    assert network.outcomes(Texts(texts.inputs[:0], texts.offsets[:1])).shape == (0, 2)


@pytest.mark.slow
def test_the_number_of_bad_words_is_learned() -> None:
    """One column says which words are bad, nine are noise; the outcome is the share of bad words."""
    rng = np.random.default_rng(2)
    lengths = rng.integers(0, 12, 2500)
    side, bad, share = _spoiled(rng, lengths)
    outcomes, weights = standardised(share)[:, None], np.ones(2500, np.float32)
    model = TextModel.fit(side, bad, outcomes, weights, networks=1, epochs=14, seed=0)
    new = rng.integers(1, 12, 300)
    unseen, _, wanted = _spoiled(rng, new)
    results = model.outcomes(unseen)[:, 0]
    assert np.corrcoef(results, wanted)[0, 1] > 0.6
    assert np.isnan(model.outcomes(side)[lengths == 0]).all()
    again = TextModel.fit(side, bad, outcomes, weights, networks=1, epochs=14, seed=0)
    np.testing.assert_array_equal(again.outcomes(unseen)[:, 0], results)


def _spoiled(rng: np.random.Generator, lengths: Longs) -> tuple[Side, np.ndarray, np.ndarray]:
    size = int(lengths.sum())
    columns = rng.normal(size=(size, 10)).astype(np.float32)
    bad = columns[:, 0] > 0.8
    keys = {"word": rng.integers(0, 50, size).astype(np.uint64)}
    side = Side(
        Inputs(columns, keys, [(np.zeros((size, 2), np.float32), np.arange(size))]),
        offsets_of(lengths),
        tuple("abcdefghij"),
    )
    counts = np.bincount(side.segment, weights=bad, minlength=len(lengths))
    return side, bad, counts / np.where(lengths > 0, lengths, np.nan)


def test_a_heavier_row_is_fitted_better() -> None:
    rng = np.random.default_rng(3)
    side, bad, _ = _spoiled(rng, np.full(200, 4))
    outcomes = np.where(np.arange(200) < 100, 1.0, -1.0).astype(np.float32)[:, None]  # inputs say nothing
    means = []
    for heavy in (slice(0, 100), slice(100, 200)):
        weights = np.full(200, 0.1, np.float32)
        weights[heavy] = 1.9
        model = TextModel.fit(side, bad, outcomes, weights, networks=1, epochs=14, seed=0)
        means.append(float(model.outcomes(side).mean()))
    assert means[0] > 0.3 > -0.3 > means[1]


def teststandardised_labels() -> None:
    values = standardised(np.array([1.0, 3.0, np.nan]))
    np.testing.assert_allclose(values, [-1, 1, 0])
    assert standardised(np.array([2.0, 2.0])).tolist() == [0, 0]
