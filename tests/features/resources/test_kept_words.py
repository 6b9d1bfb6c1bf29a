"""Kept words: the most frequent of a side, or those of a text that the corpus has."""

from pathlib import Path
from typing import cast

import pytest

from features.resources.word_lexicon import KeptWords
from features.text.corpus import ParallelCorpus
from qe.resources.bundle_source import Inputs
from qe.resources.files import PartFiles
from qe_papers.resources.word_prediction import WordPrediction
from tests.factories import refuses
from tests.resources.building import build_bundle, write_lines

SOURCE = ["the house", "the red house", "a dog in 1990"]
TARGET = ["la casa", "la casa roja", "un perro en 1990"]


def test_words_in_most_segments() -> None:
    """`the` and `house` are in two segments; the repeated `a` is in one only."""
    lines = [("the house", "x"), ("The house a a a", "x"), ("a 7", "x")]
    corpus = ParallelCorpus.from_lines(lines)
    assert KeptWords.build(corpus, side="source", max_words=2).words == ("the", "house")
    assert KeptWords.build(corpus, side="source").words == ("the", "house", "a", "$number")


@pytest.mark.slow
def test_words_of_a_text_take_their_place(tmp_path: Path) -> None:
    """The network of words has a place for what the text and the corpus share, and is built anew."""
    write_lines(tmp_path / "s", SOURCE)
    write_lines(tmp_path / "t", TARGET)
    given = tmp_path / "task.en"

    def network(text: str | None) -> WordPrediction:
        if text is not None:
            given.write_text(text, "utf-8")
        files = {} if text is None else {"source_kept_words": given}
        bundle = build_bundle(tmp_path, ["word_prediction_filtered"], Inputs(files=PartFiles(files)))
        return cast(WordPrediction, bundle.part("word_prediction_filtered"))

    assert set(network(None).source.index) == {"the", "house", "red", "a", "dog", "in", "$number"}
    chosen = network("The dog, in 2012!\nA zebra\n")
    assert set(chosen.source.index) == {"the", "dog", "in", "$number", "a"}
    assert set(chosen.target.index) == {"la", "casa", "roja", "un", "perro", "en", "$number"}
    refuses("no word of the source side", network, "zebra\n")
