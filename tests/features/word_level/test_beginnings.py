"""Networks taught by parallel text: a task's network begins as exactly what was taught, and learns sooner."""

from pathlib import Path

import numpy as np
import pytest

from features.word_level.labels import TokenLabels, error_rate
from features.word_level.pooling import (
    Beginnings,
    Learned,
    PoolingNetwork,
    SyntheticExamples,
    Texts,
    fit_network,
    full_texts,
    standardised,
)

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
    for network, initial_state in zip(taught.networks, taught.parameters(NAMES, 9, outcomes), strict=True):
        known = network.outcomes(Texts(inputs[:, [3, 1]], offsets))[:, 0]
        results = PoolingNetwork(initial_state).outcomes(Texts(inputs, offsets))
        np.testing.assert_allclose(results[:, 1], known, rtol=1e-6)
        np.testing.assert_allclose(
            results[:, 0], known * np.corrcoef(label, rate)[0, 1], rtol=1e-5, atol=1e-7
        )


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
