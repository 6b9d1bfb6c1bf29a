"""Names and numbers that the corpus does not have match by their labels."""

import math

import pytest

from features.core.segments import Segments
from features.name_phrases import NamePhrases
from features.phrase_table import PhraseTableFeatures
from features.resources.name_phrase_table import NamePhraseTable
from features.resources.phrase_table import PhraseTable
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from tests.features.parsed import ENGLISH, SPANISH, row

PAIRS = [("then Ana Gil paid 20 euros", "luego Ana Gil pagó 20 euros")]
CORPUS = ParallelCorpus.from_lines(PAIRS, ENGLISH, SPANISH)
LINKS = Links.from_pharaoh(["0-0 1-1 2-2 3-3 4-4 5-5"])
TEXT = Segments(("then Eva paid 1,300 euros",), ("luego Eva López pagó 1.300 euros",), ENGLISH, SPANISH)


def test_by_hand() -> None:
    """`then <name> paid <number> euros` and `luego <name> pagó <number> euros` match as wholes."""
    values = row(NamePhrases(NamePhraseTable.from_links(CORPUS, LINKS, minimum=1)), TEXT)
    assert len(values) == 10 and set(values.values()) == {1.0}
    words = row(PhraseTableFeatures(PhraseTable.from_links(CORPUS, LINKS, minimum=1)), TEXT)
    assert words["phrases_source_matching_1"] == pytest.approx(3 / 5)  # then, paid, euros
    assert words["phrases_target_matching_1"] == pytest.approx(3 / 6)


def test_a_name_without_a_name_on_the_other_side_has_no_match() -> None:
    text = Segments(("then Eva paid",), ("luego pagó",), ENGLISH, SPANISH)
    values = row(NamePhrases(NamePhraseTable.from_links(CORPUS, LINKS, minimum=1)), text)
    assert values["name_phrases_source_matching_1"] == pytest.approx(2 / 3)
    assert values["name_phrases_source_matching_2"] == 0
    assert math.isnan(values["name_phrases_target_matching_3"])


def test_the_first_word_is_no_name() -> None:
    text = Segments(("Then Eva",), ("Luego Eva",), ENGLISH, SPANISH)
    values = row(NamePhrases(NamePhraseTable.from_links(CORPUS, LINKS, minimum=1)), text)
    assert values["name_phrases_source_matching_2"] == 1
