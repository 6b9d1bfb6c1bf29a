"""Networks that predict words: hashes by hashlib, figures by dense arithmetic, and what is learned."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from features import ParallelCorpus, Segments
from features.resources.word_lexicon import KeptWords
from features.storage.damage import Damaged
from features.text.tokens import Tokens, Vocabulary
from qe_papers.extractors.word_models import WordPredictionScores
from qe_papers.resources.word_prediction import Training, WordPrediction, _vectors, distance, hashes, mean_log
from tests.factories import ENGLISH, SPANISH, refuses, row

WORDS = {"red": "rojo", "cat": "gato", "dog": "perro", "big": "grande", "house": "casa", "sun": "sol"}
QUICK = Training(hidden=20, epochs=30, batch=8)


def corpus() -> ParallelCorpus:
    rng = np.random.default_rng(0)
    chosen = [rng.choice(list(WORDS), 2, replace=False) for _ in range(200)]
    return ParallelCorpus.from_lines(
        [(" ".join(pair), " ".join(WORDS[word] for word in pair)) for pair in chosen], ENGLISH, SPANISH
    )


@pytest.fixture(scope="module")
def extractor() -> WordPredictionScores:
    kept = {f"{side}_kept_words": KeptWords.build(corpus(), side=side) for side in ("source", "target")}
    return WordPredictionScores(
        WordPrediction.build(corpus(), hashed=False, training=QUICK, **kept),
        WordPrediction.build(corpus(), hashed=True, training=QUICK),
    )


def scores(extractor: WordPredictionScores, source: str, target: str) -> dict[str, float]:
    return row(extractor, Segments.from_columns({"source": [source], "target": [target]}, ENGLISH, SPANISH))


@pytest.mark.slow
def test_right_words_are_nearer_and_more_probable(extractor: WordPredictionScores) -> None:
    right, wrong = scores(extractor, "red cat", "gato rojo"), scores(extractor, "red cat", "perro grande")
    for kind in ("filtered", "hashed"):
        assert right[f"word_prediction_{kind}_probability"] > 3 * wrong[f"word_prediction_{kind}_probability"]
        assert right[f"word_prediction_{kind}_distance"] < wrong[f"word_prediction_{kind}_distance"]


def test_hashes_are_the_first_twelve_bits() -> None:
    expected = [int(hashlib.sha1(f"{salt}mañana".encode()).hexdigest()[:3], 16) for salt in range(3)]
    assert hashes("mañana") == expected
    vectors = _vectors(Tokens.from_lists([["mañana", "mañana"], []]), Vocabulary([]), hashed=True)
    assert vectors.shape == (2, 4096) and sorted(vectors[0].indices) == sorted(set(expected))


def test_figures_are_those_of_dense_vectors() -> None:
    rng = np.random.default_rng(0)
    predicted = rng.random((4, 6))
    there = np.array([[1, 0, 1, 0, 0, 1], [0] * 6, [1] * 6, [0, 0, 0, 0, 0, 1]], np.float32)
    np.testing.assert_allclose(
        distance(predicted, csr_matrix(there)), np.linalg.norm(predicted - there, axis=1), rtol=1e-6
    )
    means = mean_log(predicted, csr_matrix(there))
    assert np.isnan(means[1])
    assert means[0] == pytest.approx(np.log(predicted[0, [0, 2, 5]]).mean(), rel=1e-6)


@pytest.mark.slow
def test_damaged_weights_are_refused(extractor: WordPredictionScores) -> None:
    part = extractor.word_prediction_hashed
    part.check_arrays()
    network, bias = part.network, part.network.bias
    shorter = replace(part, network=replace(network, bias=bias[:-1]))
    refuses("`bias` must be float32", shorter.check_arrays, error=Damaged)
    undefined = replace(part, network=replace(network, bias=bias * np.float32(np.nan)))
    refuses("`bias` must hold numbers", undefined.check_arrays, error=Damaged)
