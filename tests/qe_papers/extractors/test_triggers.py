"""Mutual information of words: equal to counting segments by hand; scores are means over pairs."""

import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from features import ParallelCorpus
from features.text.tokens import Tokens
from qe_papers.resources.triggers import Triggers, mutual_information
from tests.factories import PLAIN

Pairs = list[tuple[str, str]]


def corpus(pairs: Pairs) -> ParallelCorpus:
    return ParallelCorpus.from_lines(pairs, PLAIN, PLAIN)


def information(left: str, right: str, pairs: Pairs, sides: tuple[int, int], minimum: int) -> float:
    """Of one word of each side, counted segment by segment."""
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
    of_source, of_target = Tokens.from_lists([source.split()]), Tokens.from_lists([target.split()])
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
