"""Networks that pool words: gradients against differences, what parallel text taught."""

from pathlib import Path

import numpy as np
import pytest

from features.word_level import pooling
from features.word_level.columns import Longs
from features.word_level.labels import TokenLabels, error_rate
from features.word_level.model import Inputs
from features.word_level.network import initial_state
from features.word_level.pooling import (
    Beginnings,
    LabelledTexts,
    Layers,
    Learned,
    PoolingNetwork,
    SyntheticExamples,
    Texts,
    batch_gradients,
    epoch,
    fit_network,
    full_texts,
    standardised,
)
from features.word_level.two_sides import Side, TextModel
from tests.features.differences import check_gradient

LENGTHS = np.array([3, 1, 5, 2])


def offsets_of(lengths: Longs) -> Longs:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


def small(rng: np.random.Generator, width: int = 4) -> tuple[pooling.Parameters, Texts, Learned]:
    """Parameters in double precision, texts of 1 to 5 tokens, and labels for them."""
    parameters = {k: v.astype(np.float64) for k, v in pooling.random_beginning(rng, width, 2).items()}
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
    inputs = Inputs(columns, keys, [(np.zeros((size, 2), np.float32), np.arange(size))])
    side = Side(inputs, offsets_of(lengths), tuple("abcdefghij"))
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


NAMES = ("noise", "lm", "copied", "ibm", "unrelated")
SHARED = ("ibm", "lm")


def examples(rng: np.random.Generator, n: int, names: tuple[str, ...] = NAMES) -> SyntheticExamples:
    """Texts of 0 to 9 words; a word is BAD where `lm` and `ibm` together are high."""
    lengths = rng.integers(0, 10, n)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    words = rng.normal(size=(offsets[-1], len(NAMES))).astype(np.float32)
    bad = words[:, 1] + words[:, 3] > 1
    gaps = np.zeros(offsets[-1] + n, np.bool_)
    rate = error_rate(TokenLabels(words=bad, gaps=gaps), offsets)
    return SyntheticExamples(names, words[:, [NAMES.index(name) for name in names]], bad, offsets, rate)


@pytest.fixture(scope="module")
def taught() -> Beginnings:
    return Beginnings.fit(examples(np.random.default_rng(1), 1500, SHARED), networks=2, seed=0)


def test_a_network_begins_as_what_was_taught(taught: Beginnings) -> None:
    """Whatever the inputs that are new to it say; outcomes move with the rate as they correlate with it."""
    rng = np.random.default_rng(2)
    inputs = rng.normal(size=(40, 9)).astype(np.float32)
    rate = standardised(rng.normal(size=50))
    label = standardised(-0.6 * rate + 0.8 * rng.normal(size=50))
    outcomes = np.column_stack([label, rate])
    offsets = np.array([0, 10, 40])
    for network, beginning in zip(taught.networks, taught.parameters(NAMES, 9, outcomes), strict=True):
        known = network.outcomes(Texts(inputs[:, [3, 1]], offsets))[:, 0]
        results = PoolingNetwork(beginning).outcomes(Texts(inputs, offsets))
        np.testing.assert_allclose(results[:, 1], known, rtol=1e-6)
        expected = known * np.corrcoef(label, rate)[0, 1]
        np.testing.assert_allclose(results[:, 0], expected, rtol=1e-5, atol=1e-7)


def test_what_was_taught_helps_where_labels_are_few(taught: Beginnings) -> None:
    few, many = examples(np.random.default_rng(3), 40), examples(np.random.default_rng(4), 800)
    (own, full), (texts, seen) = (full_texts(side.columns, side.offsets) for side in (few, many))
    rate = standardised(few.rate)[full, None]
    learned = Learned(rate, np.ones(len(rate), np.float32), few.bad.astype(np.float32))

    def correlation(beginning: dict[str, np.ndarray] | None) -> float:
        network = fit_network(own, learned, epochs=10, seed=0, beginning=beginning)
        return float(np.corrcoef(network.outcomes(texts)[:, 0], many.rate[seen])[0, 1])

    assert correlation(taught.parameters(NAMES, len(NAMES), rate)[0]) > correlation(None) + 0.05


def test_saved_and_loaded(taught: Beginnings, tmp_path: Path) -> None:
    taught.save(tmp_path / "texts")
    again = Beginnings.load(tmp_path / "texts", SHARED)
    rate = standardised(np.arange(5.0))[:, None]
    for one, other in zip(taught.parameters(NAMES, 6, rate), again.parameters(NAMES, 6, rate), strict=True):
        assert one.keys() == other.keys()
        for name, value in one.items():
            np.testing.assert_array_equal(value, other[name])
