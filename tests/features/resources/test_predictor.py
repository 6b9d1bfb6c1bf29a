"""The predictor: contexts by hand, gradients by differences, scipy's softmax, words told from context."""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp
from scipy.stats import entropy

from features import Bundle, ParallelCorpus, Segments
from features.basics.progress import Progress, silent
from features.core.bundle import build
from features.core.feature_set import make_extractor
from features.resources._context_network import (
    ContextNetwork,
    Learning,
    _descend_rows,
    _rate,
    inputs_of,
    summarise,
)
from features.resources.predictor import _contexts
from features.storage.checksums import checksums
from features.text.links import Links
from features.text.tokens import BOS, EOS, UNK, Vocabulary
from tests.factories import TOKENIZERS, corpus, paired, segments, table, tokens
from tests.features.differences import check_gradient

NOUNS = {"house": "casa", "cat": "gato", "dog": "perro", "wolf": "lobo", "table": "mesa", "book": "libro"}
COLOURS = {"red": "rojo", "grey": "gris", "black": "negro", "white": "blanco", "green": "verde"}
VERBS = {"sleeps": "duerme", "runs": "corre", "falls": "cae", "waits": "espera"}


def sentences(n: int, seed: int) -> list[tuple[str, str]]:
    """The colour stands after the noun, and the article is the same."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(n):
        noun, colour, verb = (str(rng.choice(list(words))) for words in (NOUNS, COLOURS, VERBS))
        pairs.append((f"the {colour} {noun} {verb} .", f"el {NOUNS[noun]} {COLOURS[colour]} {VERBS[verb]} ."))
    return pairs


def corpus_of(n: int) -> ParallelCorpus:
    return corpus(sentences(n, 1), TOKENIZERS)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    settings = {"predictor": {"epochs": 6, "dimensions": 16, "units": 32}}
    return build(lambda: corpus_of(1500), tmp_path_factory.mktemp("bundle"), ["predictor"], settings=settings)


def predicted(bundle: Bundle, batch: Segments) -> Any:
    source, target = batch.source_tokens, batch.target_tokens
    links = bundle.part("aligner").align(source, target, "source-target")
    return bundle.part("predictor").predict(source, target, links)


def test_contexts_by_hand() -> None:
    """Three words on either side; two on either side of the source word; an unaligned word has its
    neighbour's, the later of two.
    """
    source, target = tokens("x y"), tokens("a b C q")
    left, right = Vocabulary(["x", "y"]), Vocabulary(["a", "b", "c"])
    links = Links.from_pharaoh(["0-0 1-2"])
    a, b, c, x, y = 3, 4, 5, 3, 4
    expected = [
        [BOS, BOS, BOS, b, c, UNK, BOS, BOS, x, y, EOS],
        [BOS, BOS, a, c, UNK, EOS, BOS, x, y, EOS, EOS],
        [BOS, a, b, UNK, EOS, EOS, BOS, x, y, EOS, EOS],
        [a, b, c, EOS, EOS, EOS, BOS, x, y, EOS, EOS],
    ]
    assert _contexts(source, target, links, left, right).tolist() == expected


@pytest.mark.parametrize("single", [False, True])
def test_predictions_are_those_of_the_softmax_and_do_not_depend_on_the_batch(single: bool) -> None:
    network = ContextNetwork.beginning((50, 40), 11, 8, 16, seed=5)
    rng = np.random.default_rng(6)
    contexts = rng.integers(0, 40, (700, 11)).astype(np.int32)
    words = rng.integers(0, 50, 700).astype(np.int32)
    units = network.units(contexts, 6)
    got = network.predictions(units, words, single=single)
    logits = units.astype(np.float64) @ network.output.T.astype(np.float64) + network.output_bias
    every = log_softmax(logits, 1)
    own = every[np.arange(700), words]
    np.testing.assert_allclose(got[:, 0], own, atol=1e-4)
    np.testing.assert_allclose(got[:, 1], np.log1p((every > own[:, None]).sum(axis=1)), atol=1e-6)
    np.testing.assert_allclose(got[:, 2], every.max(axis=1) - own, atol=1e-4)
    np.testing.assert_allclose(got[:, 3], -(np.exp(every) * every).sum(axis=1), atol=1e-4)
    alone = network.predictions(network.units(contexts[437:438], 6), words[437:438], single=single)
    np.testing.assert_array_equal(alone[0], got[437])


def small(folder: Path, seed: int, progress: Progress = silent) -> Bundle:
    settings = {"predictor": {"epochs": 100, "dimensions": 8, "units": 8, "seed": seed}}
    return build(lambda: corpus_of(200), folder, ["predictor"], settings=settings, progress=progress)


@pytest.mark.slow
def test_a_saved_model_predicts_in_single_precision_the_same_to_a_few_millionths(tmp_path: Path) -> None:
    """Its bundle is the one whose files were compared with the model's checksums."""
    built = small(tmp_path / "bundle", 0)
    built.export(["predictor"], tmp_path / "model")
    own = Bundle(tmp_path / "model", checksums(tmp_path / "model")).part("predictor")
    trained = built.part("predictor")
    texts = corpus_of(200)
    links = Links.from_pharaoh(["0-0"] * len(texts))
    rough, exact = (each.predict(texts.source, texts.target, links) for each in (own, trained))
    for name in ("log_probability", "rank", "margin", "entropy"):
        values, expected = getattr(rough, name), getattr(exact, name)
        np.testing.assert_allclose(values, expected, rtol=0, atol=2e-5)
        assert name == "rank" or (values != expected).any()


def killed(stage: str, done: int, total: int) -> None:
    """Ends its process, as a kill does, when the predictor has learned for 200 steps."""
    if "learning to predict words" in stage:
        os._exit(9)


@pytest.mark.slow
def test_a_build_killed_while_it_learns_goes_on_behind_the_alignment(tmp_path: Path) -> None:
    """What was finished stays as it is, and the outcome is that of a build that nobody killed."""
    child = get_context("spawn").Process(target=small, args=(tmp_path / "b", 0, killed))
    child.start()
    child.join()
    aligner = tmp_path / "b" / "aligner" / "meta.json"
    assert child.exitcode == 9 and not (tmp_path / "b" / "predictor").exists()
    before = aligner.stat().st_mtime_ns
    whole, resumed = (small(tmp_path / name, 0).part("predictor") for name in ("whole", "b"))
    assert aligner.stat().st_mtime_ns == before
    np.testing.assert_array_equal(whole.network.output, resumed.network.output)


@pytest.mark.slow
def test_words_of_new_sentences_are_predicted(bundle: Bundle) -> None:
    found = predicted(bundle, paired(sentences(100, 2), TOKENIZERS))
    assert np.exp(found.log_probability).mean() > 0.8
    assert (np.expm1(found.rank) < 0.5).mean() > 0.95


def test_evidence_of_the_units_and_the_bias_of_a_word_are_its_logit(bundle: Bundle) -> None:
    """The log-probability that `predict` gives is the softmax of these logits."""
    predictor, batch = bundle.part("predictor"), segments("the red cat .", "el gato Rojo nunca", TOKENIZERS)
    found = predicted(bundle, batch)
    evidence = predictor.evidence(batch.target_tokens, found)
    assert evidence.shape == (4, 32)
    network, words = predictor.network, batch.target_tokens.lower().ids_in(predictor.target_words)
    every = found.units.astype(np.float64) @ network.output.T.astype(np.float64) + network.output_bias
    logits = evidence.sum(axis=1) + network.output_bias[words]
    np.testing.assert_allclose(logits, every[np.arange(4), words], atol=1e-5)
    np.testing.assert_allclose(logits - logsumexp(every, axis=1), found.log_probability, atol=1e-4)


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
        assert np.abs(whole).max() > 1e-4
        check_gradient(lambda: loss(made, contexts, words, kept), made.parameters[name], whole, 2e-6)


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


@pytest.mark.slow
def test_columns_are_numpys_statistics_of_the_words(bundle: Bundle) -> None:
    batch = paired([*sentences(5, 3), ("the red cat", "el rojo verde gato mesa")], TOKENIZERS)
    found = predicted(bundle, batch)
    columns = table(make_extractor({"kind": "predictor"}, bundle), batch, "predictor_")
    for i, (first, last) in enumerate(pairwise(batch.target_tokens.offsets)):
        log, rank = found.log_probability[first:last], np.expm1(found.rank[first:last])
        expected = {
            "mean": log.mean(),
            "minimum": log.min(),
            "quantile_0.25": np.quantile(log, 0.25),
            "below_3": (log < -3).mean(),
            "first_1": (rank < 0.5).mean(),
            "first_10": (rank < 9.5).mean(),
            "highest_margin": found.margin[first:last].max(),
            "surprise": log.mean() + found.entropy[first:last].mean(),
        }
        for name, value in expected.items():
            np.testing.assert_allclose(columns[name][i], value, rtol=1e-5, err_msg=name)
