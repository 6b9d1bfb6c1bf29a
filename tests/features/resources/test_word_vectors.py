"""Word vectors: words in the same places are near each other and in one class."""

import numpy as np

from features.resources.ngrams import NgramCounts
from features.resources.word_vectors import WordVectors
from features.text.corpus import ParallelCorpus
from features.text.tokens import Tokens

NOUNS, VERBS = [f"noun{i}" for i in range(8)], [f"verb{i}" for i in range(8)]


def corpus() -> ParallelCorpus:
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(400):
        noun, other, verb = rng.choice(NOUNS), rng.choice(NOUNS), rng.choice(VERBS)
        lines.append((f"the {noun} {verb} a {other} .", "x"))
    return ParallelCorpus.from_lines(lines)


def built(classes: int = 5) -> WordVectors:
    text = corpus()
    return WordVectors.build(
        text, ngrams=NgramCounts.from_tokens(text.source, order=2), dimensions=6, classes=classes
    )


def test_words_in_the_same_places_are_near() -> None:
    made = built()
    rows = made.vocabulary.lookup([*NOUNS, *VERBS])
    similarity = made.vectors[rows] @ made.vectors[rows].T
    same = np.array([[i // 8 == j // 8 for j in range(16)] for i in range(16)])
    assert similarity[same].min() > similarity[~same].max()
    classes = made.classes[rows]
    assert not set(classes[:8]) & set(classes[8:]) and classes.min() > 0


def test_vectors_have_length_one_or_none() -> None:
    made = built()
    length = np.linalg.norm(made.vectors, axis=1)
    assert np.all(np.isclose(length, 1, atol=1e-5) | (length == 0))
    assert np.array_equal(made.classes == 0, length == 0)
    assert made.ids(Tokens.from_lists([["The", "unseen"]])).tolist() == [made.vocabulary.index["the"], 0]
    assert not made.vectors[0].any()
