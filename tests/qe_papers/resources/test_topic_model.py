"""Topics: inference equal to scikit-learn's, planted topics found again."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation

from features import ParallelCorpus, Segments
from qe_papers.extractors.similarity import Topics
from qe_papers.resources.topic_model import Bags, TopicModel, _digamma, expected_words, infer
from tests.factories import PLAIN, table

SEA = (["ship", "wave", "fish", "sail", "port"], ["barco", "ola", "pez", "vela", "puerto"])
LAW = (["court", "judge", "trial", "lawyer", "crime"], ["corte", "juez", "juicio", "letrado", "delito"])


def pairs(n: int, seed: int) -> list[tuple[str, str]]:
    """Alternately of the sea and of the law, with stop words and marks."""
    random = np.random.default_rng(seed)
    return [
        (
            " ".join(["the", *random.choice(topic[0], 4), "."]),
            " ".join(["el", *random.choice(topic[1], 4), "."]),
        )
        for topic in (SEA, LAW) * (n // 2)
    ]


@pytest.fixture(scope="module")
def model() -> TopicModel:
    corpus = ParallelCorpus.from_lines(pairs(2000, 0), PLAIN, PLAIN)
    return TopicModel.build(corpus, topics=2, common=0.4, passes=3)


def top_words(model: TopicModel, topic: int) -> tuple[set[str], set[str]]:
    """The five most probable words of both sides."""
    size, ranked = len(model.source), np.argsort(-np.asarray(model.weights[:, topic])).tolist()
    source = [model.source.word(i) for i in ranked if i < size]
    return {*source[:5]}, {*[model.target.word(i - size) for i in ranked if i >= size][:5]}


@pytest.mark.slow
def test_planted_topics_are_found(model: TopicModel) -> None:
    listed = [top_words(model, topic) for topic in range(2)]
    assert sorted(map(sorted, (f[0] for f in listed))) == sorted(map(sorted, (SEA[0], LAW[0])))
    by_source = {frozenset(source): target for source, target in listed}
    assert by_source[frozenset(SEA[0])] == set(SEA[1]) and by_source[frozenset(LAW[0])] == set(LAW[1])
    assert "the" not in model.source.index and "." not in model.target.index


def test_translations_share_topics_and_others_do_not(model: TopicModel) -> None:
    segments = Segments(
        ("the Ship wave fish", "court judge", "ship court", "the ."),
        ("barco ola vela", "barco ola vela pez", "juez", "el juez"), PLAIN, PLAIN,
    )  # fmt: skip
    extractor = Topics(model)
    by_name = table(extractor, segments)
    assert by_name["topics_cosine"][0] > 0.95 and by_name["topics_cosine"][1] < 0.3
    assert by_name["topics_jensen_shannon"][0] < 0.05 and by_name["topics_jensen_shannon"][1] > 0.5
    np.testing.assert_allclose(by_name["topics_source_1"][:3] + by_name["topics_source_2"][:3], 1)
    assert np.isnan(by_name["topics_source_1"][3]) and np.isnan(by_name["topics_manhattan"][3])
    assert not np.isnan(by_name["topics_target_1"]).any()


def random_bags(seed: int) -> tuple[Bags, NDArray[np.float64]]:
    random = np.random.default_rng(seed)
    counts = sparse.csr_matrix(random.poisson(0.3, (30, 50)))
    bags = Bags(counts.indices.astype(np.int32), counts.data.astype(np.int32), counts.indptr.astype(np.int64))
    return bags, counts.toarray()


def test_inference_equals_scikit_learn() -> None:
    bags, dense = random_bags(0)
    weights = np.random.default_rng(1).gamma(1.0, 1.0, (50, 4))
    oracle = LatentDirichletAllocation(4, doc_topic_prior=0.1, max_doc_update_iter=50, mean_change_tol=1e-3)
    oracle.fit(dense[:2])
    oracle.components_ = weights.T
    oracle.exp_dirichlet_component_ = np.exp(psi(weights.T) - psi(weights.T.sum(axis=1))[:, None])
    np.testing.assert_allclose(infer(bags, expected_words(weights), 0.1), oracle.transform(dense), atol=0.01)


def test_digamma() -> None:
    for x in (1e-3, 0.1, 1.0, 5.9, 6.0, 123.4):
        assert _digamma(x) == pytest.approx(psi(x), rel=1e-9)
