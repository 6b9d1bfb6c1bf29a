"""METEOR and NIST: scores by hand from their equations, alignments against all that there are."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.edits.meteor import Pair, Words, aligned, meteor
from features.edits.ngram_matches import information, nist
from features.edits.ter import common_ids
from features.text.tokens import Tokens


def text(words: str, stems: str = "") -> Words:
    split = words.split()
    return Words(split, (stems or words).split(), [word in ("the", "on", "of") for word in split])


def test_stems_and_function_words_by_hand() -> None:
    """`the` is worth .25, `cats` - `cat` .75 times .6, `sat` .75; one chunk of three matches."""
    matched = 0.25 * 1 + 0.75 * 0.6 + 0.75 * 1
    precision, recall = matched / (0.25 + 0.75 + 0.75), matched / (0.25 + 0.75 + 0.75 + 0.25)
    mean = precision * recall / (0.85 * precision + 0.15 * recall)
    expected = mean * (1 - 0.6 * (1 / 3) ** 0.2)
    assert meteor(text("the cats sat", "the cat sat"), text("the cat sat on")) == pytest.approx(expected)


def test_word_order_costs_chunks() -> None:
    """c | a b against a b c: everything matches, in two chunks."""
    assert meteor(text("c a b"), text("a b c")) == pytest.approx(1 - 0.6 * (2 / 3) ** 0.2)


def test_a_stem_alone_is_no_equal_word() -> None:
    """One word of one, by its stem: P = R = .6, one chunk of everything."""
    assert meteor(text("cats", "cat"), text("cat", "cat")) == pytest.approx(0.6)


def test_synonyms_by_hand() -> None:
    """One word of one, a synonym: P = R = .8; equal stems go first (.6), equal words before both (1)."""

    def one(word: str, stem: str, senses: set[str]) -> Words:
        return Words([word], [stem], [False], [senses])

    car = one("cars", "car", {"n1", "n2"})
    assert meteor(car, one("automobile", "automobil", {"n2"})) == pytest.approx(0.8)
    assert meteor(car, one("car", "car", {"n1"})) == pytest.approx(0.6)
    assert meteor(car, one("cars", "car", {"n1"})) == pytest.approx(1)
    assert meteor(car, one("train", "train", {"n3"})) == 0
    assert meteor(car, text("automobile")) == 0  # of which no senses are known


def matchings(
    left: list[str], right: list[str], place: int = 0, used: int = 0
) -> Iterator[list[tuple[int, int]]]:
    """Every one-to-one match of equal words."""
    if place == len(left):
        yield []
        return
    yield from matchings(left, right, place + 1, used)
    for other, word in enumerate(right):
        if word == left[place] and not used >> other & 1:
            for rest in matchings(left, right, place + 1, used | 1 << other):
                yield [(place, other), *rest]


def cost(pairs: list[tuple[int, int]]) -> tuple[int, int, int]:
    starts = sum((i - 1, j - 1) not in pairs for i, j in pairs)
    return -len(pairs), starts, sum(abs(i - j) for i, j in pairs)


letters = st.lists(st.sampled_from("abc"), min_size=1, max_size=6)


@pytest.mark.slow
@given(letters, letters)
def test_alignments_are_the_best_of_all(left: list[str], right: list[str]) -> None:
    found: list[Pair] = aligned(text(" ".join(left)), text(" ".join(right)))
    pairs = [(i, j) for i, j, _ in found]
    assert pairs in list(matchings(left, right))
    assert cost(pairs) == min(map(cost, matchings(left, right)))


def test_information_by_hand() -> None:
    """Other texts a b a c: a stands twice of four, b once; b after a once of two. x is nowhere."""
    texts = [Tokens.from_lists([["a", "b", "x"]]), Tokens.from_lists([["a", "b", "a", "c"]])]
    bits = information(common_ids(*texts), texts, 2)
    np.testing.assert_allclose(bits, [[1, 2, 0], [1, 0, 0]])


def test_score_by_hand() -> None:
    """6 bits of 3 unigrams and 1 bit of 2 bigrams; at 2/3 of the reference length the penalty is a half."""
    bits, counts = np.array([[6.0, 1.0], [6.0, 1.0]]), np.array([[3, 2], [3, 2]])
    scores = nist(bits, counts, np.array([2.0, 9.0]), np.array([3.0, 8.0]))
    assert scores == pytest.approx([(2 + 0.5) / 2, 2 + 0.5])


def test_empty_texts() -> None:
    """No hypothesis: 0; neither text: undefined."""
    none = np.zeros((2, 1))
    scores = nist(none, none, np.zeros(2), np.array([3.0, 0.0]))
    assert scores[0] == 0 and math.isnan(scores[1])
