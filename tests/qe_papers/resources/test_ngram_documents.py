"""Segments and occurrences of n-grams: equal to counting them one by one."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.text.tokens import Tokens
from qe_papers.resources.ngram_documents import K3, NgramDocuments

ORDER = 3
texts = st.lists(st.lists(st.sampled_from(["a", "A", "b", "c", "."]), max_size=7), min_size=1, max_size=6)


def ngrams(words: Sequence[str], order: int) -> list[tuple[str, ...]]:
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
        occurrences = Counter(g for words in lists for g in ngrams(words, order))
        documents = Counter(g for words in lists for g in set(ngrams(words, order)))
        for i, words in enumerate(lists):
            places = slice(int(padded.offsets[i]) + order - 1, int(padded.offsets[i + 1]))
            nodes = padded.nodes[order - 1][places]
            expected = ngrams(words, order)
            assert matches.occurrences[nodes].tolist() == [occurrences[g] for g in expected]
            assert matches.documents[nodes].tolist() == [documents[g] for g in expected]


def test_case_and_punctuation() -> None:
    corpus = Tokens.from_lists([["A", ",", "b", "."], ["a", "b"], ["."]])
    plain = NgramDocuments.from_tokens(corpus, order=2)
    true = NgramDocuments.from_tokens(corpus, order=2, case="true")
    words = NgramDocuments.from_tokens(corpus, order=2, punctuation=False)
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
