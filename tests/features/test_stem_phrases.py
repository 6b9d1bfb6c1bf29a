"""Matches of stems where neither words nor base forms match, by hand."""

import math

import pytest

from features.core.segments import Segments
from features.lemma_phrases import LemmaPhrases
from features.resources.lemma_phrase_table import LemmaPhraseTable
from features.resources.stem_phrase_table import StemPhraseTable
from features.stem_phrases import StemPhrases
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from tests.features.parsed import ENGLISH, SPANISH, row

CORPUS = ParallelCorpus.from_lines([("parliament votes", "parlamento vota")], ENGLISH, SPANISH)
LINKS = Links.from_pharaoh(["0-0 1-1"])
TEXT = Segments(("parliamentary votes",), ("votación parlamentaria",), ENGLISH, SPANISH)


def test_derivations_match() -> None:
    """`parliamentary` is `parli` as `parliament` is; `parlamentaria` is `parla`; `votac` is not `vota`."""
    values = row(StemPhrases(StemPhraseTable.from_links(CORPUS, LINKS, minimum=1)), TEXT)
    assert values["stem_phrases_source_matching_1"] == values["stem_phrases_target_matching_1"] == 0.5
    assert values["stem_phrases_source_matching_2"] == 0
    assert math.isnan(values["stem_phrases_source_matching_3"])
    lemmas = row(LemmaPhrases(LemmaPhraseTable.from_links(CORPUS, LINKS, minimum=1)), TEXT)
    assert lemmas["lemma_phrases_source_matching_1"] == 0


def test_the_order_of_a_longer_phrase_counts() -> None:
    text = Segments(("parliaments votes",), ("parlamentos vota",), ENGLISH, SPANISH)
    values = row(StemPhrases(StemPhraseTable.from_links(CORPUS, LINKS, minimum=1)), text)
    assert values["stem_phrases_target_matching_2"] == pytest.approx(1)
