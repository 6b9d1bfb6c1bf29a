"""Similarity with the corpus, topics, moved words: the definitions n-gram by n-gram, scikit-learn."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import jensenshannon
from scipy.special import gammaln, psi
from sklearn.decomposition import LatentDirichletAllocation

from features import Segments, Tokenizer
from features.resources.word_lexicon import StopWords
from features.text.tokens import Tokens
from qe_papers.extractors.similarity import DISTANCES, WEIGHTINGS, Similarity, Topics, WordMoves
from qe_papers.resources.ngram_documents import K1, K3, B, NgramDocuments
from qe_papers.resources.sampled_topic_model import SampledTopicModel, SampledTopicModelBuilder, sample
from qe_papers.resources.topic_model import Bags, LdaSettings, TopicModel, _digamma, expected_words, infer
from tests.factories import corpus, row, segments, table

CORPUS = [line.split() for line in ("a b c d", "a b a b", "c d e", "a", "b c d e f")]
Ngram = tuple[str, ...]


def extractor(**parameters: Any) -> Similarity:
    documents = NgramDocuments.from_tokens(Tokens.from_lists(CORPUS), order=4)
    return Similarity(documents, documents, matching_orders=(2, 4), weightings=WEIGHTINGS, **parameters)


def values(text: Sequence[str], **parameters: Any) -> dict[str, float]:
    return row(extractor(**parameters), segments("x", " ".join(text)), prefix="similarity_target_")


def ngrams(words: Sequence[str], order: int, boundaries: bool) -> list[Ngram]:
    """With boundaries: those with a word in them, of the text between order - 1 marks at each end."""
    marks = order - 1 if boundaries else 0
    padded = ["<"] * marks + list(words) + [">"] * marks
    return [tuple(padded[i : i + order]) for i in range(len(padded) - order + 1)]


def occurrences(ngram: Ngram) -> list[int]:
    """How often the n-gram is in each text of the corpus, between enough marks."""
    padded = [["<"] * 3 + words + [">"] * 3 for words in CORPUS]
    n = len(ngram)
    return [sum(tuple(p[i : i + n]) == ngram for i in range(len(p) - n + 1)) for p in padded]


def idf(ngram: Ngram) -> float:
    n = sum(count > 0 for count in occurrences(ngram))
    return float(np.log(1 + (len(CORPUS) - n + 0.5) / (n + 0.5)))


def okapi(words: Sequence[str], order: int, boundaries: bool, within: str = "corpus") -> float:
    length = len(words) / np.mean([len(w) for w in CORPUS])
    counts = Counter(ngrams(words, order, boundaries))
    document = {
        g: idf(g) * (f if sum(occurrences(g)) else 1) * (K1 + 1)
        / ((f if sum(occurrences(g)) else 1) + K1 * (1 - B + B * length))
        for g, f in counts.items()
    }  # fmt: skip
    squares = [w**2 * (1 if sum(occurrences(g)) else counts[g]) for g, w in document.items()]
    known = set(chain.from_iterable(ngrams(["<"] * 3 + w + [">"] * 3, order, False) for w in CORPUS))
    if not boundaries:
        known = {g for g in known if not {"<", ">"} & set(g)}

    def request(g: Ngram) -> float:
        f = sum(occurrences(g))
        return idf(g) * (K3 + 1) * f / (K3 + f)

    product = sum(w * request(g) for g, w in document.items() if sum(occurrences(g)))
    if within == "segment":
        known &= set(document)
    norm = float(np.linalg.norm([request(g) for g in known]))
    return float(product / np.sqrt(sum(squares)) / norm) if norm else 0.0


def matching(words: Sequence[str], longest: int, boundaries: bool, weighting: str) -> float:
    order = longest if boundaries else min(longest, len(words))

    def weight(g: Ngram) -> tuple[float, float]:
        """What it scores if found, and its share in the mean."""
        f = sum(occurrences(g))
        return {
            "one": (1.0, 1.0),
            "frequency": (f, 1.0),
            "log_frequency": (np.log10(1 + f), 1.0),
            "inverse_frequency": (1 / max(f, 1),) * 2,
            "idf": (idf(g),) * 2,
        }[weighting]

    def value(g: Ngram) -> float:
        if sum(occurrences(g)):
            return weight(g)[0]
        return 0.5 * (value(g[:-1]) + value(g[1:])) / 2 if len(g) > 1 else 0.0

    chosen = ngrams(words, order, boundaries)
    return sum(map(value, chosen)) / sum(weight(g)[1] for g in chosen)


@pytest.mark.slow
@pytest.mark.parametrize(("within", "stem"), [("corpus", "okapi"), ("segment", "okapi_segment")])
@settings(max_examples=25)
@given(words=st.lists(st.sampled_from("abcdefx"), min_size=1, max_size=7))
def test_equal_to_the_definitions(within: str, stem: str, words: list[str]) -> None:
    features = values(words, okapi_within=within)
    for boundaries in (False, True):
        mark = "_boundary" if boundaries else ""
        for order in range(1 + boundaries, 5):
            if boundaries or len(words) >= order:
                expected = okapi(words, order, boundaries, within)
                assert features[f"{stem}_{order}{mark}"] == pytest.approx(expected, rel=1e-9)
                assert within == "corpus" or 0 <= expected <= 1 + 1e-9
            else:
                assert np.isnan(features[f"{stem}_{order}"])
        for order in (2, 4):
            for weighting in WEIGHTINGS:
                name = f"matching_{order}{mark}" + ("" if weighting == "one" else f"_{weighting}")
                expected = matching(words, order, boundaries, weighting)
                assert features[name] == pytest.approx(expected, rel=1e-9), name
    assert within == "corpus" or not any(name.startswith("okapi_1") for name in features)


def test_names_say_what_case_was_counted() -> None:
    documents = NgramDocuments.from_tokens(Tokens.from_lists(CORPUS), order=4)
    true = NgramDocuments.from_tokens(Tokens.from_lists(CORPUS), order=4, case="true")
    names = Similarity(true, documents, matching_orders=(4,)).names
    assert names[0] == "similarity_source_true_case_okapi_1" and "similarity_target_okapi_1" in names


def test_against_scipy_and_by_hand() -> None:
    left, right = np.array([[0.9, 0.05, 0.05]]), np.array([[0.1, 0.2, 0.7]])
    distances = {name: function(left, right)[0] for name, _, _, function in DISTANCES}
    assert distances["jensen_shannon"] == pytest.approx(jensenshannon(left[0], right[0], base=2) ** 2)
    assert distances["manhattan"] == pytest.approx(0.8 + 0.15 + 0.65)
    assert distances["euclidean"] == pytest.approx(np.sqrt(0.64 + 0.0225 + 0.4225))
    assert distances["cosine"] == pytest.approx(0.135 / np.sqrt(0.815 * 0.54))


def compared(rows: list[tuple[str, str]], language: str = "es") -> Segments:
    targets, others = zip(*rows, strict=True)
    return segments("x", targets, (Tokenizer("en"), Tokenizer(language)), pseudo_reference=others)


def test_by_hand() -> None:
    rows = [
        ("La casa Blanca .", "Una blanca casa ."),  # las / una: substituted in place
        ("d e a b c .", "a b c d e ."),  # two words by 3, three words by 2
        ("rojos gatos", ""),
        ("uno", "dos"),
    ]
    values = WordMoves().extract(compared(rows))
    names = ("same", "alone", "group", "by_1", "further")
    assert WordMoves().names == tuple(f"word_moves_{name}" for name in names)
    np.testing.assert_allclose(values[0], [2 / 4, 2 / 4, 0, 2 / 4, 0])
    np.testing.assert_allclose(values[1], [1 / 6, 0, 5 / 6, 0, 5 / 6])
    assert np.isnan(values[2]).all()
    np.testing.assert_allclose(values[3], [1, 0, 0, 0, 0])


ORDER = 3
texts = st.lists(st.lists(st.sampled_from(["a", "A", "b", "c", "."]), max_size=7), min_size=1, max_size=6)


def ngram_documents_ngrams(words: Sequence[str], order: int) -> list[tuple[str, ...]]:
    """All n-grams of a padded text."""
    padded = ["<"] * (ORDER - 1) + [w.lower() for w in words] + [">"] * (ORDER - 1)
    return [tuple(padded[i : i + order]) for i in range(len(padded) - order + 1)]


@pytest.mark.slow
@settings(max_examples=60)
@given(texts.filter(lambda lists: any(lists)))
def test_equal_to_counting_one_by_one(lists: list[list[str]]) -> None:
    tokens = Tokens.from_lists(lists)
    matches = NgramDocuments.from_tokens(tokens, order=ORDER)
    padded = matches.look_up(tokens)
    for order in range(1, ORDER + 1):
        occurrences = Counter(g for words in lists for g in ngram_documents_ngrams(words, order))
        documents = Counter(g for words in lists for g in set(ngram_documents_ngrams(words, order)))
        for i, words in enumerate(lists):
            places = slice(int(padded.offsets[i]) + order - 1, int(padded.offsets[i + 1]))
            nodes = padded.nodes[order - 1][places]
            expected = ngram_documents_ngrams(words, order)
            assert matches.occurrences[nodes].tolist() == [occurrences[g] for g in expected]
            assert matches.documents[nodes].tolist() == [documents[g] for g in expected]


def test_case_and_punctuation() -> None:
    texts = Tokens.from_lists([["A", ",", "b", "."], ["a", "b"], ["."]])
    plain = NgramDocuments.from_tokens(texts, order=2)
    true = NgramDocuments.from_tokens(texts, order=2, case="true")
    words = NgramDocuments.from_tokens(texts, order=2, punctuation=False)
    pair = Tokens.from_lists([["a", "b"]])
    assert [f.documents[f.look_up(pair).nodes[1][2]] for f in (plain, true, words)] == [1, 1, 2]
    assert true.look_up(pair).nodes[1][1] >= 0 and words.look_up(Tokens.from_lists([["!"]])).lengths[0] == 0
    assert (plain.variant, true.variant, words.variant) == ("", "true_case", "no_punctuation")


def test_the_corpus_as_a_request() -> None:
    matches = NgramDocuments.from_tokens(Tokens.from_lists([["a", "b", "a"], ["a"], ["c"]]), order=2)
    # a: 3 times in 2 of 3 segments; b and c once in 1; the marks 3 times in 3
    inside = [
        np.log(1 + 1.5 / 2.5) * (K3 + 1) * 3 / (K3 + 3),
        *[np.log(1 + 2.5 / 1.5) * (K3 + 1) / (K3 + 1)] * 2,
    ]
    assert matches.request_norm(1, False) == pytest.approx(np.linalg.norm(inside))
    marks = [np.log(1 + 0.5 / 3.5) * (K3 + 1) * 3 / (K3 + 3)] * 2
    assert matches.request_norm(1, True) == pytest.approx(np.linalg.norm([*inside, *marks]))


SEA = (["ship", "wave", "fish", "sail", "port"], ["barco", "ola", "pez", "vela", "puerto"])
LAW = (["court", "judge", "trial", "lawyer", "crime"], ["corte", "juez", "juicio", "letrado", "delito"])


def pairs(n: int, seed: int) -> list[tuple[str, str]]:
    """Alternately of the sea and of the law, with stop words and marks."""
    random = np.random.default_rng(seed)
    return [
        (f"the {' '.join(random.choice(source, 4))} .", f"el {' '.join(random.choice(target, 4))} .")
        for source, target in (SEA, LAW) * (n // 2)
    ]


@pytest.fixture(scope="module")
def model() -> TopicModel:
    return TopicModel.build(corpus(pairs(2000, 0)), topics=2, common=0.4, passes=3)


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
    sources = ["the Ship wave fish", "court judge", "ship court", "the ."]
    targets = ["barco ola vela", "barco ola vela pez", "juez", "el juez"]
    by_name = table(Topics(model), segments(sources, targets))
    assert by_name["topics_cosine"][0] > 0.95 and by_name["topics_cosine"][1] < 0.3
    assert by_name["topics_jensen_shannon"][0] < 0.05 and by_name["topics_jensen_shannon"][1] > 0.5
    np.testing.assert_allclose(by_name["topics_source_1"][:3] + by_name["topics_source_2"][:3], 1)
    assert np.isnan(by_name["topics_source_1"][3]) and np.isnan(by_name["topics_manhattan"][3])
    assert not np.isnan(by_name["topics_target_1"]).any()


def test_inference_equals_scikit_learn() -> None:
    counts = sparse.csr_matrix(np.random.default_rng(0).poisson(0.3, (30, 50)))
    bags = Bags(counts.indices.astype(np.int32), counts.data.astype(np.int32), counts.indptr.astype(np.int64))
    weights = np.random.default_rng(1).gamma(1.0, 1.0, (50, 4))
    oracle = LatentDirichletAllocation(4, doc_topic_prior=0.1, max_doc_update_iter=50, mean_change_tol=1e-3)
    oracle.fit(counts[:2])
    oracle.components_ = weights.T
    oracle.exp_dirichlet_component_ = np.exp(psi(weights.T) - psi(weights.T.sum(axis=1))[:, None])
    found = infer(bags, expected_words(weights), 0.1)
    np.testing.assert_allclose(found, oracle.transform(counts), atol=0.01)


def test_digamma() -> None:
    for x in (1e-3, 0.1, 1.0, 5.9, 6.0, 123.4):
        assert _digamma(x) == pytest.approx(psi(x), rel=1e-9)


ALPHA, ETA = 0.3, 0.2
WORDS, DOCUMENTS = np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1])  # `a b`, `b c`


def exact() -> float:
    """P(both occurrences of word 1 have one topic), by all 16 assignments (Griffiths and Steyvers 2004)."""
    logs, together = [], []
    for assigned in product(range(2), repeat=4):
        topics = np.array(assigned)
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


def sampled_model(*stop: str) -> SampledTopicModel:
    source, target = (StopWords((word,), settings={}, corpus_fingerprint="") for word in stop)
    builder = SampledTopicModelBuilder(
        source_stop_words=source, target_stop_words=target, topics=2, iterations=50, seed=0
    )
    return builder.build(corpus(pairs(600, 0)))


def test_planted_topics_are_found_without_stop_words() -> None:
    made = sampled_model("the", "el")
    by_source = {frozenset(source): target for source, target in (top_words(made, k) for k in range(2))}
    assert by_source == {frozenset(SEA[0]): set(SEA[1]), frozenset(LAW[0]): set(LAW[1])}
    assert "the" not in made.source.index and "el" not in made.target.index
    assert "el" in sampled_model("the", "la").target.index
