"""Triggers, word lexicon, predicted words, confidence: against counting, scikit-learn and sums by hand."""

import hashlib
import math
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mutual_info_score

from features import Segments
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.word_lexicon import NUMBER, KeptWords, WordLexicon, plain
from features.resources.word_lexicon import Training as LexiconTraining
from features.storage.damage import Damaged
from features.text.tokens import Tokens, Vocabulary
from qe_papers.extractors.word_models import (
    CRITERIA,
    WordConfidence,
    WordLexiconScores,
    WordPredictionScores,
    _right,
)
from qe_papers.resources.triggers import Triggers, mutual_information
from qe_papers.resources.word_prediction import Training, WordPrediction, _vectors, distance, hashes, mean_log
from tests.factories import EN_ES, corpus, refuses, row, rows, segments, table, tokens

Pairs = list[tuple[str, str]]


def information(left: str, right: str, pairs: Pairs, sides: tuple[int, int], minimum: int) -> float:
    """The information of a pair of words, one of each side, counted segment by segment."""
    texts = [tuple(set(text.lower().split()) for text in pair) for pair in pairs]
    p_left = sum(left in t[sides[0]] for t in texts) / len(texts)
    p_right = sum(right in t[sides[1]] for t in texts) / len(texts)
    together = sum(left in t[sides[0]] and right in t[sides[1]] for t in texts)
    if together < minimum:
        return 0.0
    return together / len(texts) * math.log(together / len(texts) / (p_left * p_right))


text = st.lists(st.sampled_from(["a", "B", "b", "c", "d"]), min_size=1, max_size=5).map(" ".join)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.tuples(text, text), min_size=2, max_size=9), text, text, st.integers(1, 2))
def test_equal_to_counting(pairs: Pairs, source: str, target: str, minimum: int) -> None:
    built = corpus(pairs)
    inside = Triggers.build(built, trigger_side="source", triggered_side="source", minimum=minimum)
    between = Triggers.build(built, trigger_side="target", triggered_side="source", minimum=minimum)
    words, others = source.lower().split(), target.lower().split()
    of_source, of_target = tokens(source), tokens(target)
    expected = [
        0.0 if a == b else information(a, b, pairs, (0, 0), minimum) for a, b in permutations(words, 2)
    ]
    outcome = inside.within(of_source)[0]
    assert math.isnan(outcome) if not expected else outcome == pytest.approx(np.mean(expected), abs=1e-7)
    crossed = [information(a, b, pairs, (1, 0), minimum) for a, b in product(others, words)]
    assert between.across(of_target, of_source)[0] == pytest.approx(np.mean(crossed), abs=1e-7)


def test_a_term_of_the_mutual_information_of_two_variables() -> None:
    """Summed over presence and absence, the terms are the mutual information that scikit-learn computes."""
    left, right = np.array([1, 1, 1, 0, 0, 0, 1, 0]), np.array([1, 1, 0, 0, 1, 0, 1, 0])
    terms = [
        mutual_information(
            np.array([np.mean((left == a) & (right == b))]),
            np.array([np.mean(left == a)]),
            np.array([np.mean(right == b)]),
        )[0]
        for a, b in product((0, 1), repeat=2)
    ]
    assert sum(terms) == pytest.approx(mutual_info_score(left, right))


def test_repeated_words_count_as_often_as_they_stand() -> None:
    """LORIA, section 4: the average over "the words in this sentence", by hand for "a a b c"."""
    built = corpus([("b c", "x"), ("b c", "x"), ("a", "x"), ("d", "x")])
    inside = Triggers.build(built, trigger_side="source", triggered_side="source", minimum=1)
    one = 0.5 * math.log(0.5 / (0.5 * 0.5))  # I(b, c); all other pairs were never seen together
    found = inside.within(Tokens.from_lists([["a", "a", "b", "c"], ["a", "b", "c"]]))
    assert found == pytest.approx([2 * one / (4 * 3), 2 * one / (3 * 2)])


def pairs(n: int, seed: int) -> list[tuple[str, str]]:
    """`bank` is `banco`, with `river` it is `orilla`: a choice that needs the whole source."""
    random = np.random.default_rng(seed)
    listed = []
    for _ in range(n):
        words = [w for w in ("bank", "river", "money", "fish", "old") if random.random() < 0.4] or ["old"]
        build = {"river": "río", "money": "dinero", "fish": "pez", "old": "viejo"}
        build["bank"] = "orilla" if "river" in words else "banco"
        translated = [build[w] if random.random() < 0.95 else "cosa" for w in words]
        listed.append((" ".join(words), " ".join(translated)))
    return listed


@pytest.fixture(scope="module")
def lexicon() -> WordLexicon:
    return WordLexicon.build(corpus(pairs(3000, 0)), words=100)


def log_probability(lexicon: WordLexicon, source: str, target: str) -> np.ndarray:
    return lexicon.log_probability(tokens(source), tokens(target))


@pytest.mark.slow
def test_near_scikit_learn(lexicon: WordLexicon) -> None:
    """Probabilities of unseen segments correlate with those of a full logistic regression."""
    lines, translations = zip(*pairs(3000, 0), strict=True)
    unseen = [source for source, _ in pairs(200, 1)]
    bags = CountVectorizer(binary=True)
    counts = bags.fit_transform(lines)
    for word in ("banco", "orilla", "pez"):
        labels = [word in translation.split() for translation in translations]
        oracle = LogisticRegression(C=10.0).fit(counts, labels)
        expected = oracle.predict_proba(bags.transform(unseen))[:, 1]
        outcome = np.exp([log_probability(lexicon, source, word)[0] for source in unseen])
        assert np.corrcoef(expected, outcome)[0, 1] > 0.97
        assert abs(expected.mean() - outcome.mean()) < 0.05  # calibrated, although negatives were sampled


def test_the_whole_source_decides(lexicon: WordLexicon) -> None:
    with_river = log_probability(lexicon, "old bank river", "orilla banco")
    without = log_probability(lexicon, "old bank money", "orilla banco")
    assert with_river[0] > np.log(0.5) > with_river[1] and without[1] > np.log(0.5) > without[0]


def test_words_without_a_classifier(lexicon: WordLexicon) -> None:
    assert np.isnan(log_probability(lexicon, "bank", "<unk> gato")).all()
    assert np.isfinite(log_probability(lexicon, "xyz", "banco"))[0]
    batch = segments(["bank", "bank", ""], ["banco gato", "gato", ""])
    features = WordLexiconScores(lexicon).extract(batch)
    assert np.isfinite(features[0]).all() and np.isnan(features[1:]).all()
    assert features[0, 0] == pytest.approx(features[0, 1]) == pytest.approx(10 ** features[0, 2])


def test_features_by_hand(lexicon: WordLexicon) -> None:
    logs = log_probability(lexicon, "money fish", "dinero banco")
    (features,) = WordLexiconScores(lexicon).extract(segments("money fish", "Dinero banco"))
    assert features[0] == pytest.approx(np.exp(logs.mean()))
    assert features[1] == pytest.approx(np.exp(logs.min()))


def test_numbers_are_one_word() -> None:
    texts = corpus((f"in {i}", f"en {i}") for i in range(300))
    made = WordLexicon.build(texts, words=10, training=LexiconTraining(epochs=2))
    assert NUMBER in made.source.index and NUMBER in made.target.index and "7" not in made.source.index
    assert plain(Tokens.from_lists([["A1", "b"]])).words(0) == [NUMBER, "b"]


WORDS = {"red": "rojo", "cat": "gato", "dog": "perro", "big": "grande", "house": "casa", "sun": "sol"}


@pytest.fixture(scope="module")
def extractor() -> WordPredictionScores:
    rng = np.random.default_rng(0)
    chosen = [rng.choice(list(WORDS), 2, replace=False) for _ in range(200)]
    texts = corpus([(" ".join(pair), " ".join(WORDS[word] for word in pair)) for pair in chosen], EN_ES)
    kept = {f"{side}_kept_words": KeptWords.build(texts, side=side) for side in ("source", "target")}
    quick = Training(hidden=20, epochs=30, batch=8)
    return WordPredictionScores(
        WordPrediction.build(texts, hashed=False, training=quick, **kept),
        WordPrediction.build(texts, hashed=True, training=quick),
    )


@pytest.mark.slow
def test_right_words_are_nearer_and_more_probable(extractor: WordPredictionScores) -> None:
    right, wrong = rows(extractor, segments("red cat", ["gato rojo", "perro grande"], EN_ES))
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
    norms = np.linalg.norm(predicted - there, axis=1)
    np.testing.assert_allclose(distance(predicted, csr_matrix(there)), norms, rtol=1e-6)
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


def made(smoothing: float = 5.0, bins: int = 2, order: int = 1) -> WordConfidence:
    pairs = [("the house", "la casa"), ("the red house", "la casa roja"), ("red", "roja"), ("the", "la")]
    texts = corpus(pairs * 10, EN_ES)
    return WordConfidence(
        lexicon_source_to_target=Lexicon.build(texts, direction="source_to_target"),
        target_lm=LanguageModel.from_tokens(texts.target, order=2),
        bins=bins,
        smoothing=smoothing,
        order=order,
    )


def of_house(*targets: str) -> Segments:
    return segments("the house", targets, EN_ES)


def test_criteria_by_hand() -> None:
    target = Tokens.from_lists([["a", "x", "c", "d"], ["a", "b", "c"]])
    post_edit = Tokens.from_lists([["b", "x", "c"], ["c", "q", "r", "a"]])
    levenshtein, position, near, anywhere = (flags.tolist() for flags in _right(target, post_edit))
    assert levenshtein == position == [False, True, True, False, False, False, False]
    assert near == [False, True, True, False, False, False, True]
    assert anywhere == [False, True, True, False, True, False, True]


def test_one_kind_of_word_by_hand() -> None:
    """With one bin all evidence is certain: P(right | word) = (right + s P(right)) / (seen + s)."""
    batch = of_house("la casa", "la casa")
    fitted = made(smoothing=2.0, bins=1).fit(batch, {"post_edit": ["la mesa", "la mesa"]})
    prior = (2 + 1) / (4 + 2)
    la, casa = (2 + 2 * prior) / (2 + 2), (0 + 2 * prior) / (2 + 2)
    values = row(fitted, of_house("la casa"))
    for criterion in CRITERIA:
        assert values[f"word_confidence_{criterion}_mean"] == pytest.approx((la + casa) / 2)
    assert row(fitted, of_house("casa"))["word_confidence_any_mean"] == pytest.approx(casa)
    assert row(fitted, of_house("perro"))["word_confidence_any_mean"] == pytest.approx(0.5)


def test_quartiles_are_those_of_training_words() -> None:
    targets = ["la casa roja", "roja la", "la", "casa casa"]
    fitted = made().fit(of_house(*targets), {"post_edit": ["la casa", "roja", "una", "casa"]})
    shares = table(fitted, of_house(*targets), "word_confidence_levenshtein_quartile")
    np.testing.assert_allclose(sum(shares[str(quartile)] for quartile in range(1, 5)), 1)


def test_evidence_tells_words_apart_that_were_never_seen() -> None:
    """What the lexicon knew was right in training: so is, more likely, a new word that it knows."""
    batch = of_house(*["la casa", "la xx", "yy casa", "zz la"] * 5)
    fitted = made().fit(batch, {"post_edit": ["la casa", "la", "casa", "la"] * 5})
    known, unknown = table(fitted, segments("red", ["roja", "qq"], EN_ES))["word_confidence_any_mean"]
    assert known > unknown + 0.3


def test_criteria_of_bigrams_by_hand() -> None:
    """`a x`, `x c`, `c d`; of the other text `a b`. `x c` is kept in place; `a b` stands three places on."""
    target = Tokens.from_lists([["a", "x", "c", "d"], ["a", "b"]])
    post_edit = Tokens.from_lists([["b", "x", "c"], ["q", "q", "r", "a", "b"]])
    levenshtein, position, near, anywhere = (flags.tolist() for flags in _right(target, post_edit, 2))
    assert levenshtein[:3] == position[:3] == near[:3] == anywhere[:3] == [False, True, False]
    assert (position[3], near[3], anywhere[3]) == (False, False, True)


@pytest.mark.slow
def test_bigrams_by_hand() -> None:
    """The edit keeps, of `la casa roja`, `casa roja`: prior (1 + 1) / (2 + 2); each bigram was seen once."""
    labels = {"post_edit": ["una casa roja"]}
    fitted = made(smoothing=2.0, bins=1, order=2).fit(of_house("la casa roja"), labels)
    values = row(fitted, of_house("casa roja"))
    assert values["word_confidence_2_any_mean"] == pytest.approx((1 + 2 * 0.5) / (1 + 2))
    assert row(fitted, of_house("la casa"))["word_confidence_2_levenshtein_mean"] == pytest.approx(1 / 3)
    assert np.isnan(list(row(fitted, of_house("casa")).values())).all()
    refuses("no training row has a 2-gram", made(order=2).fit, of_house("la"), {"post_edit": ["la"]})
