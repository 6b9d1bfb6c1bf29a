"""Matches of base forms where the words themselves do not match, by hand."""

import math

import pytest

from features.basics.errors import InputError
from features.core.segments import Segments
from features.lemma_phrases import LemmaPhrases
from features.phrase_table import PhraseTableFeatures
from features.resources.lemma_phrase_table import LemmaPhraseTable
from features.resources.phrase_table import PhraseTable
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from features.text.tokenizer import Tokenizer
from tests.features.parsed import ENGLISH, SPANISH, row

CORPUS = ParallelCorpus.from_lines([("red houses", "casas rojas"), ("a tree", "un árbol")], ENGLISH, SPANISH)
LINKS = Links.from_pharaoh(["0-1 1-0", "0-0 1-1"])


def segments(source: str, target: str) -> Segments:
    return Segments((source,), (target,), ENGLISH, SPANISH)


def test_inflections_match_that_the_corpus_does_not_have() -> None:
    """`house` is `casa` as `houses` is `casas`; `roja` and `rojas` are `rojo`. Of tokens nothing but `red` is
    known, and its translation `rojas` is not there."""
    text = segments("the red house", "la casa roja")
    values = row(LemmaPhrases(LemmaPhraseTable.from_links(CORPUS, LINKS, minimum=1)), text)
    assert values["lemma_phrases_source_matching_1"] == pytest.approx(2 / 3)  # red, house; not `the`
    assert values["lemma_phrases_target_matching_1"] == pytest.approx(2 / 3)  # casa, roja
    assert values["lemma_phrases_source_matching_2"] == 0.5  # `red house`; not `the red`
    assert values["lemma_phrases_target_matching_3"] == 0
    assert math.isnan(values["lemma_phrases_source_matching_4"])
    words = row(PhraseTableFeatures(PhraseTable.from_links(CORPUS, LINKS, minimum=1)), text)
    assert words["phrases_source_matching_1"] == words["phrases_target_matching_1"] == 0


def test_an_empty_side_has_no_shares() -> None:
    extractor = LemmaPhrases(LemmaPhraseTable.from_links(CORPUS, LINKS, minimum=1))
    assert all(math.isnan(value) for value in row(extractor, segments("red", "")).values())


def test_a_language_without_base_forms_is_one_message() -> None:
    extractor = LemmaPhrases(LemmaPhraseTable.from_links(CORPUS, LINKS, minimum=1))
    text = Segments(("red",), ("x",), ENGLISH, Tokenizer("zh", "whitespace"))
    with pytest.raises(InputError, match="no base forms for the language 'zh'"):
        extractor.extract(text)
