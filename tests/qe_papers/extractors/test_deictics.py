"""Deictic words: the examples of the paper's footnote 3, counts by hand, unknown languages."""

import numpy as np
import pytest

from features import Segments, Tokenizer
from qe_papers.extractors.word_classes import WORDS, Deictics
from tests.factories import ENGLISH, SPANISH, refuses, row


def test_the_papers_examples_are_there() -> None:
    assert {"that", "now", "there"} <= WORDS["en"] and {"hoy", "allí", "tú"} <= WORDS["es"]


def test_by_hand() -> None:
    segments = Segments.from_columns(
        {"source": ["I am here"], "target": ["Estoy Aquí hoy , aquí"]}, ENGLISH, SPANISH
    )
    values = row(Deictics(), segments)
    assert (values["deictics_source"], values["deictics_target"]) == (2, 3)
    assert values["deictics_difference"] == -1 and values["deictics_target_share"] == pytest.approx(3 / 5)


def test_a_text_without_words_has_no_share() -> None:
    segments = Segments.from_columns({"source": [""], "target": ["casa"]}, ENGLISH, SPANISH)
    assert np.isnan(row(Deictics(), segments)["deictics_source_share"])


def test_a_language_without_a_list_is_one_message() -> None:
    segments = Segments.from_columns({"source": ["a"], "target": ["b"]}, ENGLISH, Tokenizer("de"))
    refuses("no list of deictic words for the language 'de'; known: en, es", Deictics().extract, segments)
