"""The predictor: contexts by hand, the softmax against scipy, words of a small language told from context."""

import os
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_softmax

from features import ParallelCorpus, Tokenizer
from features.basics.progress import Progress, silent
from features.core.bundle import Bundle, build
from features.resources._context_network import ContextNetwork
from features.resources.aligner import Aligner
from features.resources.predictor import Predictor, _contexts
from features.storage.checksums import checksums
from features.text.links import Links
from features.text.tokens import BOS, EOS, UNK, Tokens, Vocabulary

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
    return ParallelCorpus.from_lines(sentences(n, 1), Tokenizer("en"), Tokenizer("es"))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    settings = {"predictor": {"epochs": 6, "dimensions": 16, "units": 32}}
    return build(lambda: corpus_of(1500), tmp_path_factory.mktemp("bundle"), ["predictor"], settings=settings)


def predictions(bundle: Bundle, pairs: list[tuple[str, str]]) -> tuple[Tokens, np.ndarray, np.ndarray]:
    """Target tokens; their log-probabilities; ranks, from 0."""
    aligner, predictor = bundle.part("aligner"), bundle.part("predictor")
    assert isinstance(aligner, Aligner) and isinstance(predictor, Predictor)
    source = Tokenizer("en").tokens([left for left, _ in pairs])
    target = Tokenizer("es").tokens([right for _, right in pairs])
    predicted = predictor.predict(source, target, aligner.align(source, target, "source-target"))
    return target, predicted.log_probability, np.expm1(predicted.rank)


def test_contexts_by_hand() -> None:
    """Three words on either side; two on either side of the source word; an unaligned word has its
    neighbour's, the later of two.
    """
    source, target = Tokens.from_lists([["x", "y"]]), Tokens.from_lists([["a", "b", "C", "q"]])
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
    contexts, words = (
        rng.integers(0, 40, (700, 11)).astype(np.int32),
        rng.integers(0, 50, 700).astype(np.int32),
    )
    units = network.units(contexts, 6)
    got = network.predictions(units, words, single=single)
    every = log_softmax(
        units.astype(np.float64) @ network.output.T.astype(np.float64) + network.output_bias, 1
    )
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
    assert isinstance(own, Predictor) and isinstance(trained, Predictor)
    corpus = corpus_of(200)
    links = Links.from_pharaoh(["0-0"] * len(corpus))
    rough, exact = (each.predict(corpus.source, corpus.target, links) for each in (own, trained))
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
    assert isinstance(whole, Predictor) and isinstance(resumed, Predictor)
    assert aligner.stat().st_mtime_ns == before
    np.testing.assert_array_equal(whole.network.output, resumed.network.output)


@pytest.mark.slow
def test_words_of_new_sentences_are_predicted(bundle: Bundle) -> None:
    _, log, rank = predictions(bundle, sentences(100, 2))
    assert np.exp(log).mean() > 0.8
    assert (rank < 0.5).mean() > 0.95


def test_evidence_of_the_units_and_the_bias_of_a_word_are_its_logit(bundle: Bundle) -> None:
    """The log-probability that `predict` gives is the softmax of these logits."""
    aligner, predictor = bundle.part("aligner"), bundle.part("predictor")
    assert isinstance(aligner, Aligner) and isinstance(predictor, Predictor)
    source, target = Tokenizer("en").tokens(["the red cat ."]), Tokenizer("es").tokens(["el gato Rojo nunca"])
    predicted = predictor.predict(source, target, aligner.align(source, target, "source-target"))
    evidence = predictor.evidence(target, predicted)
    assert evidence.shape == (4, 32)
    network, words = predictor.network, target.lower().ids_in(predictor.target_words)
    every = predicted.units.astype(np.float64) @ network.output.T.astype(np.float64) + network.output_bias
    logits = evidence.sum(axis=1) + network.output_bias[words]
    np.testing.assert_allclose(logits, every[np.arange(4), words], atol=1e-5)
    np.testing.assert_allclose(
        logits - every.max(axis=1) - np.log(np.exp(every - every.max(axis=1, keepdims=True)).sum(axis=1)),
        predicted.log_probability,
        atol=1e-4,
    )
