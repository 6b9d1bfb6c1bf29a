"""Models of words: Adam, gradients, trees to LightGBM's last bit, probabilities, damage."""

import warnings
from pathlib import Path

import lightgbm
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import expit

from features.core.segments import Segments
from features.storage.boosted_trees import check_trees
from features.word_level import network
from features.word_level.columns import same_width
from features.word_level.keys import Encoding, out_of_fold
from features.word_level.labels import PROBABILITIES, tag_probabilities, target_labels
from features.word_level.model import Inputs, TokenModel
from features.word_level.network import (
    Layers,
    Network,
    NetworkInputs,
    batch_gradients,
    falling_rates,
    initial_state,
    moments,
    standardised_inputs,
    step,
)
from features.word_level.training_text import load_used, save_used
from features.word_level.trees import _rounded_down, fit_trees, load_trees, tree_probability
from features.word_level.two_sides import projected
from tests.factories import tokens
from tests.features.differences import check_gradient


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


def loss(inputs: np.ndarray, bad: np.ndarray, its: Layers) -> float:
    logit = np.maximum(inputs @ its.weights + its.bias, 0) @ its.output + its.output_bias
    penalty = network._DECAY / 2 * (its.weights**2).sum()
    return float((np.logaddexp(0, logit) - bad * logit).mean() + penalty)


@pytest.mark.parametrize("name", Layers._fields)
def test_gradients_are_differences_of_the_loss(name: str) -> None:
    rng = np.random.default_rng(3)
    its = Layers(*(rng.normal(size=size) for size in ((5, 7), 7, 7, 1)))
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
    known = NetworkInputs.from_columns(columns[:24_000], [(vectors, rows[:24_000])])
    learned = Network.fit(known, bad[:24_000], seed=0)
    found = learned.probability(columns[24_000:], [(vectors, rows[24_000:])])
    assert np.corrcoef(found, likely[24_000:])[0, 1] > 0.9


floats = st.one_of(st.just(float("nan")), st.floats(-1e3, 1e3, width=32))
matrices = arrays(np.float32, st.tuples(st.integers(0, 12), st.integers(0, 5)), elements=floats)


@pytest.mark.slow
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


@pytest.mark.slow
@given(matrices)
def test_inputs_are_cut(columns: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> None:
    vectors = [(np.full((1, 2), 0.5, np.float32), np.zeros(len(columns), np.int32))]
    mean, deviation = moments(columns)
    inputs = standardised_inputs(columns, vectors, mean, deviation)
    scaled = np.clip((columns - mean) / deviation, -4, 4)
    np.testing.assert_array_equal(inputs[:, : columns.shape[1]], np.nan_to_num(scaled))
    assert (inputs[:, columns.shape[1] :] == 1.5).all()


def table(rng: np.random.Generator, rows: int, columns: int, missing: float) -> NDArray[np.float32]:
    """Some columns of few values, so that rows stand at thresholds; one without missing values."""
    values = rng.normal(size=(rows, columns)).astype(np.float32)
    values[:, ::2] = np.round(values[:, ::2] * 2) / 2
    values[:, 1:][rng.random((rows, columns - 1)) < missing] = np.nan
    return values


def trained(seed: int, missing: float, rounds: int = 12) -> str:
    rng = np.random.default_rng(seed)
    values = table(rng, 600, 7, missing)
    bad = np.nan_to_num(values).sum(axis=1) + rng.normal(size=600) > 0.5
    return fit_trees(values, bad, rounds=rounds, seed=seed, leaves=8)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.2]), st.sampled_from([0.0, 0.3]), st.integers(0, 21))
def test_sums_and_probabilities_are_lightgbms(seed: int, missing: float, new: float, rows: int) -> None:
    """With and without missing values in training and afterwards, for any number of rows."""
    text = trained(seed, missing)
    check_trees(text)
    walks, booster = load_trees(text), lightgbm.Booster(model_str=text)
    values = table(np.random.default_rng(seed + 1), rows, 7, new)
    if rows:
        values[0] = np.nan
        values[-1] = np.inf
        np.testing.assert_array_equal(walks.sums(values), booster.predict(values, raw_score=True))
        np.testing.assert_array_equal(tree_probability(walks, values), booster.predict(values))
    else:
        assert len(tree_probability(walks, values)) == 0


def test_trees_without_splits() -> None:
    """Labels that no column explains: every tree is one leaf, or there is none."""
    values = np.zeros((100, 3), np.float32)
    text = fit_trees(values, np.arange(100) % 4 == 0, rounds=3, seed=0)
    expected = lightgbm.Booster(model_str=text).predict(values[:5])
    np.testing.assert_array_equal(tree_probability(load_trees(text), values[:5]), expected)


@given(st.floats(allow_nan=False, width=64), st.floats(allow_nan=False, width=32))
def test_a_single_precision_threshold_parts_alike(exact: float, value: float) -> None:
    limit = _rounded_down(np.array([exact]))[0]
    with np.errstate(over="ignore"):
        above = np.nextafter(limit, np.float32(np.inf))
    for near in (value, limit, above):
        assert (np.float64(near) <= exact) == bool(np.float32(near) <= limit)


def test_probabilities_alternate_gap_and_word() -> None:
    learned = tag_probabilities(["0.5 0.25 0 1 0.75", "0.125"], tokens("a b", ""))
    assert learned.words.tolist() == [0.25, 1.0]
    assert learned.gaps.tolist() == [0.5, 0.0, 0.75, 0.125]


def test_probabilities_come_before_tags() -> None:
    labels, segments = {"word_tags": ["OK BAD OK"]}, Segments(("a",), ("a",))
    assert target_labels("word_tags", labels, segments).words.tolist() == [True]
    labels[PROBABILITIES] = ["0 0.5 0"]
    assert target_labels("word_tags", labels, segments).words.tolist() == [0.5]


def test_a_token_counts_as_much_as_it_is_bad() -> None:
    """Key 1: .25 + .75 of 2 tokens; key 2: 1 of 1; smoothed by 5 tokens of the overall share, 2 / 3."""
    encoding = Encoding.fit(np.array([1, 1, 2], np.uint64), np.array([0.25, 0.75, 1.0]))
    share = encoding.columns(np.array([1, 2, 9], np.uint64))[:, 0]
    np.testing.assert_allclose(share, [(1 + 10 / 3) / 7, (1 + 10 / 3) / 6, 2 / 3])


def test_certain_probabilities_are_tags() -> None:
    """Encodings are equal to the last bit; LightGBM's two objectives agree where labels are 0 and 1."""
    rng = np.random.default_rng(0)
    keys = {"word": rng.integers(0, 30, 1600).astype(np.uint64)}
    bad, segment = rng.random(1600) < 0.3, np.arange(1600) // 10
    exact = bad.astype(np.float64)
    np.testing.assert_array_equal(out_of_fold(keys, bad, segment), out_of_fold(keys, exact, segment))
    values = rng.normal(size=(1600, 5)).astype(np.float32)
    texts = (fit_trees(values, labels, 10, 0, leaves=6) for labels in (bad, exact))
    probabilities = [tree_probability(load_trees(text), values) for text in texts]
    np.testing.assert_allclose(probabilities[0], probabilities[1], atol=1e-6)


def test_groups_come_to_their_mean_probability() -> None:
    """Two kinds of words, each with probabilities around .2 or .8: no draw is wasted, the means are found."""
    rng = np.random.default_rng(2)
    kind = np.arange(4000) % 2
    bad = np.where(kind, 0.8, 0.2) + rng.uniform(-0.1, 0.1, 4000)
    inputs = Inputs(kind[:, None].astype(np.float32), {"word": kind.astype(np.uint64)})
    model = TokenModel.fit(inputs, bad, np.arange(4000) // 20, rounds=150, seed=0, networks=0)
    assert not model.networks
    p = model.probability(inputs)
    for one in (0, 1):
        assert abs(p[kind == one].mean() - bad[kind == one].mean()) < 0.005
        assert np.ptp(p[kind == one]) < 0.01


def test_a_source_word_is_as_bad_as_the_worst_word_it_is_linked_with() -> None:
    links = np.array([0, 0, 2]), np.array([0, 1, 2])
    assert projected(np.array([0.2, 0.7, 0.4]), links, 3).tolist() == [0.7, 0.0, 0.4]


def test_columns_that_were_read_are_known(tmp_path: Path) -> None:
    save_used(frozenset(["pseudo_reference"]), tmp_path)
    assert load_used(tmp_path) == {"pseudo_reference"}


def test_a_model_takes_the_columns_that_are_made() -> None:
    same_width(3, 3)


def test_what_lies_behind_trees_is_not_read() -> None:
    """LightGBM reads settings of training there, and crashes on some."""
    rng = np.random.default_rng(0)
    values = rng.random((200, 2), np.float32)
    text = fit_trees(values, rng.random(200) < 0.5, rounds=2, seed=0)
    whole = lightgbm.Booster(model_str=text).predict(values)
    damaged = text.replace("pandas_categorical:null", "pandas_categorical:[1")
    assert damaged != text and np.array_equal(tree_probability(load_trees(damaged), values), whole)
