"""Stop words, kept words and word vectors of a side."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features.resources.ngrams import NgramCounts
from features.resources.word_lexicon import KeptWords, StopWords
from features.resources.word_vectors import WordVectors
from features.text.corpus import ParallelCorpus
from features.text.tokens import Tokens
from qe.resources.bundle_source import Inputs
from qe.resources.part_inputs import PartFiles
from tests.factories import refuses
from tests.resources.building import build_bundle, write_lines

LINES = ["la casa de la .", "De casa , la", "mar y sol . . ."]


def test_frequent_words_of_letters() -> None:
    """`la` three times, `casa` and `de` twice, in the order of the text; marks are no words."""
    texts = ParallelCorpus.from_lines([("x", line) for line in LINES])
    most = {n: StopWords.build(texts, side="target", max_words=n).words for n in (1, 2, 3, 99)}
    assert most[1] == ("la",) and most[2] == ("casa", "la") and most[3] == ("casa", "de", "la")
    assert most[99] == ("casa", "de", "la", "mar", "sol", "y")


def built(folder: Path, part: str, file: str, text: str | None, **settings: str) -> Any:
    """The part, of a corpus in the folder, with a file of this text if there is one."""
    if text is not None:
        (folder / "words").write_text(text, "utf-8")
    inputs = Inputs(files=PartFiles({} if text is None else {file: folder / "words"}))
    return build_bundle(folder, [part], inputs, **settings).part(part)


@pytest.mark.slow
def test_a_list_takes_their_place(tmp_path: Path) -> None:
    """Lower-cased, once each, empty lines passed over; another list is read anew."""
    for side, lines in (("s", ["a"] * 3), ("t", LINES)):
        write_lines(tmp_path / side, lines)

    def words(text: str | None) -> tuple[str, ...]:
        names = ("target_stop_words", "target_stop_words")
        return built(tmp_path, *names, text, tokenizer="whitespace").words

    assert words("La\nun\n\nla\n") == ("la", "un")
    assert words("el\n") == ("el",)
    assert "casa" in words(None)
    refuses("words: .*no words.*one a line", words, "\n")


def test_words_in_most_segments() -> None:
    """`the` and `house` are in two segments; the repeated `a` is in one only."""
    texts = ParallelCorpus.from_lines([("the house", "x"), ("The house a a a", "x"), ("a 7", "x")])
    assert KeptWords.build(texts, side="source", max_words=2).words == ("the", "house")
    assert KeptWords.build(texts, side="source").words == ("the", "house", "a", "$number")


@pytest.mark.slow
def test_words_of_a_text_take_their_place(tmp_path: Path) -> None:
    """The network of words has a place for what the text and the corpus share, and is built anew."""
    write_lines(tmp_path / "s", ["the house", "the red house", "a dog in 1990"])
    write_lines(tmp_path / "t", ["la casa", "la casa roja", "un perro en 1990"])
    network = partial(built, tmp_path, "word_prediction_filtered", "source_kept_words")
    assert set(network(None).source.index) == {"the", "house", "red", "a", "dog", "in", "$number"}
    chosen = network("The dog, in 2012!\nA zebra\n")
    assert set(chosen.source.index) == {"the", "dog", "in", "$number", "a"}
    assert set(chosen.target.index) == {"la", "casa", "roja", "un", "perro", "en", "$number"}
    refuses("no word of the source side", network, "zebra\n")


NOUNS, VERBS = [f"noun{i}" for i in range(8)], [f"verb{i}" for i in range(8)]


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(400):
        noun, other, verb = rng.choice(NOUNS), rng.choice(NOUNS), rng.choice(VERBS)
        lines.append((f"the {noun} {verb} a {other} .", "x"))
    text = ParallelCorpus.from_lines(lines)
    ngrams = NgramCounts.from_tokens(text.source, order=2)
    return WordVectors.build(text, ngrams=ngrams, dimensions=6, classes=5)


def test_words_in_the_same_places_are_near(vectors: WordVectors) -> None:
    rows = vectors.vocabulary.lookup([*NOUNS, *VERBS])
    similarity = vectors.vectors[rows] @ vectors.vectors[rows].T
    same = np.array([[i // 8 == j // 8 for j in range(16)] for i in range(16)])
    assert similarity[same].min() > similarity[~same].max()
    classes = vectors.classes[rows]
    assert not set(classes[:8]) & set(classes[8:]) and classes.min() > 0


def test_vectors_have_length_one_or_none(vectors: WordVectors) -> None:
    length = np.linalg.norm(vectors.vectors, axis=1)
    assert np.all(np.isclose(length, 1, atol=1e-5) | (length == 0))
    assert np.array_equal(vectors.classes == 0, length == 0)
    assert vectors.ids(Tokens.from_lists([["The", "unseen"]])).tolist() == [
        vectors.vocabulary.index["the"],
        0,
    ]
    assert not vectors.vectors[0].any()
