"""Gibbs sampling against the exact distribution of a tiny corpus; planted topics; stop words are gone."""

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln

from features.resources.word_lexicon import StopWords
from features.text.corpus import ParallelCorpus
from qe_papers.resources.sampled_topic_model import SampledTopicModel, SampledTopicModelBuilder, sample
from qe_papers.resources.topic_model import Bags, LdaSettings
from tests.qe_papers.resources.test_topic_model import LAW, PLAIN, SEA, pairs, top_words

ALPHA, ETA = 0.3, 0.2
WORDS, DOCUMENTS = np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1])  # `a b`, `b c`


def exact() -> float:
    """P(both occurrences of word 1 have one topic), by all 16 assignments (Griffiths and Steyvers 2004)."""
    logs, together = [], []
    for given in product(range(2), repeat=4):
        topics = np.array(given)
        of_words, of_documents = np.zeros((3, 2)), np.zeros((2, 2))
        np.add.at(of_words, (WORDS, topics), 1)
        np.add.at(of_documents, (DOCUMENTS, topics), 1)
        logs.append(
            gammaln(of_words + ETA).sum()
            - gammaln(of_words.sum(axis=0) + 3 * ETA).sum()
            + gammaln(of_documents + ALPHA).sum()
        )
        together.append(topics[1] == topics[2])
    weights = np.exp(np.array(logs) - max(logs))
    return float((weights * together).sum() / weights.sum())


@pytest.mark.slow
def test_samples_are_of_the_exact_distribution() -> None:
    bags = Bags(np.array([0, 1, 1, 2], np.int32), np.ones(4, np.int32), np.array([0, 2, 4], np.int64))
    drawn = []
    for seed in range(4000):
        weights = sample(bags, 3, LdaSettings(2, ALPHA, ETA, seed=seed), 20, lambda done: None)
        assert weights.sum() == pytest.approx(4 + 6 * ETA)
        drawn.append(abs(weights[1, 0] - weights[1, 1]) > 1)  # two occurrences in one topic
    assert np.mean(drawn) == pytest.approx(exact(), abs=0.025)  # three standard deviations


def model(stop: tuple[str, str] = ("the", "el"), seed: int = 0) -> SampledTopicModel:
    corpus = ParallelCorpus.from_lines(pairs(600, 0), PLAIN, PLAIN)
    source, target = (StopWords((word,), settings={}, corpus_fingerprint="") for word in stop)
    return SampledTopicModelBuilder(
        source_stop_words=source, target_stop_words=target, topics=2, iterations=50, seed=seed
    ).build(corpus)


def test_planted_topics_are_found_without_stop_words() -> None:
    made = model()
    by_source = {frozenset(source): target for source, target in (top_words(made, k) for k in range(2))}
    assert by_source == {frozenset(SEA[0]): set(SEA[1]), frozenset(LAW[0]): set(LAW[1])}
    assert "the" not in made.source.index and "el" not in made.target.index
    assert "el" in model(stop=("the", "la")).target.index
