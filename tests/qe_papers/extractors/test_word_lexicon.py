"""Discriminative word lexicon: near scikit-learn's logistic regression, calibrated, words told apart."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from features import ParallelCorpus, Segments
from features.resources.word_lexicon import NUMBER, Training, WordLexicon, plain
from features.text.tokens import Tokens
from qe_papers.extractors.word_models import WordLexiconScores
from tests.factories import PLAIN


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
def corpus() -> ParallelCorpus:
    return ParallelCorpus.from_lines(pairs(3000, 0), PLAIN, PLAIN)


@pytest.fixture(scope="module")
def lexicon(corpus: ParallelCorpus) -> WordLexicon:
    return WordLexicon.build(corpus, words=100)


def log_probability(lexicon: WordLexicon, source: str, target: str) -> np.ndarray:  # type: ignore[type-arg]
    return lexicon.log_probability(Tokens.from_lists([source.split()]), Tokens.from_lists([target.split()]))


@pytest.mark.slow
def test_near_scikit_learn(lexicon: WordLexicon, corpus: ParallelCorpus) -> None:
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
    segments = Segments(("bank", "bank", ""), ("banco gato", "gato", ""), PLAIN, PLAIN)
    features = WordLexiconScores(lexicon).extract(segments)
    assert np.isfinite(features[0]).all() and np.isnan(features[1:]).all()
    assert features[0, 0] == pytest.approx(features[0, 1]) == pytest.approx(10 ** features[0, 2])


def test_features_by_hand(lexicon: WordLexicon) -> None:
    logs = log_probability(lexicon, "money fish", "dinero banco")
    features = WordLexiconScores(lexicon).extract(Segments(("money fish",), ("Dinero banco",), PLAIN, PLAIN))[
        0
    ]
    assert features[0] == pytest.approx(np.exp(logs.mean()))
    assert features[1] == pytest.approx(np.exp(logs.min()))


def test_numbers_are_one_word() -> None:
    corpus = ParallelCorpus.from_lines([(f"in {i}", f"en {i}") for i in range(300)], PLAIN, PLAIN)
    made = WordLexicon.build(corpus, words=10, training=Training(epochs=2))
    assert NUMBER in made.source.index and NUMBER in made.target.index and "7" not in made.source.index
    assert plain(Tokens.from_lists([["A1", "b"]])).words(0) == [NUMBER, "b"]
